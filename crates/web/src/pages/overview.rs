//! `/`: what runs, who is connected, what happened lately, and how to go on.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};

use super::{catalogue, definitions, questions, tasks, threads, timeline};
use crate::app::App;
use crate::app::clients::{Client, Transport};
use crate::assistant::Notification;
use crate::assistant::notification::Status;
use crate::config::{Auth, env};
use crate::web::error::Failure;
use crate::web::page::{self, Place};
use crate::web::when;

/// Notifications of each kind that are named.
const UNTOLD: u32 = 5;

pub(in crate::web) async fn show(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let catalogue = catalogue(&app).await?;
    let now = SystemTime::now();
    let all = app.clients.all();
    let clients: Vec<Value> = all.iter().map(|client| client_row(client, now)).collect();
    let lines = timeline::lately(&app, now).await?;
    let untold = untold(&app, now).await?;
    let threads = threads::going_on(&app, now).await?;
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
        clients_count => all.iter().filter(|client| !client.is_check()).count(),
        lines,
        untold,
        threads,
        prompts => catalogue.prompts.len(),
        problems => catalogue.problems.len(),
        shadowed => catalogue.shadowed.len(),
    };
    page::page(&app, Place::Room("/"), "overview.html", values).await
}

/// Returns the notifications that somebody has not got and nobody settled, latest first.
async fn untold(app: &App, now: SystemTime) -> Result<Vec<Value>, Failure> {
    let found = app.untold(now, UNTOLD).await.map_err(Failure::internal)?;
    let row = |notification: &Notification| {
        context! {
            user => notification.user.as_str(),
            subject => &notification.wording.subject,
            channel => notification.channel.name(),
            why => match notification.status {
                Status::Unknown => "Nobody knows whether it arrived.",
                _ => notification.error.as_deref().unwrap_or("It could not be sent."),
            },
            at => when::time(notification.due_at.into(), now),
        }
    };
    Ok(found.iter().map(row).collect())
}

fn client_row(client: &Client, now: SystemTime) -> Value {
    context! {
        label => client.name.clone().unwrap_or_else(|| format!("client {}", client.id)),
        named => client.name.is_some(),
        check => client.is_check(),
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
