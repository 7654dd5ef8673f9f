//! Agents: personas that a coding-agent CLI runs for whoever delegates a task.
//!
//! [`Agents`] is the room's face. A delegation is a row before it is acknowledged; the worker loop
//! ([`Agents::work`]) claims rows, runs them below a supervisor and records what the hub saw.

mod ask;
pub(crate) mod bundled;
pub(crate) mod caller;
pub(crate) mod catalogue;
pub(crate) mod definition;
mod delegate;
mod engine;
pub(crate) mod error;
pub(crate) mod formats;
pub(crate) mod import;
pub(crate) mod lint;
mod load;
pub(crate) mod receipt;
pub(crate) mod runner;
mod schema;
pub(crate) mod select;
mod summary;
pub(crate) mod task;
mod trust;
pub(crate) mod words;
pub(crate) mod workdir;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use catalogue::Definitions;
use definition::Agent;
use import::Found;
use lint::Report;
use select::Plan;

use crate::config::agents::AgentsConfig;
use crate::config::delegation::Delegation;
use crate::events::Events;
use crate::recorder::Recorder;
use crate::store::Store;
use crate::store::tasks::Filter;
pub(crate) use ask::Question;
pub(crate) use caller::{Caller, Link, Origin, Viewer};
pub(crate) use delegate::Request;
use engine::Engine;
pub(crate) use error::Error;
pub(crate) use runner::Form;
pub(crate) use select::Selector;
pub(crate) use task::{Happened, Page, Task, TaskId};

/// The room. Cheap to clone; all clones share one queue.
#[derive(Clone, Debug)]
pub(crate) struct Agents {
    /// Those of one workspace, or of none.
    definitions: Arc<Definitions>,
    engine: Arc<Engine>,
}

impl Agents {
    /// Does no I/O: the store is opened, and runs of a hub that is gone are taken up, by [`Self::work`].
    pub(crate) fn new(
        agents: &AgentsConfig,
        settings: Delegation,
        selector: Selector,
        store: Store,
        events: Events,
        recorder: Recorder,
    ) -> Self {
        let engine = Arc::new(Engine::new(settings, selector, store, events, recorder));
        Self { definitions: Arc::new(Definitions::new(agents)), engine }
    }

    /// Returns the room with the agents of a workspace; the queue is the same.
    pub(crate) fn with_agents(&self, agents: &AgentsConfig) -> Self {
        Self { definitions: Arc::new(Definitions::new(agents)), engine: self.engine.clone() }
    }

    /// Returns what agents there are.
    pub(crate) fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// Says whose client a process is. Ask when it connects: afterwards it may be gone.
    pub(crate) fn origin(&self, pid: u32) -> Origin {
        self.engine.origin(pid)
    }

    /// Returns what lint says about one agent, and which runners would be tried for it now. `workdir` is where it
    /// would work, `most` how many bytes of its file are read. Blocks on the disk.
    pub(crate) fn examine(&self, agent: &Arc<Agent>, workdir: &Path, most: usize) -> (Report, Plan) {
        let found = Found { agents: vec![agent.clone()], ..Found::default() };
        let selector = &self.engine.selector;
        let untrusted = |agent: &Agent| !self.definitions.trusted(agent);
        let report = lint::lint(found, &[], untrusted, selector.candidates(), workdir, most);
        (report, selector.plan(agent.model.as_deref(), agent.runner.as_deref(), Instant::now()))
    }

    /// The same of a client that came over TCP. Ask while its connection is open.
    pub(crate) fn origin_over(&self, link: &Link) -> Origin {
        link.origin(|| self.engine.origin_over(link))
    }

    /// Accepts a task: when this returns it is on disk, queued, and will be run by [`Self::work`]. The answer says
    /// where in the queue it stands.
    pub(crate) async fn delegate(&self, request: Request) -> Result<Task, Error> {
        delegate::delegate(self.definitions.clone(), &self.engine, request).await
    }

