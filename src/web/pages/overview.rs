//! `/`: what runs, who is connected, what happened lately, and how to go on.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};

use super::{catalogue, definitions, questions, tasks};
use crate::app::App;
use crate::app::activity::{Entry, What};
use crate::app::clients::{Client, Transport};
use crate::config::{Auth, env};
use crate::web::error::Failure;
use crate::web::page::{self, Place};
use crate::web::when;

/// How much of the activity is shown.
const LATEST: usize = 30;

pub(in crate::web) async fn show(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let catalogue = catalogue(&app).await?;
    let now = SystemTime::now();
    let clients: Vec<Value> = app.clients.all().iter().map(|client| client_row(client, now)).collect();
    let activity: Vec<Value> =
        app.activity.latest(LATEST).into_iter().map(|entry| activity_row(entry, now)).collect();
    let agents = definitions(&app).await?;
    let (waiting, waiting_count) = questions::waiting(&app, now).await?;
    let (running, running_count) = tasks::going_on(&app, now).await?;
    let values = context! {
        agents => agents.agents.len(),
        agent_problems => agents.problems.len(),
        waiting,
        waiting_count,
        running,
        running_count,
        version => env!("CARGO_PKG_VERSION"),
        uptime => when::span(app.started, now),
        started => when::time(app.started, now),
        socket => app.listening.socket.get().is_some(),
        http => app.listening.http.get().map(ToString::to_string),
        token => app.config.http.auth == Auth::Token,
        home => env::short(&app.config.home),
        clients,
        activity,
        prompts => catalogue.prompts.len(),
        problems => catalogue.problems.len(),
        shadowed => catalogue.shadowed.len(),
    };
    page::page(&app, Place::Room("/"), "overview.html", values).await
}

fn client_row(client: &Client, now: SystemTime) -> Value {
    context! {
        label => client.name.clone().unwrap_or_else(|| format!("client {}", client.id)),
        named => client.name.is_some(),
        version => client.version.as_deref(),
        revision => client.revision.as_deref(),
        transport => match client.transport {
            Transport::Stdio => "stdio",
            Transport::Socket | Transport::Script => "socket",
            Transport::Http | Transport::HttpSession => "HTTP",
        },
        server => client.server,
        pid => client.pid,
        since => when::time(client.since, now),
        calls => client.calls,
    }
}

fn activity_row(entry: Entry, now: SystemTime) -> Value {
    let (kind, prompt, detail) = match entry.what {
        What::Connected => ("connected", None, None),
        What::Left => ("left", None, None),
        What::Expanded { prompt, bytes } => ("expanded", Some(prompt), Some(bytes.to_string())),
        What::Refused { prompt, reason } => ("refused", Some(prompt), Some(reason)),
        What::PromptsChanged => ("changed", None, None),
    };
    context! { who => entry.who, kind, prompt, detail, at => when::time(entry.at, now) }
}
