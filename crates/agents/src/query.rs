//! Queries that this program itself puts to a runner: only an answer is wanted.
//!
//! A query is a task like any other, in the queue and visible to the user, but of no agent's file: it runs read-only,
//! in an empty folder, and its answer is validated against a schema.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::agents::Agents;
use super::caller::{Caller, Origin};
use super::definition::{Agent, Isolation, Permission};
use super::error::Error;
use super::executor::context::make_private;
use super::request::ValidatedRequest;
use super::task::Task;
use super::workdir::Workdir;
use adjutant_host::file_catalogue::Source;

/// The caller's key and label in the list of tasks; no client has this key.
const ASKER: &str = "adjutant";

/// A request of this program to a runner.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The name of the task in lists, in the place of an agent's name.
    pub name: &'a str,
    /// The persona that answers.
    pub persona: &'a str,
    pub text: &'a str,
    /// The JSON Schema that the answer must follow.
    pub schema: &'a Value,
    /// The runner to try first, by its name in the runner configuration.
    pub runner: Option<&'a str>,
    pub model: Option<&'a str>,
    pub timeout: Duration,
}

impl Agents {
    /// Queues a query as a task: read-only, in an empty folder. [`Self::wait`] and [`Self::cancel`] with
    /// [`super::Viewer::User`] reach it.
    pub async fn query(&self, query: Query<'_>) -> Result<Task, Error> {
        let Query { name, persona, text, schema, runner, model, timeout } = query;
        let context = &self.context;
        let first = context
            .selector
            .first_runner(model, runner, Permission::ReadOnly, Instant::now())
            .map_err(|reason| Error::NoRunner { agent: name.to_owned(), reason })?;
        let folder = context.empty_folder();
        let workdir = tokio::task::spawn_blocking(move || {
            make_private(&folder).map_err(|_| Error::Stopping)?;
            Workdir::parse(&folder.to_string_lossy()).map_err(Error::Workdir)
        });
        let workdir = workdir.await.map_err(|_| Error::Stopping)??;
        self.enqueue(ValidatedRequest {
            caller: Caller { key: ASKER.to_owned(), label: ASKER.to_owned(), origin: Origin::Outside },
            agent: Arc::new(agent(name, persona, runner, model)),
            text: text.to_owned(),
            workdir,
            timeout: timeout.min(context.settings.max_timeout),
            schema: Some(schema.clone()),
            checks: Vec::new(),
            isolation: Isolation::None,
            permission: Permission::ReadOnly,
            outer_networks: Vec::new(),
            trace: BTreeMap::new(),
            runner: first,
            parent: None,
            root: None,
            depth: 0,
        })
        .await
    }
}

/// Returns the agent of a query, which no file describes: read-only, in the folder that the query names.
fn agent(name: &str, persona: &str, runner: Option<&str>, model: Option<&str>) -> Agent {
    Agent {
        name: name.to_owned(),
        persona: persona.to_owned(),
        model: model.map(str::to_owned),
        runner: runner.map(str::to_owned),
        source: Source { root: ASKER.to_owned(), relative: name.to_owned(), file: None },
        ..Agent::default()
    }
}