    /// Asks a runner something in this program's own name: read-only, in an empty folder. The same as
    /// [`Self::delegate`] otherwise; [`Self::wait`] and [`Self::cancel`] for [`Viewer::Person`] see to its end.
    pub(crate) async fn ask(&self, question: Question<'_>) -> Result<Task, Error> {
        ask::ask(&self.engine, question).await
    }

    /// Returns a task of `viewer`'s, with its outcome when it has ended. Does not count as fetching the outcome.
    pub(crate) async fn get(&self, viewer: &Viewer, id: &TaskId) -> Result<Task, Error> {
        self.engine.get(viewer, id).await
    }

    /// Returns the one task of `viewer`'s whose id is `text` or begins with it.
    pub(crate) async fn find(&self, viewer: &Viewer, text: &str) -> Result<TaskId, Error> {
        self.engine.find(viewer, text).await
    }

    /// Waits until a task has ended, `patience` is over or the caller drops this; returns it as it is then. The task
    /// goes on in any case.
    pub(crate) async fn wait(&self, viewer: &Viewer, id: &TaskId, patience: Duration) -> Result<Task, Error> {
        self.engine.wait(viewer, id, patience).await
    }

    /// Returns tasks, newest first, of their texts the first 400 characters and no outcomes. `before` is the `seq`
    /// of the last task of the page before this one. For [`Viewer::Caller`] the filter's caller is the viewer.
    pub(crate) async fn list(
        &self,
        viewer: &Viewer,
        filter: Filter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Page, Error> {
        self.engine.list(viewer, filter, before, limit).await
    }

    /// Asks for a task's end. A waiting one is cancelled at once; a running one has ended when no process of it is
    /// left, which [`Self::wait`] waits for. Cancelling an ended task changes nothing.
    pub(crate) async fn cancel(&self, viewer: &Viewer, id: &TaskId) -> Result<Task, Error> {
        self.engine.cancel(viewer, id).await
    }

    /// Returns what happened in a task's run after the event numbered `after`, at most `limit` of it, in order.
    pub(crate) async fn happened(
        &self,
        viewer: &Viewer,
        id: &TaskId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Happened>, Error> {
        self.engine.happened(viewer, id, after, limit).await
    }

    /// Returns the last of what happened in a task's run, or the last before the event numbered `before`; at most
    /// `limit` of it, in order.
    pub(crate) async fn happened_before(
        &self,
        viewer: &Viewer,
        id: &TaskId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Happened>, Error> {
        self.engine.happened_before(viewer, id, before, limit).await
    }

    /// Waits until something about a task changes that was not there when its events ended at `after`: a new event,
    /// or its end. At most `patience`. Then ask [`Self::happened`] and [`Self::get`] again.
    pub(crate) async fn changed(&self, id: &TaskId, after: i64, patience: Duration) {
        self.engine.changed(id, after, patience).await;
    }

    /// Returns the ended tasks of a caller whose outcome nobody fetched yet, oldest first, at most `limit`.
    pub(crate) async fn undelivered(&self, caller: &Caller, limit: u32) -> Result<Vec<Task>, Error> {
        self.engine.undelivered(caller, limit).await
    }

    /// Notes that the outcome reached its asker; call it once the answer with the outcome is on its way. True for the
    /// first to say so.
    pub(crate) async fn delivered(&self, id: &TaskId) -> bool {
        self.engine.delivered(id).await
    }

    /// Claims and runs tasks until `stop`, after taking up what a hub that is gone left. Ends when every run has
    /// ended or was given to the next hub.
    pub(crate) async fn work(&self, stop: CancellationToken) {
        self.engine.clone().work(stop).await;
    }

    /// Waits until [`Agents::work`] knows the runs that the last hub left: who asks from within one is known for that
    /// from then on.
    pub(crate) async fn taken_up(&self) {
        // The sender lives as long as this does.
        let _ = self.engine.taken_up.subscribe().wait_for(|known| *known).await;
    }
}
