//! `/settings/access`: who and what may reach the hub: approval rules, tokens, users, workers and recordings, each with the
//! command that changes it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};

use crate::error::Failure;
use crate::page::{self, Place};
use crate::timefmt;
use adjutant_app::{App, health};
use adjutant_base::text::timefmt::millis;
use adjutant_host::recorder::reader;

/// Lists the tokens of agents of the hub with this home: names, and times of creation in milliseconds since 1970.
pub type ListTokens = fn(&Path) -> io::Result<Vec<(String, i64)>>;

/// Rows of one list; the command lists all.
const MAX_ROWS: usize = 50;

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Extension(list_tokens): Extension<ListTokens>,
) -> Result<Response, Failure> {
    let home = app.config.home.clone();
    let folder = app.config.recorder.folder.clone();
    let files = tokio::task::spawn_blocking(move || (list_tokens(&home), recordings(folder.as_deref())));
    let (tokens, recordings) = files.await.map_err(Failure::internal)?;
    let (tokens, recordings) = (tokens.map_err(Failure::internal)?, recordings.map_err(Failure::internal)?);
    let token = |(name, at): &(String, i64)| context! { name, at };
    let users = app.assistant.users(None, rows_limit()).await.map_err(Failure::internal)?;
    let roles = app.assistant.roles(&users).await.map_err(Failure::internal)?;
    let user = |user: &adjutant_assistant::User| {
        let role = roles.get(&user.id).map(|role| role.name());
        context! { id => user.id.as_str(), name => &user.name, email => user.email.as_deref(), role }
    };
    // A database of one machine has no list of machines.
    let machines = match app.machine() {
        "" => Vec::new(),
        _ => health::machines(&app.config.database).await.map_err(Failure::internal)?,
    };
    let machine = |machine: &health::Machine| context! { id => &machine.id, version => &machine.version };
    let values = context! {
        rules => app.approval_rule_list().await.into_iter().map(|(name, verdict, what)| context! { name, verdict, what }).collect::<Vec<_>>(),
        tokens => tokens.iter().take(MAX_ROWS).map(token).collect::<Vec<_>>(),
        has_tokens => app.config.http.auth == adjutant_base::config::Auth::Token,
        users => users.iter().map(user).collect::<Vec<_>>(),
        // The address may have a login in front.
        nats => app.config.workers.nats.as_deref().map(|address| address.rsplit('@').next().unwrap_or_default()),
        machines => machines.iter().take(MAX_ROWS).map(machine).collect::<Vec<_>>(),
        recordings => recordings.1,
        recording_count => recordings.0,
    };
    page::page(&app, Place::Section("/settings"), "access.html", values).await
}

fn rows_limit() -> u32 {
    u32::try_from(MAX_ROWS).unwrap_or(u32::MAX)
}

/// Returns the number of recordings, and the last ones.
fn recordings(folder: Option<&Path>) -> io::Result<(usize, Vec<Value>)> {
    let found = folder.map_or_else(|| Ok(Vec::new()), reader::list)?;
    let row = |one: &reader::Found| {
        context! { name => &one.name, size => timefmt::size(one.bytes), at => millis(one.modified) }
    };
    Ok((found.len(), found.iter().take(10).map(row).collect()))
}
