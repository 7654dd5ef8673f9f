//! Decisions: answers, refusals, snoozes and cancels, through one compare-and-set of the row.

use super::Questions;
use super::answer::Answer;
use super::error::Error;
use super::files;
use super::files::NewFile;
use super::outcome::{Channel, DecidedBy, Outcome, OutcomeKind, Proof, State};
use super::question::{Level, Question, Ticket};
use super::rows;
use adjutant_store::Millis;
use adjutant_store::questions;
use adjutant_store::questions::Decision;

impl Questions {
    /// Answers a pending question, which was shown with this number of requests. The outcome is on disk when this returns.
    /// It becomes final and reaches the askers when the undo window of the settings is over (see [`State::Held`]). A denial
    /// is final at once.
    ///
    /// # Errors
    ///
    /// [`Error::MoreCalls`] if the question is an approval, and more requests wait for it than were shown.
    pub async fn answer(
        &self,
        (ticket, shown): (&Ticket, u32),
        proof: Proof,
        answer: Answer,
        note: Option<String>,
        channel: Channel,
    ) -> Result<Outcome, Error> {
        self.answer_with_files((ticket, shown), proof, answer, (note, Vec::new()), channel).await
    }

    /// Answers a pending question like [`Self::answer`], with a note and files. An undo removes the files.
    ///
    /// # Errors
    ///
    /// Also those about files, such as [`Error::LargeFile`].
    pub async fn answer_with_files(
        &self,
        (ticket, shown): (&Ticket, u32),
        proof: Proof,
        answer: Answer,
        added: (Option<String>, Vec<NewFile>),
        channel: Channel,
    ) -> Result<Outcome, Error> {
        let undo = rows::millis(self.core.settings.undo);
        self.answer_within((ticket, Some(shown)), proof, answer, added, channel, undo).await
    }

    /// Answers a pending question like [`Self::answer`], but finally: this answer cannot be undone.
    pub async fn answer_finally(
        &self,
        ticket: &Ticket,
        proof: Proof,
        answer: Answer,
        channel: Channel,
    ) -> Result<Outcome, Error> {
        self.answer_within((ticket, None), proof, answer, (None, Vec::new()), channel, 0).await
    }

    async fn answer_within(
        &self,
        (ticket, shown): (&Ticket, Option<u32>),
        proof: Proof,
        answer: Answer,
        (note, files): (Option<String>, Vec<NewFile>),
        channel: Channel,
        undo: Millis,
    ) -> Result<Outcome, Error> {
        let question = self.undecided(ticket).await?;
        let shown = shown.filter(|_| !question.denials.is_empty());
        let note = self.note(note)?;
        if !files.is_empty() && !question.denials.is_empty() {
            return Err(Error::FilesOfApproval);
        }
        let (files, contents) = files::check(files)?;
        let answer = answer.fit(&question.fields, self.core.settings.max_answer_bytes)?;
        if question.level == Level::High {
            self.prove(ticket, proof, channel).await?;
        }
        let denied = question.is_denied_by(&answer);
        let undo = if denied { 0 } else { undo };
        let mut kept = answer.clone();
        let has_secret = kept.withhold(&question.fields);
        let outcome = Outcome {
            answer: Some(kept),
            denied,
            note,
            files,
            by: DecidedBy::User,
            user: self.viewer.user().map(str::to_owned),
            through: channel,
            ..nobody(OutcomeKind::Answered, self.core.clock.now(), question.seen_ms)
        };
        if !has_secret {
            return self.decide((ticket, shown), outcome, contents, undo).await;
        }
        // The values are kept in the memory of this hub alone.
        if !question.is_here {
            return Err(Error::SecretElsewhere);
        }
        // Locked until the values are there, because a call that waits reads the outcome at once.
        let mut secrets = self.core.secrets.lock().await;
        let outcome = self.decide((ticket, shown), outcome, contents, undo).await?;
        secrets.insert(ticket.clone(), answer);
        Ok(outcome)
    }

    /// Declines the question as a whole.
    pub async fn decline(
        &self,
        ticket: &Ticket,
        note: Option<String>,
        channel: Channel,
    ) -> Result<Outcome, Error> {
        self.reject(ticket, OutcomeKind::Declined, false, note, channel).await
    }

    /// Closes the question without an answer.
    pub async fn dismiss(
        &self,
        ticket: &Ticket,
        note: Option<String>,
        channel: Channel,
    ) -> Result<Outcome, Error> {
        self.reject(ticket, OutcomeKind::Dismissed, false, note, channel).await
    }

