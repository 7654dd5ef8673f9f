//! Changes of what a toolset lists: files of prompts and agents, toolset switches, calendars.

use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::watch::Receiver;
use tokio::time::{Interval, MissedTickBehavior};

use crate::toolset::ToolsetSelection;
use adjutant_app::App;
use adjutant_base::config::toolsets::{Toolset, ToolsetsConfig};
use adjutant_base::events::{Event, wait_for};

/// Interval at which the database is read, because another process may have changed it.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    Prompts,
    Agents,
    /// The toolsets of a client, which are a setting.
    Toolsets,
    /// Users, their calendars and their events may have changed.
    Calendars,
}

/// Receivers of the changes of one toolset selection.
#[derive(Debug)]
pub(super) struct Changes {
    prompts: Option<Receiver<u64>>,
    agents: Option<Receiver<u64>>,
    toolsets: Option<Receiver<ToolsetsConfig>>,
    calendars: Option<Calendars>,
}

/// The times at which the assistant's tables are read: events report the changes of this process, the interval finds
/// those of others.
#[derive(Debug)]
struct Calendars {
    events: broadcast::Receiver<Event>,
    every: Interval,
}

impl Changes {
    /// Starts to receive the changes of `selection`. The files are not watched before [`Self::watch`].
    pub(super) fn new(app: &App, selection: ToolsetSelection) -> Self {
        let calendars = || {
            let mut every = tokio::time::interval(POLL_INTERVAL);
            every.set_missed_tick_behavior(MissedTickBehavior::Delay);
            Calendars { events: app.events.subscribe(), every }
        };
        Self {
            prompts: selection.has(Toolset::Prompts).then(|| app.prompts.files.changes()),
            agents: selection.has(Toolset::Agents).then(|| app.agents.registry().files.changes()),
            toolsets: (selection == ToolsetSelection::All).then(|| app.toolsets.changes()),
            calendars: selection.has(Toolset::Assistant).then(calendars),
        }
    }

    /// Watches the files of the selected toolsets.
    pub(super) fn watch(&self, app: &App) {
        if self.prompts.is_some() {
            app.prompts.files.watch();
        }
        if self.agents.is_some() {
            app.agents.registry().files.watch();
        }
    }

    /// Counts the prompts of this generation as known to the client: only a later one is a change.
    pub(super) fn mark_prompts_known(&mut self, generation: u64) {
        mark_known(&mut self.prompts, generation);
    }

    /// Counts the agents of this generation as known to the client: only a later one is a change.
    pub(super) fn mark_agents_known(&mut self, generation: u64) {
        mark_known(&mut self.agents, generation);
    }

    /// Waits for the next change, forever if nothing can change. Cancel safe.
    pub(super) async fn next(&mut self) -> Changed {
        tokio::select! {
            () = changed(&mut self.prompts) => Changed::Prompts,
            () = changed(&mut self.agents) => Changed::Agents,
            () = changed(&mut self.toolsets) => Changed::Toolsets,
            () = due(&mut self.calendars) => Changed::Calendars,
        }
    }
}

fn mark_known(receiver: &mut Option<Receiver<u64>>, generation: u64) {
    if let Some(receiver) = receiver
        && *receiver.borrow_and_update() != generation
    {
        receiver.mark_changed();
    }
}

async fn changed<T>(receiver: &mut Option<Receiver<T>>) {
    let changed = match receiver {
        Some(receiver) => receiver.changed().await.is_ok(),
        None => false,
    };
    if !changed {
        std::future::pending::<()>().await;
    }
}

async fn due(calendars: &mut Option<Calendars>) {
    let Some(Calendars { events, every }) = calendars else { return std::future::pending().await };
    tokio::select! {
        _ = every.tick() => {}
        true = wait_for(events, Event::CalendarChanged) => {}
    }
}
