//! The desk: what the room's face does, once it has settings, store and clock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::answer::Answer;
use super::availability::Availability;
use super::check;
use super::clock::Clock;
use super::error::Error;
use super::fingerprint::fingerprint;
use super::outcome::{By, Kind, Outcome, Presenter, Proof, State};
use super::passphrase::Passphrase;
use super::question::{
    Asked, Asker, Delivery, Draft, Filter, Happened, Level, Page, Question, Queue, Ticket,
};
use super::{SEEN_GAP, rows};
use crate::config::popups::PopupsConfig;
use crate::events::{Event, Events};
use crate::store::popups::{self, Decision};
use crate::store::{Millis, Store};

/// How often a waiter looks by itself, for what another hub did on a shared store.
const LOOK: Duration = Duration::from_secs(1);

/// Shared by all that ask and all that answer.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) settings: PopupsConfig,
    pub(super) store: Store,
    events: Events,
    pub(super) clock: Clock,
    passphrase: Arc<Passphrase>,
    /// Something may fall due earlier than was known.
    pub(super) wake: Notify,
    /// Of the questions that somebody waits for: grows with each change.
    changes: Mutex<HashMap<String, watch::Sender<u64>>>,
}

impl Desk {
    pub(super) fn new(settings: PopupsConfig, store: Store, events: Events) -> Self {
        let passphrase = Arc::new(Passphrase::new(settings.passphrase.clone()));
        Self {
            settings,
            store,
            events,
            clock: Clock::new(),
            passphrase,
            wake: Notify::new(),
            changes: Mutex::default(),
        }
    }

    pub(super) async fn ask(&self, asker: Asker, draft: Draft) -> Result<Asked, Error> {
        let draft = check::check(draft, &self.settings)?;
        let now = self.clock.now();
        let timeout = draft.timeout.unwrap_or(self.settings.timeout);
        let timeout = timeout.clamp(Duration::from_secs(1), self.settings.longest_timeout);
        let ticket = Ticket::new().map_err(|_| Error::Random)?;
        let not_now = match self.availability().await? {
            Availability::Here => None,
            other => Some(other),
        };
        let new = popups::NewQuestion {
            id: ticket.to_string(),
            fingerprint: fingerprint(&asker, &draft),
            asker: asker.key,
            client: asker.client,
            session: asker.session,
            stream: asker.route.stream,
            request: asker.route.request,
            workspace: draft.workspace,
            title: draft.title,
            level: draft.level.as_str().to_owned(),
            message: draft.message,
            form: rows::form(&draft.fields, draft.default.as_ref()),
            asked_at: now,
            deadline: now.saturating_add(rows::millis(timeout)),
            default_after: draft.default.as_ref().map(|default| rows::millis(default.after)),
        };
        let request = new.request.clone();
        let limits = popups::Limits {
            each_asker: self.settings.pending_per_client,
            total: self.settings.pending,
            attach_only: not_now.is_some(),
        };
        let entered = popups::ask(&self.store, new, limits).await?;
        let (id, merged) = match entered {
            popups::Entered::New { id } => (id, false),
            popups::Entered::Joined { id } => (id, true),
            popups::Entered::Closed => return Err(Error::NotNow(not_now.unwrap_or_default())),
            popups::Entered::Full { pending, own } => return Err(Error::TooMany { pending, own }),
            popups::Entered::SameRequest => return Err(Error::SameRequest { request }),
        };
        self.changed(&id);
        self.wake.notify_one();
        let question = self.question(&id).await?;
        Ok(Asked { ticket: question.ticket, merged, state: question.state })
    }

    pub(super) async fn wait(&self, ticket: &Ticket, patience: Duration) -> Result<State, Error> {
        let end = Instant::now() + patience;
        let mut changes = self.watch(ticket);
        loop {
            changes.mark_unchanged();
            let state = self.get(ticket).await?.state;
            if state.outcome().is_some() {
                return Ok(state);
            }
            let another = async {
                // Another hub's word shows by looking; this one's wakes.
                if self.store.is_shared() {
                    let _ = tokio::time::timeout(LOOK, changes.changed()).await;
                } else {
                    let _ = changes.changed().await;
                }
            };
            if tokio::time::timeout_at(end, another).await.is_err() {
                return Ok(state);
            }
        }
    }

    pub(super) async fn get(&self, ticket: &Ticket) -> Result<Question, Error> {
        self.question(ticket.as_str()).await
    }

    pub(super) async fn get_as(&self, asker: &str, ticket: &Ticket) -> Result<Question, Error> {
        if !popups::is_delivery(&self.store, ticket.as_str(), asker).await? {
            return Err(Error::Unknown { ticket: ticket.to_string() });
        }
        self.get(ticket).await
    }

    async fn question(&self, id: &str) -> Result<Question, Error> {
        let row = popups::get(&self.store, id).await?;
        rows::question(row.ok_or_else(|| Error::Unknown { ticket: id.to_owned() })?)
    }

    pub(super) async fn pending(&self, after: Option<i64>, limit: u32) -> Result<Page, Error> {
        let found = popups::pending(&self.store, after, limit.saturating_add(1)).await?;
        let total = popups::count_pending(&self.store).await?;
        page(found, total, limit)
    }

    pub(super) async fn count_pending(&self) -> Result<u64, Error> {
        Ok(popups::count_pending(&self.store).await?)
    }

