//! The domain's state: the agents of one workspace, and the queue that all workspaces share.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::caller::{Origin, TcpConnection};
use super::definition::Agent;
use super::executor::context::{ActiveRun, ExecutorContext};
use super::executor::queue;
use super::import::Definitions;
use super::lint::{self, Report};
use super::registry::Registry;
use super::selector::{Plan, Selector, config};
use super::task::TaskId;
use adjutant_base::config::agents::AgentsConfig;
use adjutant_base::config::delegation::Delegation;
use adjutant_base::config::runners::RunnersConfig;
use adjutant_base::events::Events;
use adjutant_host::process::{self, Ancestor};
use adjutant_host::recorder::Recorder;
use adjutant_store::Store;

/// The agents of one workspace, and the queue of all tasks. Cheap to clone; all clones share one queue.
#[derive(Clone, Debug)]
pub struct Agents {
    pub(crate) registry: Arc<Registry>,
    pub(crate) context: Arc<ExecutorContext>,
}

/// A pause of the queue, see [`Agents::drain`].
#[derive(Debug)]
pub struct Drain(Arc<ExecutorContext>);

impl Drop for Drain {
    fn drop(&mut self) {
        self.0.drains.fetch_sub(1, Ordering::SeqCst);
        self.0.wake.notify_one();
    }
}

impl Agents {
    /// Does no I/O: [`Self::run`] is the first to use the store, and resumes the runs that the last hub left.
    pub fn new(
        agents: &AgentsConfig,
        settings: Delegation,
        selector: Selector,
        store: Store,
        events: Events,
        recorder: Recorder,
    ) -> Self {
        let context = ExecutorContext::new(settings, selector, store, events, recorder);
        Self { registry: Arc::new(Registry::new(agents)), context: Arc::new(context) }
    }

    /// Returns the same queue with the agents of another workspace.
    pub fn with_agents(&self, agents: &AgentsConfig) -> Self {
        Self { registry: Arc::new(Registry::new(agents)), context: self.context.clone() }
    }

    /// Returns the registry of the workspace's agents.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Replaces the runners by those of a changed configuration. After an error nothing has changed.
    pub fn replace_runners(&self, config: &RunnersConfig) -> Result<(), config::Error> {
        self.context.selector.replace(config)?;
        self.context.wake.notify_one();
        Ok(())
    }

    /// Ends the cooldowns of all runners: the user knows that their usage limits are over.
    pub fn forget_limits(&self) {
        self.context.selector.forget_limits();
    }

    /// Lints one agent and plans its runners as of now. `workdir` is the folder that it would work in; at most
    /// `max_bytes` of its file are read. Blocks on the disk.
    pub fn examine(&self, agent: &Arc<Agent>, workdir: &Path, max_bytes: usize) -> (Report, Plan) {
        let found = Definitions { agents: vec![agent.clone()], ..Definitions::default() };
        let selector = &self.context.selector;
        let untrusted = |agent: &Agent| !self.registry.trusted(agent);
        let report = lint::lint(found, &[], untrusted, &selector.candidates(), workdir, max_bytes);
        let (model, runner) = (agent.model.as_deref(), agent.runner.as_deref());
        (report, selector.plan(model, runner, agent.permission, Instant::now()))
    }

    /// Returns whether a runner can do the tasks of an agent, now or after its usage limit. Searches the programs on the
    /// `PATH`.
    pub fn has_runner(&self, agent: &Agent) -> bool {
        let (model, runner) = (agent.model.as_deref(), agent.runner.as_deref());
        let plan = self.context.selector.plan(model, runner, agent.permission, Instant::now());
        plan.considered.iter().any(|one| one.is_tried() || one.is_limited())
    }

    /// Returns which of the tasks that run here the process `pid` belongs to. Call it when the process connects,
    /// because it may have exited later.
    pub fn origin(&self, pid: u32) -> Origin {
        match process::ancestry(pid).as_deref() {
            None => Origin::Outside,
            Some([]) => Origin::Exited,
            Some(line) => self.origin_of(line),
        }
    }

    /// Returns which of the tasks that run here a process with these ancestors belongs to.
    pub fn origin_of(&self, line: &[Ancestor]) -> Origin {
        let active = self.context.active();
        let in_line = |pid: u32| line.iter().any(|process| process.pid == pid);
        let below = |run: &ActiveRun| run.supervisor.is_some_and(in_line);
        let task = active.iter().find(|(_, run)| below(run)).and_then(|(task, _)| TaskId::parse(task));
        match task {
            Some(task) => Origin::Task(task),
            // A check, or a process that outlived its run: this hub started it, and no task has it.
            None if in_line(std::process::id()) => Origin::Exited,
            None => Origin::Outside,
        }
    }

    /// Returns the start of the oldest process of a run, of a task or of Codex, in clock ticks since boot; `None` while
    /// none runs.
    pub fn first_run_started(&self) -> Option<u64> {
        let active = self.context.active();
        let runs = active.values().filter_map(|run| process::ancestor(run.supervisor?));
        runs.map(|run| run.started).chain(process::oldest_child()).min()
    }

    /// Returns which of the tasks that run here holds the other end of a TCP connection. Call it while the connection
    /// is open.
    pub fn origin_over(&self, connection: &TcpConnection) -> Origin {
        connection.origin(|| {
            // A run that the last hub left is not below this process, but its supervisor is known.
            let mut roots: Vec<u32> =
                self.context.active().values().filter_map(|run| run.supervisor).collect();
            roots.push(std::process::id());
            process::peer_below(&roots, connection.local, connection.remote)
                .map_or(Origin::Outside, |pid| self.origin(pid))
        })
    }

    /// Returns how many delegations lie above a task of a client from outside: more than 0 where a delegated agent
    /// started this process.
    pub(crate) fn outer_depth(&self) -> u32 {
        *self.context.outer_depth.get_or_init(process::supervisors_above)
    }

    /// Starts no further task while the value lives. From then on [`Self::running`] has every task that runs.
    pub async fn drain(&self) -> Drain {
        self.context.drains.fetch_add(1, Ordering::SeqCst);
        let drain = Drain(self.context.clone());
        // A claim that has begun starts its tasks.
        drop(self.context.claiming.lock().await);
        drain
    }

    /// Returns the tasks that this process runs.
    pub fn running(&self) -> Vec<TaskId> {
        self.context.active().keys().filter_map(|task| TaskId::parse(task)).collect()
    }

    /// Claims and runs tasks until `stop`, after it has resumed the runs that the last hub left. Returns when every
    /// run has ended or was left to the next hub.
    pub async fn run(&self, stop: CancellationToken) {
        queue::run(&self.context, stop).await;
    }

    /// Waits until [`Self::run`] knows the runs that the last hub left. From then on [`Self::origin`] recognizes
    /// their processes.
    pub async fn runs_adopted(&self) {
        // The sender lives as long as this value.
        let _ = self.context.runs_adopted.subscribe().wait_for(|known| *known).await;
    }
}
