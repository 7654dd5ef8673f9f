//! `/`: running work, connected clients, recent events, and the next steps.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::{Serde, Value};

use super::{catalogue, definitions, questions, tasks, threads, timeline};
use crate::error::Failure;
use crate::page::{self, Place};
use adjutant_app::App;
use adjutant_app::client_registry::{Client, ConnectionKind};
use adjutant_assistant::Notification;
use adjutant_assistant::notification::Status;
use adjutant_base::config::{Auth, env};
use adjutant_base::text::timefmt::{millis, span};

/// Maximum failed notifications of each kind.
const MAX_FAILED: u32 = 5;

pub(crate) async fn show(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let catalogue = catalogue(&app).await?;
    let now = SystemTime::now();
    let all = app.clients.all();
    let clients: Vec<Value> = all.iter().map(client_row).collect();
    let lines = timeline::recent(&app).await?;
    let failed = failed_notifications(&app, now).await?;
    let threads = threads::running(&app).await?;
    let agents = definitions(&app).await?;
    let (pending, pending_count) = questions::pending(&app).await?;
    let (running, running_count) = tasks::running(&app).await?;
    let values = context! {
        agents => agents.agents.len(),
        agent_problems => agents.problems.len(),
        pending,
        pending_count,
        running,
        running_count,
        version => env!("CARGO_PKG_VERSION"),
        uptime => span(now.duration_since(app.started).unwrap_or_default()),
        socket => app.listening.socket.get().is_some(),
        http => app.listening.http.get().map(ToString::to_string),
        token => app.config.http.auth == Auth::Token,
        home => env::abbreviate(&app.config.home),
        clients,
        clients_count => all.iter().filter(|client| !client.is_check()).count(),
        lines,
        failed,
        threads => Value::from(Serde(&threads)),
        prompts => catalogue.prompts.len(),
        problems => catalogue.problems.len(),
        overridden => catalogue.overridden.len(),
        replaced_watchers => adjutant_host::file_catalogue::replaced_watchers(),
    };
    page::page(&app, Place::Section("/"), "overview.html", values).await
}

/// Returns the failed notifications that no user has resolved, latest first.
async fn failed_notifications(app: &App, now: SystemTime) -> Result<Vec<Value>, Failure> {
    let found = app.failed_notifications(now, MAX_FAILED).await.map_err(Failure::internal)?;
    let row = |notification: &Notification| {
        context! {
            user => notification.user.as_str(),
            subject => &notification.wording.subject,
            channel => notification.channel.name(),
            reason => match notification.status {
                Status::Unknown => "Its delivery is unknown.",
                _ => notification.error.as_deref().unwrap_or("It could not be sent."),
            },
            at => notification.due_at.as_millisecond(),
        }
    };
    Ok(found.iter().map(row).collect())
}

fn client_row(client: &Client) -> Value {
    context! {
        label => client.name.clone().unwrap_or_else(|| format!("client {}", client.id)),
        named => client.name.is_some(),
        check => client.is_check(),
        version => client.version.as_deref(),
        revision => client.revision.as_deref(),
        transport => match client.kind {
            ConnectionKind::Stdio => "stdio",
            ConnectionKind::Socket | ConnectionKind::Script => "socket",
            ConnectionKind::Http | ConnectionKind::HttpSession => "HTTP",
        },
        server => client.server,
        pid => client.pid,
        since => millis(client.since),
        calls => client.calls,
    }
}
