//! Delegates a task: validates the request as a whole, then stores it as a row of the queue.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::agents::Agents;
use super::caller::{Caller, Origin};
use super::catalogue::Missing;
use super::definition::{Agent, Isolation, Permission};
use super::error::Error;
use super::executor::context::{ExecutorContext, now};
use super::executor::rows;
use super::lane;
use super::output_schema;
use super::registry::Registry;
use super::request::{Request, ValidatedRequest};
use super::task::{Filter, Task, TaskId};
use super::workdir::Workdir;
use super::worktrees::WORKTREE;
use adjutant_base::config::is_repository;
use adjutant_base::config::network::Network;
use adjutant_base::events::Event;
use adjutant_store::tasks;

impl Agents {
    /// Accepts a task: when this returns, the task is on disk and queued, and [`Self::run`] will run it. The answer
    /// has its position in the queue.
    pub async fn delegate(&self, request: Request) -> Result<Task, Error> {
        let context = &*self.context;
        if context.drains.load(Ordering::SeqCst) > 0 {
            return Err(Error::Stopping);
        }
        validate_text(&request.task, context.settings.max_task_bytes)?;
        let (registry, name, workdir) =
            (self.registry.clone(), request.agent.clone(), request.workdir.clone());
        let read = tokio::task::spawn_blocking(move || {
            let agent = find(&registry, &name)?;
            let workdir = Workdir::parse(&workdir).map_err(Error::Workdir)?;
            Ok::<_, Error>((agent, workdir))
        });
        let (agent, workdir) = read.await.map_err(|_| Error::Stopping)??;
        let parent = Parent::load(context, &request.caller).await?;
        let depth = parent.as_ref().map_or_else(|| self.outer_depth(), Parent::depth_below);
        let request = validate(context, request, agent, workdir, parent.as_ref(), depth)?;
        if parent.is_none() {
            return self.enqueue(request).await;
        }
        let _growth = context.tree_growth.lock().await;
        let tree = Filter { root: request.root.clone(), ..Filter::default() };
        let count = tasks::count(&context.store, &tree).await?.saturating_sub(1);
        if count >= u64::from(context.settings.max_descendants) {
            return Err(Error::Descendants { count });
        }
        self.enqueue(request).await
    }

    /// Delegates an ended task again for `caller`, to the agent as its file is now.
    pub async fn retry(&self, id: &TaskId, caller: Caller) -> Result<Task, Error> {
        let row = tasks::get(&self.context.store, id.as_str()).await?;
        let row = row.ok_or_else(|| Error::UnknownTask { id: id.to_string() })?;
        if !row.state.is_ended() {
            return Err(Error::NotEnded { id: id.to_string() });
        }
        if let Some(machine) =
            rows::machine(&row).filter(|machine| machine.id != self.context.store.machine())
        {
            return Err(Error::OtherMachine { id: id.to_string(), machine });
        }
        let options = rows::options(&row).map_err(|_| Error::UnknownTask { id: id.to_string() })?;
        let (permission, isolation, timeout) = (options.permission(), options.isolation(), options.timeout());
        self.delegate(Request {
            caller,
            agent: row.agent,
            task: row.text,
            workdir: row.workdir,
            timeout: Some(timeout),
            output_schema: options.schema,
            checks: options.checks.into_iter().skip(options.agent_checks).collect(),
            isolation: Some(isolation),
            permission: Some(permission),
            trace: BTreeMap::new(),
        })
        .await
    }

    /// Stores a validated request; when this returns, its task is on disk.
    pub(crate) async fn enqueue(&self, request: ValidatedRequest) -> Result<Task, Error> {
        let context = &*self.context;
        let limits = tasks::QueueLimits {
            each_caller: context.settings.max_queued_per_client,
            total: context.settings.max_queued,
        };
        let id = TaskId::new().map_err(|_| Error::Stopping)?;
        let row = tasks::enqueue(&context.store, rows::new_task(&id, request, now()), limits).await?;
        context.wake.notify_one();
        context.queued.notify_one();
        context.events.send(Event::TasksChanged);
        self.complete(row).await
    }
}

/// The task of the agent that makes a request.
struct Parent {
    row: tasks::Task,
    permission: Permission,
    isolation: Isolation,
    /// The networks other than `all` that limit the task, and so also the tasks that its agent delegates.
    networks: Vec<Network>,
    /// The folder of the task, which holds its worktree; empty if the folder does not exist.
    folder: PathBuf,
}

impl Parent {
    /// Reads the task that `caller` belongs to; `None` for a client outside of all tasks.
    async fn load(context: &ExecutorContext, caller: &Caller) -> Result<Option<Self>, Error> {
        let task = match &caller.origin {
            Origin::Outside => return Ok(None),
            Origin::Exited => return Err(Error::CallerExited),
            Origin::Task(task) => task,
        };
        let row = tasks::get(&context.store, task.as_str()).await?.ok_or(Error::CallerExited)?;
        let options = rows::options(&row).map_err(|_| Error::CallerExited)?;
        Ok(Some(Self {
            permission: options.permission(),
            isolation: options.isolation(),
            networks: options.networks().into_iter().filter(|network| *network != Network::All).collect(),
            folder: context.folder(&row.id).canonicalize().unwrap_or_default(),
            row,
        }))
    }