    /// Declines the question and asks the agent, in the note, to ask differently.
    pub async fn redirect(&self, ticket: &Ticket, note: String, channel: Channel) -> Result<Outcome, Error> {
        self.reject(ticket, OutcomeKind::Declined, true, Some(note), channel).await
    }

    async fn reject(
        &self,
        ticket: &Ticket,
        kind: OutcomeKind,
        ask_differently: bool,
        note: Option<String>,
        channel: Channel,
    ) -> Result<Outcome, Error> {
        let question = self.undecided(ticket).await?;
        let note = self.note(note)?;
        if ask_differently && note.is_none() {
            return Err(Error::EmptyNote);
        }
        let outcome = Outcome {
            note,
            ask_differently,
            by: DecidedBy::User,
            user: self.viewer.user().map(str::to_owned),
            through: channel,
            ..nobody(kind, self.core.clock.now(), question.seen_ms)
        };
        // A denial is final at once, because no action follows it that an undo could prevent.
        let undo = if kind == OutcomeKind::Declined { 0 } else { rows::millis(self.core.settings.undo) };
        self.decide((ticket, None), outcome, Vec::new(), undo).await
    }

    /// Writes a user's decision, held for `undo` milliseconds, if the question is undecided and has no more requests than
    /// were shown.
    async fn decide(
        &self,
        (ticket, shown): (&Ticket, Option<u32>),
        outcome: Outcome,
        files: Vec<String>,
        undo: Millis,
    ) -> Result<Outcome, Error> {
        let held = (undo > 0).then(|| outcome.at.saturating_add(undo));
        if !self.settle_with((ticket.as_str(), shown), &outcome, files, held).await? {
            let question = self.get(ticket).await?;
            return Err(match (question.state.decision(), shown) {
                (Some(decision), _) => decided(decision),
                (None, Some(shown)) if shown != question.deliveries => {
                    Error::MoreCalls { calls: question.deliveries }
                }
                // It was undone between the two reads, so the user may answer again.
                (None, _) => Error::Final,
            });
        }
        Ok(outcome)
    }

    /// Writes an outcome if the question is still pending, and has as many requests as were shown; returns false if not.
    pub(super) async fn settle(
        &self,
        question: (&str, Option<u32>),
        outcome: &Outcome,
        held_until: Option<Millis>,
    ) -> Result<bool, Error> {
        self.settle_with(question, outcome, Vec::new(), held_until).await
    }

    async fn settle_with(
        &self,
        (id, shown): (&str, Option<u32>),
        outcome: &Outcome,
        files: Vec<String>,
        held_until: Option<Millis>,
    ) -> Result<bool, Error> {
        let decision = Decision {
            id: id.to_owned(),
            kind: outcome.kind.name().to_owned(),
            outcome: rows::outcome(outcome),
            event: if outcome.by == DecidedBy::Default { "default" } else { outcome.kind.name() }.to_owned(),
            who: who(outcome.through, outcome.user.as_deref()),
            now: outcome.at,
            held_until,
            requests: shown.map(i64::from),
            files,
        };
        let done = questions::decide(&self.core.store, decision).await?;
        if done {
            if held_until.is_none() {
                self.record_decided(id).await?;
            }
            self.notify_changed(id);
            self.core.wake.notify_one();
        }
        Ok(done)
    }

    /// Undoes an answer within its undo window; the question is pending again.
    pub async fn undo(&self, ticket: &Ticket, channel: Channel) -> Result<(), Error> {
        self.decidable(ticket).await?;
        let now = self.core.clock.now();
        let who = who(channel, self.viewer.user());
        if questions::undo(&self.core.store, ticket.as_str(), &who, now).await? {
            self.core.secrets.lock().await.remove(ticket);
            self.notify_changed(ticket.as_str());
            self.core.wake.notify_one();
            return Ok(());
        }
        match self.get(ticket).await?.state {
            State::Pending => Ok(()),
            State::Held { .. } | State::Decided(_) => Err(Error::Final),
        }
    }

    /// Snoozes the question for 1 to 60 minutes; its deadline moves by as much. Returns the end of the snooze.
    pub async fn snooze(&self, ticket: &Ticket, minutes: u32, channel: Channel) -> Result<Millis, Error> {
        if !(1..=60).contains(&minutes) {
            return Err(Error::Snooze);
        }
        self.undecided(ticket).await?;
        let now = self.core.clock.now();
        let until = now.saturating_add(i64::from(minutes) * 60_000);
        if !questions::snooze(
            &self.core.store,
            ticket.as_str(),
            &who(channel, self.viewer.user()),
            now,
            until,
        )
        .await?
        {
            return Err(Error::Final);
        }
        self.notify_changed(ticket.as_str());
        self.core.wake.notify_one();
        Ok(until)
    }

