//! `/agents`: the agents by the source of their definitions, and the definitions that are not served, with reasons.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};

use super::problem_row;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, Search};
use adjutant_agents::catalogue::Catalogue;
use adjutant_agents::definition::{Agent, Program};
use adjutant_app::App;
use adjutant_base::config::env;

/// Maximum rows of one group. The search finds the rest.
const MAX_ROWS: usize = 300;

/// The agents of one scope: the hub's own, or those of a project with a connected client.
struct Scope {
    app: Arc<App>,
    catalogue: Arc<Catalogue>,
    /// Names of the agents that the user has not trusted.
    untrusted: Vec<String>,
    /// Names of the agents without a runner that could do their tasks.
    without_runner: BTreeSet<String>,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Address(Search { q }): Address<Search>,
) -> Result<Response, Failure> {
    let words: Vec<String> = q.split_whitespace().map(str::to_lowercase).collect();
    let matches = |agent: &&Arc<Agent>| {
        let text = format!("{} {}", agent.name, agent.description).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let scopes = tokio::task::spawn_blocking(move || scopes(&app)).await.map_err(Failure::internal)?;
    // Then a notice says it once.
    let none_runs = scopes.iter().all(|scope| scope.without_runner.len() == scope.catalogue.agents.len());
    let (mut groups, mut problems, mut overridden) = (Vec::new(), Vec::new(), Vec::new());
    let (mut total, mut found) = (0, 0);
    for Scope { app, catalogue, untrusted, without_runner } in &scopes {
        // The hub's agents that a workspace uses too are listed among the hub's own.
        let own = |agent: &&Arc<Agent>| app.workspace.is_none() || agent.needs_trust;
        let all: Vec<&Arc<Agent>> = catalogue.agents.values().filter(own).collect();
        total += all.len();
        let matching: Vec<&Arc<Agent>> = all.into_iter().filter(matches).collect();
        found += matching.len();
        for root in app.config.agents.roots.iter().map(|root| &root.root.label) {
            let of_root: Vec<_> = matching.iter().filter(|agent| agent.source.root == *root).collect();
            let rows = of_root.iter().take(MAX_ROWS).map(|agent| {
                let lacks_runner = !none_runs && without_runner.contains(&agent.name);
                context! { lacks_runner, ..row(agent, app, !untrusted.contains(&agent.name)) }
            });
            if !of_root.is_empty() {
                groups.push(context! {
                    root,
                    workspace => app.workspace.as_deref().map(env::abbreviate),
                    count => of_root.len(),
                    rows => rows.collect::<Vec<_>>(),
                });
            }
        }
        if words.is_empty() {
            let labels: Vec<&str> =
                scopes[0].app.config.agents.roots.iter().map(|root| root.root.label.as_str()).collect();
            let own = |root: &str| app.workspace.is_none() || !labels.contains(&root);
            problems.extend(
                catalogue.problems.iter().filter(|problem| own(&problem.source.root)).map(problem_row),
            );
            let hidden = catalogue.overridden.iter().filter(|agent| own(&agent.source.root));
            overridden.extend(hidden.map(|agent| row(agent, app, true)));
        }
    }
    let values = context! {
        query => q.trim(),
        total,
        found,
        groups,
        none_runs => none_runs && total > 0,
        problems_count => problems.len(),
        problems => problems.into_iter().take(MAX_ROWS).collect::<Vec<_>>(),
        overridden_count => overridden.len(),
        overridden => overridden.into_iter().take(MAX_ROWS).collect::<Vec<_>>(),
    };
    page::page(&scopes[0].app, Place::Section("/agents"), "agents.html", values).await
}

/// Reads the definitions of the hub and of each workspace; the hub is the first. Blocks on the disk.
fn scopes(app: &Arc<App>) -> Vec<Scope> {
    let scope = |app: Arc<App>| {
        let definitions = app.agents.registry();
        let catalogue = definitions.files.load();
        let untrusted = catalogue.agents.values().filter(|agent| !definitions.trusted(agent));
        let untrusted = untrusted.map(|agent| agent.name.clone()).collect();
        // Agents with the same demands have the same runners, and each search reads the folders of the PATH.
        let mut found = HashMap::new();
        let without_runner = catalogue.agents.values().filter(|agent| {
            let demands = (agent.model.as_deref(), agent.runner.as_deref(), agent.permission.name());
            !*found.entry(demands).or_insert_with(|| app.agents.has_runner(agent))
        });
        let without_runner = without_runner.map(|agent| agent.name.clone()).collect();
        Scope { app, catalogue, untrusted, without_runner }
    };
    [app.clone()].into_iter().chain(app.workspaces()).map(scope).collect()
}

fn row(agent: &Agent, app: &App, trusted: bool) -> Value {
    context! {
        name => &agent.name,
        // Percent-encoded, so there is nothing in it to escape.
        address => Value::from_safe_string(address(&agent.name, app)),
        description => &agent.description,
        format => (agent.program != Program::Adjutant).then(|| agent.program.label()),
        model => agent.model.as_deref(),
        runner => agent.runner.as_deref(),
        permission => agent.permission.name(),
        trusted,
        root => &agent.source.root,
        relative => &agent.source.relative,
    }
}

/// Returns the path of an agent's page.
fn address(name: &str, app: &App) -> String {
    let page = format!("/agents/{}", page::path(name));
    match &app.workspace {
        Some(folder) => format!("{page}?in={}", page::path(&folder.to_string_lossy())),
        None => page,
    }
}
