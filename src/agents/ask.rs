//! A question to a runner that this program asks by itself: an answer is wanted, and nothing is to be done.
//!
//! It is a task like any other, in the queue and in front of the person, but of no agent's file: it runs read-only, in
//! an empty folder, and its answer is held against a schema.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::caller::{Caller, Origin};
use super::definition::{Agent, Isolation, OnHubExit, Permission, Program};
use super::delegate::Checked;
use super::engine::{self, Engine};
use super::task::TaskId;
use super::workdir::Workdir;
use super::{Error, Task};
use crate::folders::Source;
use crate::store::tasks::NewTask;

/// Who asks, as the list of tasks shows it; no client has that key.
const ASKER: &str = "adjutant";

/// A question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    /// What the task is called in lists, in the place of an agent's name.
    pub(crate) name: &'a str,
    /// The standing instruction.
    pub(crate) persona: &'a str,
    pub(crate) text: &'a str,
    /// What the answer must follow.
    pub(crate) schema: &'a Value,
    /// The runner to try first, by its name in the runner configuration.
    pub(crate) runner: Option<&'a str>,
    pub(crate) model: Option<&'a str>,
    pub(crate) timeout: Duration,
}

/// Enters a question into the queue.
pub(super) async fn ask(engine: &Engine, question: Question<'_>) -> Result<Task, Error> {
    let Question { name, persona, text, schema, runner, model, timeout } = question;
    let plan = engine.selector.plan(model, runner, Instant::now());
    let Some(first) = plan.choices.first() else {
        return Err(Error::NoRunner { agent: name.to_owned(), reason: plan.nobody().unwrap_or_default() });
    };
    let folder = engine.empty_folder();
    let workdir = tokio::task::spawn_blocking(move || {
        engine::make_private(&folder).map_err(|_| Error::Stopping)?;
        Workdir::parse(&folder.to_string_lossy()).map_err(Error::Workdir)
    });
    let workdir = workdir.await.map_err(|_| Error::Stopping)??;
    let caller = Caller { key: ASKER.to_owned(), label: ASKER.to_owned(), origin: Origin::Outside };
    let agent = agent(name, persona, runner, model);
    let checked = Checked {
        caller,
        workdir,
        timeout: timeout.min(engine.settings.longest_timeout),
        schema: Some(schema.clone()),
        checks: Vec::new(),
        isolation: Isolation::None,
        permission: Permission::ReadOnly,
        trace: BTreeMap::new(),
    };
    let id = TaskId::new().map_err(|_| Error::Stopping)?;
    let new = NewTask {
        id: id.to_string(),
        caller: checked.caller.key.clone(),
        agent: agent.name.clone(),
        runner: first.runner.name().to_owned(),
        text: text.to_owned(),
        workdir: checked.workdir.path().to_string_lossy().into_owned(),
        priority: 0,
        parent: None,
        root: id.to_string(),
        depth: 0,
        options: Engine::options(&checked, &agent),
        created_at: engine::now(),
    };
    engine.enqueue(new, checked.caller.label).await
}

/// The agent that no file describes.
fn agent(name: &str, persona: &str, runner: Option<&str>, model: Option<&str>) -> Agent {
    Agent {
        name: name.to_owned(),
        description: String::new(),
        persona: persona.to_owned(),
        model: model.map(str::to_owned),
        runner: runner.map(str::to_owned),
        permission: Permission::ReadOnly,
        timeout: None,
        on_hub_exit: OnHubExit::Kill,
        isolation: Isolation::None,
        checks: Vec::new(),
        env: BTreeMap::new(),
        program: Program::Adjutant,
        source: Source { root: ASKER.to_owned(), relative: name.to_owned(), file: None },
        digest: String::new(),
        needs_trust: false,
        fields: Vec::new(),
        warnings: Vec::new(),
    }
}