    /// Withdraws `asker` (by its key) from the question, which is cancelled if it has no other asker.
    pub async fn cancel(&self, asker: &str, ticket: &Ticket) -> Result<State, Error> {
        self.withdraw_because(asker, ticket, None).await
    }

    async fn withdraw_because(
        &self,
        asker: &str,
        ticket: &Ticket,
        reason: Option<&str>,
    ) -> Result<State, Error> {
        let question = self.get_as(asker, ticket).await?;
        let now = self.core.clock.now();
        let not_applied = reason.map(str::to_owned);
        let outcome = Outcome { not_applied, ..nobody(OutcomeKind::Cancelled, now, question.seen_ms) };
        if questions::withdraw(&self.core.store, ticket.as_str(), asker, &rows::outcome(&outcome), now)
            .await?
        {
            self.notify_changed(ticket.as_str());
        }
        Ok(self.get(ticket).await?.state)
    }

    /// Withdraws `asker` like [`Self::cancel`], when it can no longer act on an outcome; the reason is kept. An answer that
    /// has not reached it is final, and recorded as not applied for this reason.
    pub async fn withdraw_unapplied(&self, asker: &str, ticket: &Ticket, reason: &str) -> Result<(), Error> {
        self.core.secrets.lock().await.remove(ticket);
        let state = self.withdraw_because(asker, ticket, Some(reason)).await?;
        // A denial needs nothing to be done.
        let is_lost = |outcome: &Outcome| outcome.kind == OutcomeKind::Answered && !outcome.denied;
        let Some((_, outcome)) = state.decision().filter(|(_, outcome)| is_lost(outcome)) else {
            return Ok(());
        };
        let outcome = rows::outcome(&Outcome { not_applied: Some(reason.to_owned()), ..outcome.clone() });
        if questions::set_not_applied(
            &self.core.store,
            ticket.as_str(),
            asker,
            &outcome,
            self.core.clock.now(),
        )
        .await?
        {
            self.notify_changed(ticket.as_str());
        }
        Ok(())
    }

    async fn prove(&self, ticket: &Ticket, proof: Proof, channel: Channel) -> Result<(), Error> {
        if !self.core.passphrase.is_set() {
            return Err(Error::NoPassphrase);
        }
        let Proof::Passphrase(given) = proof else { return Err(Error::NeedsPassphrase) };
        let checked = self.check_passphrase(given, channel).await;
        if let Err(Error::WrongPassphrase) = &checked {
            questions::append_event(
                &self.core.store,
                ticket.as_str(),
                "refused",
                &who(channel, self.viewer.user()),
                self.core.clock.now(),
            )
            .await?;
        }
        checked
    }

    fn note(&self, note: Option<String>) -> Result<Option<String>, Error> {
        let note = note.map(|note| note.trim().to_owned()).filter(|note| !note.is_empty());
        let limit = self.core.settings.max_answer_bytes;
        match note {
            Some(note) if note.len() > limit || note.contains('\0') => {
                Err(Error::Note { bytes: note.len(), limit })
            }
            other => Ok(other),
        }
    }

    /// Returns a question that the viewer may decide.
    pub(super) async fn decidable(&self, ticket: &Ticket) -> Result<Question, Error> {
        let question = self.get(ticket).await?;
        if !self.viewer.decides(&question.addressee) {
            return Err(Error::NotYours { addressee: question.addressee });
        }
        Ok(question)
    }

    async fn undecided(&self, ticket: &Ticket) -> Result<Question, Error> {
        let question = self.decidable(ticket).await?;
        match question.state.decision() {
            None => Ok(question),
            Some(decision) => Err(decided(decision)),
        }
    }
}

/// Returns the channel and the user for the audit of a question.
pub(super) fn who(channel: Channel, user: Option<&str>) -> String {
    let name = channel.name();
    user.map_or_else(|| name.to_owned(), |user| format!("{name} {user}"))
}

/// Returns an outcome without a decision.
pub(super) fn nobody(kind: OutcomeKind, at: Millis, seen_ms: Millis) -> Outcome {
    Outcome {
        kind,
        answer: None,
        denied: false,
        not_applied: None,
        note: None,
        files: Vec::new(),
        ask_differently: false,
        by: DecidedBy::Nobody,
        user: None,
        through: Channel::None,
        at,
        seen_ms,
    }
}

fn decided((until, outcome): (Option<Millis>, &Outcome)) -> Error {
    let Outcome { kind, denied, by, through, .. } = *outcome;
    Error::AlreadyDecided { kind, denied, by, through, until }
}