    fn depth_below(&self) -> u32 {
        u32::try_from(self.row.depth).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Returns whether a worker on another machine runs the task.
    fn is_on_worker(&self) -> bool {
        self.row.hub.as_deref().is_some_and(|hub| tasks::held_by(hub).is_some())
    }

    /// Rejects a delegation that would do what the asking agent itself may not do.
    fn validate(&self, permission: Permission, isolation: Isolation, workdir: &Workdir) -> Result<(), Error> {
        if permission > self.permission {
            let who = "the task that asks".to_owned();
            return Err(Error::Permission { who, allowed: self.permission, asked: permission });
        }
        if self.is_on_worker() {
            // The folder is the one that the task began with. The agent works on a copy of it, so another one may too.
            return match isolation {
                Isolation::None => Err(Error::IsolationFromWorker),
                Isolation::Worktree if workdir.path().starts_with(&self.row.workdir) => Ok(()),
                Isolation::Worktree => Err(Error::WorkdirFromWithin),
            };
        }
        let below = match self.isolation {
            Isolation::None => workdir.path().starts_with(&self.row.workdir),
            Isolation::Worktree => {
                self.folder.is_absolute() && workdir.path().starts_with(self.folder.join(WORKTREE))
            }
        };
        if permission > Permission::ReadOnly && self.permission != Permission::Full && !below {
            return Err(Error::WorkdirFromWithin);
        }
        Ok(())
    }
}

fn find(registry: &Registry, name: &str) -> Result<Arc<Agent>, Error> {
    let catalogue = registry.files.ready().unwrap_or_else(|| registry.files.load());
    let agent = catalogue.find(name).map_err(|missing| match missing {
        Missing::Unknown { name, near } => Error::UnknownAgent { name, near },
        Missing::Broken { name, reason } => Error::BrokenAgent { name, reason },
    })?;
    if registry.trusted(agent) {
        Ok(agent.clone())
    } else {
        Err(Error::Untrusted { name: agent.name.clone() })
    }
}

fn validate_text(text: &str, limit: usize) -> Result<(), Error> {
    if text.trim().is_empty() {
        return Err(Error::EmptyTask);
    }
    if text.len() > limit {
        return Err(Error::LargeTask { bytes: text.len(), limit });
    }
    if text.contains('\0') {
        return Err(Error::Nul { what: "task" });
    }
    Ok(())
}

/// Validates everything but the text of the task. `depth` is the number of delegations above the new task.
fn validate(
    context: &ExecutorContext,
    request: Request,
    agent: Arc<Agent>,
    workdir: Workdir,
    parent: Option<&Parent>,
    depth: u32,
) -> Result<ValidatedRequest, Error> {
    let settings = &context.settings;
    let max_timeout = settings.max_timeout;
    let timeout = request.timeout.or(agent.timeout).unwrap_or(settings.timeout);
    if timeout > max_timeout || timeout < Duration::from_secs(1) {
        return Err(Error::Timeout { limit: max_timeout.as_secs() });
    }
    let permission = request.permission.unwrap_or(agent.permission);
    if permission > agent.permission {
        let who = format!("agent `{}`", agent.name);
        return Err(Error::Permission { who, allowed: agent.permission, asked: permission });
    }
    let isolation = request.isolation.unwrap_or(agent.isolation);
    if let Some(parent) = parent {
        parent.validate(permission, isolation, &workdir)?;
        if !request.checks.is_empty() && parent.permission != Permission::Full {
            return Err(Error::ChecksFromWithin);
        }
    }
    if let Some(schema) = &request.output_schema
        && let Err(reason) = output_schema::validate(schema)
    {
        return Err(Error::Schema { reason });
    }
    if isolation == Isolation::Worktree && !workdir.path().ancestors().any(is_repository) {
        return Err(Error::NoRepository { reason: "no folder above it has a `.git`".to_owned() });
    }
    let checks: Vec<Vec<String>> = agent.checks.iter().cloned().chain(request.checks).collect();
    if checks.len() > settings.max_checks {
        return Err(Error::ManyChecks { count: checks.len(), limit: settings.max_checks });
    }
    for check in &checks {
        if check.first().is_none_or(String::is_empty) {
            return Err(Error::Check { text: check.join(" "), reason: "it names no program".to_owned() });
        }
        if check.iter().any(|word| word.contains('\0')) {
            return Err(Error::Nul { what: "check" });
        }
    }
    let runner = context
        .selector
        .first_runner(agent.model.as_deref(), agent.runner.as_deref(), permission, Instant::now())
        .map_err(|reason| Error::NoRunner { agent: agent.name.clone(), reason })?;
    let runner = match &agent.label {
        // The agent of a worker sends no work to the machine of the hub, which its user did not choose for the task.
        None if parent.is_some_and(Parent::is_on_worker) => lane::of_workers(&runner),
        None => runner,
        Some(label) => {
            let (name, label) = (agent.name.clone(), label.clone());
            if isolation != Isolation::Worktree {
                return Err(Error::LabelWithoutWorktree { agent: name, label });
            }
            if context.serves_workers.get().is_none() {
                return Err(Error::LabelWithoutWorkers { agent: name, label });
            }
            lane::name(&runner, Some(&label))
        }
    };
    if depth > settings.max_depth {
        return Err(Error::Depth { depth, limit: settings.max_depth });
    }
    Ok(ValidatedRequest {
        caller: request.caller,
        agent,
        text: request.task,
        workdir,
        timeout,
        schema: request.output_schema,
        checks,
        isolation,
        permission,
        // Nothing limits the network of a parent at `full`, so it passes no limit on.
        outer_networks: parent
            .filter(|parent| parent.permission != Permission::Full)
            .map_or_else(Vec::new, |parent| parent.networks.clone()),
        trace: request.trace,
        runner,
        parent: parent.map(|parent| parent.row.id.clone()),
        root: parent.map(|parent| parent.row.root.clone()),
        depth,
    })
}
