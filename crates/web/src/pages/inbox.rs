//! `/`: the pending questions with their answers, then running work, then recent events; and at first the steps of the setup.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::{Serde, Value};

use super::{catalogue, definitions, questions, task, tasks, threads, timeline};
use crate::error::Failure;
use crate::page::{self, Place};
use crate::{csrf, early_submit};
use adjutant_app::App;
use adjutant_assistant::Notification;
use adjutant_assistant::logins::Act;
use adjutant_assistant::notification::Status;
use adjutant_base::config::{Auth, env};

/// Maximum failed notifications of each kind.
const MAX_FAILED: u32 = 5;

pub(crate) async fn show(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let now = SystemTime::now();
    // Calendars, sessions and activity are for those who operate the hub.
    let operates = app.may(Act::Operate);
    // At the same time, because each read waits for a connection of its own.
    let (failed, threads, open, (delegated, running_count), lines) = tokio::try_join!(
        async { if operates { failed_notifications(&app, now).await } else { Ok(Vec::new()) } },
        async { if operates { threads::running(&app).await } else { Ok(Vec::new()) } },
        questions::open(&app),
        tasks::running(&app),
        async { if operates { timeline::recent(&app).await } else { Ok(Vec::new()) } },
    )?;
    let mut running = Vec::new();
    for one in &delegated {
        let last = task::last_line(&app, &one.id).await?;
        running.push(context! { last, ..tasks::row(one) });
    }
    let setup = (operates && timeline::is_first_run(&lines)).then(|| {
        context! {
            connected => !app.clients.all().is_empty() || timeline::has_toolset(&lines),
            http => app.listening.console.get(),
            token => (app.config.http.auth == Auth::Token).then(|| env::abbreviate(&app.config.home)),
        }
    });
    let values = context! {
        csrf => csrf::token()?,
        made => early_submit::render_time(now),
        running,
        running_count,
        setup,
        lines => timeline::rows(&lines),
        failed,
        threads => Value::from(Serde(&threads)),
        prompt_problems => catalogue(&app).await?.problems.len(),
        agent_problems => definitions(&app).await?.problems.len(),
        replaced_watchers => adjutant_host::file_catalogue::replaced_watchers(),
        ..open
    };
    page::page(&app, Place::Section(page::INBOX), "inbox.html", values).await
}

/// Returns the failed notifications that no user has resolved, latest first.
async fn failed_notifications(app: &App, now: SystemTime) -> Result<Vec<Value>, Failure> {
    let found = app.failed_notifications(now, MAX_FAILED).await.map_err(Failure::internal)?;
    let row = |notification: &Notification| {
        context! {
            user => notification.user.as_str(),
            subject => &notification.wording.subject,
            channel => notification.channel.word(),
            reason => match notification.status {
                Status::Unknown => "Its delivery is unknown.",
                _ => notification.error.as_deref().unwrap_or("It could not be sent."),
            },
            at => notification.due_at.as_millisecond(),
        }
    };
    Ok(found.iter().map(row).collect())
}