    pub(super) async fn queue(&self, seq: i64) -> Result<Queue, Error> {
        let next = popups::next(&self.store, seq, self.clock.now()).await?;
        Ok(Queue {
            place: popups::place(&self.store, seq).await?,
            total: popups::count_pending(&self.store).await?,
            next: next.and_then(|id| Ticket::parse(&id)),
        })
    }

    pub(super) async fn history(
        &self,
        filter: &Filter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Page, Error> {
        let kind = filter.kind.map_or("", Kind::as_str);
        let text = filter.text.as_deref().unwrap_or_default();
        let found = popups::history(&self.store, text, kind, before, limit.saturating_add(1)).await?;
        let total = popups::count_history(&self.store, text, kind).await?;
        page(found, total, limit)
    }

    pub(super) async fn happened(&self, ticket: &Ticket) -> Result<Vec<Happened>, Error> {
        let events = popups::events(&self.store, ticket.as_str()).await?;
        Ok(events
            .into_iter()
            .map(|event| Happened { at: event.at, kind: event.kind, who: event.who })
            .collect())
    }

    pub(super) async fn seen(&self, ticket: &Ticket, presenter: Presenter) -> Result<(), Error> {
        let now = self.clock.now();
        let seen =
            popups::Seen { id: ticket.to_string(), now, gap: SEEN_GAP, who: presenter.as_str().to_owned() };
        let first = popups::seen(&self.store, seen).await?;
        if first {
            self.changed(ticket.as_str());
        }
        // The default may be due by this very look.
        self.wake.notify_one();
        Ok(())
    }

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

    pub(super) async fn gone(&self, session: &str) {
        if session.is_empty() {
            return;
        }
        match popups::gone(&self.store, session, self.clock.now()).await {
            Ok(0) => {}
            Ok(_) => {
                self.events.send(Event::QuestionsChanged);
                self.wake.notify_one();
            }
            Err(error) => tracing::warn!(%error, "a client's end could not be noted beside its questions"),
        }
    }

    pub(super) async fn undelivered(&self, asker: &str, limit: u32) -> Result<Vec<Question>, Error> {
        let rows = popups::undelivered(&self.store, asker, limit).await?;
        let questions = rows.into_iter().map(rows::question).collect::<Result<Vec<_>, _>>()?;
        Ok(questions.into_iter().filter(|question| !self.is_watched(&question.ticket)).collect())
    }

    pub(super) async fn delivered(&self, asker: &str, ticket: &Ticket) -> bool {
        match popups::delivered(&self.store, ticket.as_str(), asker, self.clock.now()).await {
            Ok(first) => first,
            Err(error) => {
                tracing::warn!(%error, %ticket, "a fetched outcome could not be noted as fetched");
                false
            }
        }
    }

    pub(super) async fn due(&self, stream: &str, after: Option<i64>) -> Result<Vec<Delivery>, Error> {
        let due = popups::due(&self.store, stream, after).await?;
        due.into_iter()
            .map(|(event, request, row)| Ok(Delivery { event, request, question: rows::question(row)? }))
            .collect()
    }

    pub(super) async fn sent(&self, stream: &str, event: i64) {
        if let Err(error) = popups::sent(&self.store, stream, event, self.clock.now()).await {
            tracing::warn!(%error, "an event that was written could not be noted as written");
        }
    }

    pub(super) async fn availability(&self) -> Result<Availability, Error> {
        let text = popups::desk(&self.store, "availability").await?;
        let set: Availability = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Ok(set.at(self.clock.now()))
    }

    pub(super) async fn set_availability(&self, availability: Availability) -> Result<(), Error> {
        popups::set_desk(&self.store, "availability", &rows::json(&availability)).await?;
        self.events.send(Event::QuestionsChanged);
        Ok(())
    }

    pub(super) async fn set_passphrase(&self, current: Option<String>, new: String) -> Result<(), Error> {
        let (passphrase, now) = (self.passphrase.clone(), self.clock.now());
        let set = tokio::task::spawn_blocking(move || passphrase.set(current.as_deref(), &new, now)).await;
        set.map_err(|_| Error::Passphrase("it was not kept".to_owned()))?
    }

    pub(super) fn has_passphrase(&self) -> bool {
        self.passphrase.is_set()
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

    /// Tells who waits for a question, and everybody who shows some, that it changed.
    pub(super) fn changed(&self, id: &str) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = changes.get(id) {
            sender.send_modify(|count| *count += 1);
            if sender.is_closed() {
                changes.remove(id);
            }
        }
        drop(changes);
        self.events.send(Event::QuestionsChanged);
    }

    fn watch(&self, ticket: &Ticket) -> watch::Receiver<u64> {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.retain(|_, sender| !sender.is_closed());
        changes.entry(ticket.to_string()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    fn is_watched(&self, ticket: &Ticket) -> bool {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.get(ticket.as_str()).is_some_and(|sender| !sender.is_closed())
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

fn page(found: Vec<popups::Question>, total: u64, limit: u32) -> Result<Page, Error> {
    let more = found.len() > limit as usize;
    let questions =
        found.into_iter().take(limit as usize).map(rows::question).collect::<Result<Vec<_>, _>>()?;
    let next = questions.last().filter(|_| more).map(|question| question.seq);
    Ok(Page { questions, total, next })
}
