//! A delegation comes in: checked as a whole, then a row.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::caller::{Caller, Origin};
use super::catalogue::{Definitions, Missing};
use super::definition::{Agent, Isolation, Permission};
use super::engine::{Engine, rows};
use super::task::TaskId;
use super::workdir::Workdir;
use super::{Error, Task, schema};
use crate::store::tasks::{self, Filter, NewTask};

/// What a caller asks for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) caller: Caller,
    pub(crate) agent: String,
    pub(crate) task: String,
    /// As given; it is checked and resolved here.
    pub(crate) workdir: String,
    /// Over the agent's own.
    pub(crate) timeout: Option<Duration>,
    /// A JSON Schema that the final message must follow.
    pub(crate) output_schema: Option<Value>,
    /// Commands that the hub runs when the agent is gone, on top of the agent's own; program and arguments each.
    pub(crate) checks: Vec<Vec<String>>,
    /// Over the agent's own.
    pub(crate) isolation: Option<Isolation>,
    /// At most what the agent's definition says.
    pub(crate) permission: Option<Permission>,
    /// Variables that tell the agent which trace it works for; the agent's own win.
    pub(crate) trace: BTreeMap<String, String>,
}

/// A request with everything in it checked.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) caller: Caller,
    pub(super) workdir: Workdir,
    pub(super) timeout: Duration,
    pub(super) schema: Option<Value>,
    pub(super) checks: Vec<Vec<String>>,
    pub(super) isolation: Isolation,
    pub(super) permission: Permission,
    pub(super) trace: BTreeMap<String, String>,
}

/// Checks a request and enters it into the queue.
pub(super) async fn delegate(
    definitions: Arc<Definitions>,
    engine: &Engine,
    request: Request,
) -> Result<Task, Error> {
    let limit = engine.settings.largest_task;
    if request.task.trim().is_empty() {
        return Err(Error::EmptyTask);
    }
    if request.task.len() > limit {
        return Err(Error::LargeTask { bytes: request.task.len(), limit });
    }
    if request.task.contains('\0') {
        return Err(Error::Nul { what: "task" });
    }
    let (name, workdir) = (request.agent.clone(), request.workdir.clone());
    let read = tokio::task::spawn_blocking(move || {
        let agent = find(&definitions, &name)?;
        let workdir = Workdir::parse(&workdir)?;
        Ok::<_, Error>((agent, workdir))
    });
    let (agent, workdir) = read.await.map_err(|_| Error::Stopping)??;
    let asker = Asker::of(engine, &request.caller).await?;
    let checked = check(engine, request, &agent, workdir, asker.as_ref())?;
    let plan = engine.selector.plan(agent.model.as_deref(), agent.runner.as_deref(), Instant::now());
    let Some(first) = plan.choices.first() else {
        return Err(Error::NoRunner { agent: agent.name.clone(), reason: plan.nobody().unwrap_or_default() });
    };
    let limits = &engine.settings;
    let depth = asker.as_ref().map_or_else(|| engine.outer_depth(), Asker::depth_below);
    if depth > limits.max_depth {
        return Err(Error::Depth { depth, limit: limits.max_depth });
    }
    let mut growing = None;
    if let Some(asker) = &asker {
        growing = Some(engine.growing.lock().await);
        let tree = Filter { root: Some(asker.row.root.clone()), ..Filter::default() };
        let count = tasks::count(&engine.store, &tree).await?.saturating_sub(1);
        if count >= u64::from(limits.max_descendants) {
            return Err(Error::Descendants { count });
        }
    }
    let id = TaskId::new().map_err(|_| Error::Stopping)?;
    let new = NewTask {
        id: id.to_string(),
        caller: checked.0.caller.key.clone(),
        agent: agent.name.clone(),
        runner: first.runner.name().to_owned(),
        text: checked.1,
        workdir: checked.0.workdir.path().to_string_lossy().into_owned(),
        priority: 0,
        parent: asker.as_ref().map(|asker| asker.row.id.clone()),
        root: asker.as_ref().map_or_else(|| id.to_string(), |asker| asker.row.root.clone()),
        depth: i64::from(depth),
        options: Engine::options(&checked.0, &agent),
        created_at: super::engine::now(),
    };
    let label = checked.0.caller.label.clone();
    let task = engine.enqueue(new, label).await;
    drop(growing);
    task
}

