//! Questions of agents and scripts to the user, each with exactly one outcome that is never lost.
//!
//! [`Questions`] is the domain. A question is a row in the store before it is acknowledged. Its outcome is decided by a
//! compare-and-set of that row, so exactly one of an answer, the deadline, a cancel and a second channel counts.
//! [`Questions::run_timers`] runs the timers: answers become final, defaults and deadlines are applied.

mod answer;
mod ask;
mod availability;
mod changes;
mod claims;
mod decisions;
mod deduplication;
mod delivery;
mod error;
mod files;
mod lookup;
mod monotonic_clock;
mod outcome;
mod passphrase;
mod presentation;
mod question;
mod redaction;
mod rows;
mod settings;
mod timers;
mod validate;
mod viewer;
mod waiting;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, watch};

use adjutant_base::config::questions::QuestionsConfig;
use adjutant_base::events::Events;
use adjutant_base::trace_context::DeferredTraces;
use adjutant_store::Store;
pub use answer::{Answer, FieldValue};
pub use availability::Availability;
use changes::ChangeCounters;
pub use changes::Changes;
use claims::Claims;
pub use claims::DeliveryClaim;
pub use error::Error;
pub use files::{NewFile, StoredFile};
use monotonic_clock::Clock;
pub use outcome::{
    AnswerFile, Channel, DecidedBy, MAX_FILE_BYTES, MAX_FILES, Outcome, OutcomeKind, Proof, State,
};
use passphrase::Passphrase;
pub use passphrase::{MIN_PASSPHRASE_LENGTH, check_passphrase_length};
pub use question::{
    APPROVE, AskResult, Asker, AskerPresence, AuditEntry, Choice, DefaultAnswer, Delivery, Draft,
    ElicitationFailure, Field, Filter, Format, Input, Level, Page, PendingKind, Question, Queue, Route,
    Ticket, recommended,
};
use redaction::RedactText;
pub use viewer::Viewer;

/// The progress of the record of what an earlier hub left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    Due,
    /// The store failed; it is tried again.
    Failed,
    Done,
}

/// The questions of a hub that one viewer may see. The owner sees all.
#[derive(Debug)]
pub struct Questions {
    core: Arc<Core>,
    redact_text: RedactText,
    viewer: Viewer,
}

/// All questions of a hub, shared by askers, viewers and channels.
#[derive(Debug)]
struct Core {
    settings: QuestionsConfig,
    store: Store,
    events: Events,
    clock: Clock,
    passphrase: Arc<Passphrase>,
    /// Wakes the timers when something may be due earlier.
    wake: Notify,
    /// The instant at which the timers run next, in milliseconds since 1970; the greatest number while they run.
    next_run: AtomicI64,
    waiters: ChangeCounters,
    /// Changes of this hub that other hubs have to be woken for.
    changed_here: Notify,
    /// Ends the pause of [`Questions::watch_other_hubs`].
    look: Notify,
    /// Keys of askers that may have an undelivered outcome. It is kept in memory because every call of every tool asks
    /// for undelivered outcomes, and reading the store each time would cost too much.
    undelivered_askers: Mutex<HashSet<String>>,
    /// Whether [`Questions::run_timers`] has recorded what the last hub left.
    recovery: watch::Sender<Recovery>,
    /// Outcomes on their way to an asker.
    claims: Claims,
    /// Held while undelivered outcomes are claimed, so that two calls do not claim the same.
    claiming: tokio::sync::Mutex<()>,
    /// Answers with secret values, by question, until their asker takes them.
    secrets: tokio::sync::Mutex<HashMap<Ticket, Answer>>,
    /// Trace contexts of the calls that asked, by question.
    traces: DeferredTraces,
}

impl Questions {
    /// Makes the domain without I/O: the first question, or [`Self::run_timers`], opens the store.
    pub fn new(settings: QuestionsConfig, store: Store, events: Events) -> Self {
        let passphrase = Arc::new(Passphrase::new(settings.passphrase.clone()));
        // Nothing is recorded where other hubs run.
        let recovery = if store.is_shared() { Recovery::Done } else { Recovery::Due };
        let core = Core {
            settings,
            store,
            events,
            clock: Clock::new(),
            passphrase,
            wake: Notify::new(),
            next_run: AtomicI64::new(i64::MAX),
            waiters: ChangeCounters::default(),
            changed_here: Notify::new(),
            look: Notify::new(),
            undelivered_askers: Mutex::default(),
            recovery: watch::Sender::new(recovery),
            claims: Claims::default(),
            claiming: tokio::sync::Mutex::default(),
            secrets: tokio::sync::Mutex::default(),
            traces: DeferredTraces::default(),
        };
        Self { core: Arc::new(core), redact_text: |text| Cow::Borrowed(text), viewer: Viewer::OWNER }
    }

    /// Returns the questions that `viewer` may see. A question for somebody else is unknown there.
    pub fn for_viewer(&self, viewer: Viewer) -> Self {
        Self { core: self.core.clone(), redact_text: self.redact_text, viewer }
    }

    /// Returns the viewer.
    pub fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// Returns the configured limits and timeouts.
    pub fn settings(&self) -> &QuestionsConfig {
        &self.core.settings
    }
}

#[cfg(test)]
mod tests;
