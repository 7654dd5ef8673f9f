//! The desk: what the room's face does, once it has settings, store and clock.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::availability::Availability;
use super::check;
use super::clock::Clock;
use super::error::Error;
use super::fingerprint::fingerprint;
use super::outcome::{Kind, Presenter, State};
use super::passphrase::Passphrase;
use super::question::{Asked, Asker, Draft, Filter, Happened, Page, Question, Queue, Ticket};
use super::{SEEN_GAP, rows};
use crate::config::popups::PopupsConfig;
use crate::events::{Event, Events};
use crate::store::Store;
use crate::store::popups;
use crate::trace::Traces;

/// How often a waiter looks by itself, for what another hub did on a shared store.
const LOOK: Duration = Duration::from_secs(1);

/// Shared by all that ask and all that answer.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) settings: PopupsConfig,
    pub(super) store: Store,
    pub(super) events: Events,
    pub(super) clock: Clock,
    pub(super) passphrase: Arc<Passphrase>,
    /// Something may fall due earlier than was known.
    pub(super) wake: Notify,
    /// Of the questions and the streams that somebody waits for: grows with each change.
    pub(super) changes: Mutex<HashMap<String, watch::Sender<u64>>>,
    /// Those for whom an outcome may wait: a look at the store for every call of every tool would be too much.
    pub(super) late: Mutex<HashSet<String>>,
    /// What the questions of this process are a part of.
    pub(super) traces: Traces,
}

/// Tells of changes of one question.
#[derive(Debug)]
pub(crate) struct Changes {
    of: watch::Receiver<u64>,
    /// Another hub may write to the store: its word shows by looking, this one's wakes.
    shared: bool,
}

impl Changes {
    /// Ends when the question may have changed since the last call, or `patience` is over.
    pub(crate) async fn next(&mut self, patience: Duration) {
        let patience = if self.shared { patience.min(LOOK) } else { patience };
        let _ = tokio::time::timeout(patience, self.of.changed()).await;
    }
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
            late: Mutex::default(),
            traces: Traces::default(),
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
            popups::Entered::New { id } => {
                self.traces.keep(&id);
                (id, false)
            }
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
        let mut changes = self.changes_of(ticket);
        loop {
            let state = self.get(ticket).await?.state;
            let left = end.saturating_duration_since(Instant::now());
            if state.outcome().is_some() || left.is_zero() {
                return Ok(state);
            }
            changes.next(left).await;
        }
    }

    pub(super) fn changes_of(&self, ticket: &Ticket) -> Changes {
        Changes { of: self.watch(ticket.as_str()), shared: self.store.is_shared() }
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

    pub(super) async fn rings(&self, ticket: &Ticket, presenter: Presenter) -> Result<bool, Error> {
        let who = presenter.as_str();
        let happened = self.happened(ticket).await?;
        // What was put off rings once more when it is back.
        let mut since = happened.iter().rev().take_while(|event| event.kind != "snoozed");
        if since.any(|event| event.kind == "rung" && event.who == who) {
            return Ok(false);
        }
        popups::note(&self.store, ticket.as_str(), "rung", who, self.clock.now()).await?;
        Ok(true)
    }

    /// Returns a secret of 32 bytes in hexadecimal digits by its name: made once, and kept in the store.
    pub(super) async fn key(&self, name: &str) -> Result<String, Error> {
        if let Some(key) = popups::desk(&self.store, name).await? {
            return Ok(key);
        }
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|_| Error::Random)?;
        let key = bytes.iter().fold(String::new(), |key, byte| format!("{key}{byte:02x}"));
        popups::set_desk(&self.store, name, &key).await?;
        Ok(key)
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

    /// Tells who waits for a question, and everybody who shows some, that it changed.
    pub(super) fn changed(&self, id: &str) {
        self.wake_waiters(id);
        self.events.send(Event::QuestionsChanged);
    }

    /// Tells who waits for a question, or for the events of a stream.
    pub(super) fn wake_waiters(&self, of: &str) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = changes.get(of) {
            sender.send_modify(|count| *count += 1);
            if sender.is_closed() {
                changes.remove(of);
            }
        }
    }

    /// Returns what tells of changes of a question, or of a stream, from now on.
    pub(super) fn watch(&self, of: &str) -> watch::Receiver<u64> {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.retain(|_, sender| !sender.is_closed());
        changes.entry(of.to_owned()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }
}

fn page(found: Vec<popups::Question>, total: u64, limit: u32) -> Result<Page, Error> {
    let more = found.len() > limit as usize;
    let questions =
        found.into_iter().take(limit as usize).map(rows::question).collect::<Result<Vec<_>, _>>()?;
    let next = questions.last().filter(|_| more).map(|question| question.seq);
    Ok(Page { questions, total, next })
}