/// The task whose agent asks.
struct Asker {
    row: tasks::Task,
    permission: Permission,
    isolation: Isolation,
    /// Where its worktree would be.
    folder: PathBuf,
}

impl Asker {
    async fn of(engine: &Engine, caller: &Caller) -> Result<Option<Self>, Error> {
        let task = match &caller.origin {
            Origin::Outside => return Ok(None),
            Origin::Gone => return Err(Error::AskerGone),
            Origin::Task(task) => task,
        };
        let row = tasks::get(&engine.store, task.as_str()).await?.ok_or(Error::AskerGone)?;
        let options = rows::options(&row).map_err(|_| Error::AskerGone)?;
        Ok(Some(Self {
            permission: options.permission(),
            isolation: options.isolation(),
            folder: engine.folder(&row.id).canonicalize().unwrap_or_default(),
            row,
        }))
    }

    fn depth_below(&self) -> u32 {
        u32::try_from(self.row.depth).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// What an agent may not do itself it may not have done for it.
    fn allows(&self, permission: Permission, workdir: &Workdir) -> Result<(), Error> {
        if permission > self.permission {
            let who = "the task that asks".to_owned();
            return Err(Error::Permission { who, allowed: self.permission, asked: permission });
        }
        let below = match self.isolation {
            Isolation::None => workdir.path().starts_with(&self.row.workdir),
            Isolation::Worktree => {
                self.folder.is_absolute() && workdir.path().starts_with(self.folder.join("tree"))
            }
        };
        if permission > Permission::ReadOnly && self.permission != Permission::Full && !below {
            return Err(Error::WorkdirFromWithin);
        }
        Ok(())
    }
}

fn find(definitions: &Definitions, name: &str) -> Result<Arc<Agent>, Error> {
    let catalogue = definitions.ready().unwrap_or_else(|| definitions.load());
    let agent = catalogue.find(name).map_err(|missing| match missing {
        Missing::Unknown { name, near } => Error::UnknownAgent { name, near },
        Missing::Broken { name, reason } => Error::BrokenAgent { name, reason },
    })?;
    if definitions.trusted(agent) {
        Ok(agent.clone())
    } else {
        Err(Error::Untrusted { name: agent.name.clone() })
    }
}

fn check(
    engine: &Engine,
    request: Request,
    agent: &Agent,
    workdir: Workdir,
    asker: Option<&Asker>,
) -> Result<(Checked, String), Error> {
    let settings = &engine.settings;
    let longest = settings.longest_timeout;
    let timeout = request.timeout.or(agent.timeout).unwrap_or(settings.timeout);
    if timeout > longest || timeout < Duration::from_secs(1) {
        return Err(Error::Timeout { limit: longest.as_secs() });
    }
    let permission = request.permission.unwrap_or(agent.permission);
    if permission > agent.permission {
        let who = format!("agent `{}`", agent.name);
        return Err(Error::Permission { who, allowed: agent.permission, asked: permission });
    }
    if let Some(asker) = asker {
        asker.allows(permission, &workdir)?;
        if !request.checks.is_empty() && asker.permission != Permission::Full {
            return Err(Error::ChecksFromWithin);
        }
    }
    if let Some(schema) = &request.output_schema
        && let Err(reason) = schema::check(schema)
    {
        return Err(Error::Schema { reason });
    }
    let isolation = request.isolation.unwrap_or(agent.isolation);
    if isolation == Isolation::Worktree
        && !workdir.path().ancestors().any(|above| above.join(".git").exists())
    {
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
    let checked = Checked {
        isolation,
        caller: request.caller,
        workdir,
        timeout,
        schema: request.output_schema,
        checks,
        permission,
        trace: request.trace,
    };
    Ok((checked, request.task))
}
