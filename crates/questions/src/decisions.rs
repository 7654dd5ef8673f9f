//! How questions end: what a person does with one, what its asker may, and the one compare and set behind all of it.

use super::answer::Answer;
use super::desk::Desk;
use super::error::Error;
use super::outcome::{By, Kind, Outcome, Presenter, Proof, State};
use super::question::{Level, Question, Ticket, Unanswered};
use super::rows;
use crate::store::Millis;
use crate::store::popups::{self, Decision};

impl Desk {
    pub(super) async fn answer(
        &self,
        ticket: &Ticket,
        proof: Proof,
        answer: Answer,
        note: Option<String>,
        presenter: Presenter,
    ) -> Result<Outcome, Error> {
        let question = self.undecided(ticket).await?;
        let note = self.note(note)?;
        let answer = answer.fit(&question.fields, self.settings.largest_answer)?;
        if question.level == Level::High {
            self.prove(ticket, proof, presenter).await?;
        }
        let outcome = Outcome {
            kind: Kind::Answered,
            answer: Some(answer),
            note,
            ask_differently: false,
            by: By::Person,
            through: presenter,
            at: self.clock.now(),
            seen_ms: question.seen_ms,
        };
        self.decide(ticket, outcome).await
    }

    pub(super) async fn refuse(
        &self,
        ticket: &Ticket,
        kind: Kind,
        ask_differently: bool,
        note: Option<String>,
        presenter: Presenter,
    ) -> Result<Outcome, Error> {
        let question = self.undecided(ticket).await?;
        let note = self.note(note)?;
        if ask_differently && note.is_none() {
            return Err(Error::EmptyNote);
        }
        let outcome = Outcome {
            kind,
            answer: None,
            note,
            ask_differently,
            by: By::Person,
            through: presenter,
            at: self.clock.now(),
            seen_ms: question.seen_ms,
        };
        self.decide(ticket, outcome).await
    }

    /// Writes a person's decision, held for the undo window, if nobody decided before.
    async fn decide(&self, ticket: &Ticket, outcome: Outcome) -> Result<Outcome, Error> {
        let undo = rows::millis(self.settings.undo);
        let held = (undo > 0).then(|| outcome.at.saturating_add(undo));
        if !self.settle(ticket.as_str(), &outcome, held).await? {
            return match self.get(ticket).await?.state {
                State::Held { outcome, .. } | State::Decided(outcome) => Err(decided(&outcome)),
                // It was taken back between the two looks; whoever answers may try again.
                State::Pending => Err(Error::Final),
            };
        }
        Ok(outcome)
    }

    /// Writes an outcome where the question is pending still; false where it is not.
    pub(super) async fn settle(
        &self,
        id: &str,
        outcome: &Outcome,
        held_until: Option<Millis>,
    ) -> Result<bool, Error> {
        let decision = Decision {
            id: id.to_owned(),
            kind: outcome.kind.as_str().to_owned(),
            outcome: rows::outcome(outcome),
            event: if outcome.by == By::Default { "default" } else { outcome.kind.as_str() }.to_owned(),
            who: outcome.through.as_str().to_owned(),
            now: outcome.at,
            held_until,
        };
        let done = popups::decide(&self.store, decision).await?;
        if done {
            if held_until.is_none() {
                self.decided_now(id).await?;
            }
            self.changed(id);
            self.wake.notify_one();
        }
        Ok(done)
    }

    pub(super) async fn take_back(&self, ticket: &Ticket, presenter: Presenter) -> Result<(), Error> {
        let now = self.clock.now();
        if popups::take_back(&self.store, ticket.as_str(), presenter.as_str(), now).await? {
            self.changed(ticket.as_str());
            self.wake.notify_one();
            return Ok(());
        }
        match self.get(ticket).await?.state {
            State::Pending => Ok(()),
            State::Held { .. } | State::Decided(_) => Err(Error::Final),
        }
    }

    pub(super) async fn snooze(
        &self,
        ticket: &Ticket,
        minutes: u32,
        presenter: Presenter,
    ) -> Result<Millis, Error> {
        if !(1..=60).contains(&minutes) {
            return Err(Error::Snooze);
        }
        self.undecided(ticket).await?;
        let now = self.clock.now();
        let until = now.saturating_add(i64::from(minutes) * 60_000);
        if !popups::snooze(&self.store, ticket.as_str(), presenter.as_str(), now, until).await? {
            return Err(Error::Final);
        }
        self.changed(ticket.as_str());
        self.wake.notify_one();
        Ok(until)
    }

    pub(super) async fn cancel(&self, asker: &str, ticket: &Ticket) -> Result<State, Error> {
        let question = self.get_as(asker, ticket).await?;
        let now = self.clock.now();
        let outcome = nobody(Kind::Cancelled, now, question.seen_ms);
        if popups::withdraw(&self.store, ticket.as_str(), asker, &rows::outcome(&outcome), now).await? {
            self.changed(ticket.as_str());
        }
        Ok(self.get(ticket).await?.state)
    }

    pub(super) async fn unanswered(&self, ticket: &Ticket, how: Unanswered) -> Result<(), Error> {
        let who = Presenter::Client.as_str();
        popups::note(&self.store, ticket.as_str(), how.as_str(), who, self.clock.now()).await?;
        self.changed(ticket.as_str());
        Ok(())
    }

    async fn prove(&self, ticket: &Ticket, proof: Proof, presenter: Presenter) -> Result<(), Error> {
        if !self.passphrase.is_set() {
            return Err(Error::NoPassphrase);
        }
        let Proof::Passphrase(given) = proof else { return Err(Error::NeedsPassphrase) };
        let (passphrase, now) = (self.passphrase.clone(), self.clock.now());
        // argon2 takes a core for a moment, which the event loop has no time for.
        let checked = tokio::task::spawn_blocking(move || passphrase.check(&given, now)).await;
        let checked = checked.map_err(|_| Error::Passphrase("it was not checked".to_owned()))?;
        if let Err(Error::WrongPassphrase) = &checked {
            popups::note(&self.store, ticket.as_str(), "refused", presenter.as_str(), now).await?;
        }
        checked
    }

    fn note(&self, note: Option<String>) -> Result<Option<String>, Error> {
        let note = note.map(|note| note.trim().to_owned()).filter(|note| !note.is_empty());
        let limit = self.settings.largest_answer;
        match note {
            Some(note) if note.len() > limit || note.contains('\0') => {
                Err(Error::Note { bytes: note.len(), limit })
            }
            other => Ok(other),
        }
    }

    async fn undecided(&self, ticket: &Ticket) -> Result<Question, Error> {
        let question = self.get(ticket).await?;
        match &question.state {
            State::Pending => Ok(question),
            State::Held { outcome, .. } | State::Decided(outcome) => Err(decided(outcome)),
        }
    }
}

/// An end that nobody chose.
pub(super) fn nobody(kind: Kind, at: Millis, seen_ms: Millis) -> Outcome {
    Outcome {
        kind,
        answer: None,
        note: None,
        ask_differently: false,
        by: By::Nobody,
        through: Presenter::None,
        at,
        seen_ms,
    }
}

fn decided(outcome: &Outcome) -> Error {
    Error::AlreadyDecided { kind: outcome.kind, by: outcome.by, through: outcome.through }
}
