//! `/agents/{name}`: one agent: its text, what it may do, and the runner it would get; each fact once.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use minijinja::{Value, context};
use serde::Deserialize;

use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::Address;
use crate::{highlight, timefmt};
use adjutant_agents::catalogue::Missing;
use adjutant_agents::definition::{Agent, FieldSupport, Program};
use adjutant_agents::lint::{Finding, Report};
use adjutant_agents::selector::{Considered, Eligibility, Plan};
use adjutant_app::App;
use adjutant_base::config::env;
use adjutant_base::text::escape_invisible;

#[derive(Deserialize)]
pub(crate) struct Scope {
    /// The folder of a project, for its own agents.
    #[serde(rename = "in")]
    workspace: Option<String>,
}

/// An agent as it is on disk.
struct AgentDetails {
    agent: Arc<Agent>,
    hidden: Vec<Arc<Agent>>,
    trusted: bool,
    has_runner: bool,
    report: Report,
    plan: Plan,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    name: Result<Path<String>, PathRejection>,
    Address(Scope { workspace }): Address<Scope>,
) -> Result<Response, Failure> {
    let Path(name) =
        name.map_err(|_| Failure::BadRequest("The agent's name in the address is not readable text."))?;
    let scope = match workspace {
        None => app.clone(),
        // Only the folder of a connected client, because an address must not make the hub read other folders.
        Some(folder) => app
            .workspaces()
            .into_iter()
            .find(|known| known.workspace.as_ref().is_some_and(|known| known.to_string_lossy() == folder))
            .ok_or(Failure::NoPage)?,
    };
    let read_scope = scope.clone();
    let read = tokio::task::spawn_blocking(move || read(&read_scope, &name));
    let details = read.await.map_err(Failure::internal)??;
    page::page(&app, Place::Section("/agents"), "agent.html", values(&details, &scope)).await
}

fn read(app: &App, name: &str) -> Result<AgentDetails, Failure> {
    let definitions = app.agents.registry();
    let catalogue = definitions.files.load();
    let agent = catalogue.find(name).map_err(|missing| match missing {
        Missing::Unknown { name, near } => Failure::NotFound { kind: "agent", name, near },
        Missing::Broken { name, reason } => Failure::Broken { kind: "agent", name, reason },
    })?;
    let (report, plan) = app.agents.examine(agent, &app.config.home, app.config.agents.limits().file);
    Ok(AgentDetails {
        agent: agent.clone(),
        hidden: catalogue.overridden.iter().filter(|hidden| hidden.name == agent.name).cloned().collect(),
        trusted: definitions.trusted(agent),
        has_runner: app.agents.has_runner(agent),
        report,
        plan,
    })
}

fn values(details: &AgentDetails, app: &App) -> Value {
    let AgentDetails { agent, hidden, trusted, has_runner, report, plan } = details;
    let refusals = report.agents.first().map_or(&[][..], |report| &report.runners);
    let checks = agent.checks.iter().map(|words| Value::from(words.join(" ")));
    context! {
        name => &agent.name,
        description => &agent.description,
        persona => Value::from_safe_string(highlight::source(&agent.persona, |_| None)),
        persona_hidden => escape_invisible::count_invisible(&agent.persona),
        root => &agent.source.root,
        relative => &agent.source.relative,
        workspace => app.workspace.as_deref().map(env::abbreviate),
        format => agent.program.label(),
        foreign => agent.program != Program::Adjutant,
        model => agent.model.as_deref(),
        permission => agent.permission.name(),
        timeout => agent.timeout.map(timefmt::length),
        on_hub_exit => agent.on_hub_exit.name(),
        isolation => agent.isolation.name(),
        checks => checks.collect::<Vec<_>>(),
        // Values may be secrets; the file has them.
        env => agent.env.keys().map(Value::from).collect::<Vec<_>>(),
        digest => &agent.digest,
        needs_trust => agent.needs_trust,
        trusted,
        has_runner,
        hides => hidden.iter().map(|other| {
            context! { root => &other.source.root, relative => &other.source.relative }
        }).collect::<Vec<_>>(),
        // The values of supported keys are on the page, and an unknown key in a file of this program is a finding.
        fields => agent.fields.iter().filter_map(|field| {
            let detail = match &field.support {
                FieldSupport::Mapped(detail) | FieldSupport::Unsupported(detail) => Some(detail),
                FieldSupport::Unknown if agent.program != Program::Adjutant => None,
                FieldSupport::Supported | FieldSupport::Unknown => return None,
            };
            Some(context! { key => &field.key, support => field.support.name(), detail })
        }).collect::<Vec<_>>(),
        findings => report.findings.iter().map(finding).collect::<Vec<_>>(),
        runners => runners(&plan.considered, refusals),
    }
}

fn finding(finding: &Finding) -> Value {
    context! {
        id => finding.rule.id,
        severity => finding.rule.severity.name(),
        line => finding.line,
        message => &finding.message,
        hint => finding.hint.as_deref(),
    }
}

/// Returns the runners that are tried, in their order, the others with the reasons why they are not, and the names of those
/// that are not installed. A refusal for this agent comes before the order.
fn runners(considered: &[Considered], refusals: &[(String, Option<String>)]) -> Value {
    let (mut tried, mut others, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for one in considered {
        let refusal = refusals.iter().find(|(name, _)| *name == one.runner).and_then(|(_, why)| why.as_ref());
        let (name, why) = (one.runner.as_str(), refusal.cloned().unwrap_or_else(|| one.reason()));
        if refusal.is_some() {
            others.push(context! { name, why });
        } else if one.is_tried() {
            tried.push(context! { name, why });
        } else if one.eligibility == Eligibility::NotInstalled {
            missing.push(name);
        } else {
            others.push(context! { name, why });
        }
    }
    context! { tried, others, missing => missing.join(", ") }
}
