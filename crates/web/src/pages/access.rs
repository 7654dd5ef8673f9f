//! `/settings/access`: who and what may reach the hub: approval rules, tokens and users. The logins of users are changed
//! here, everything else by a command that the page names.

use std::io;
use std::path::Path;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;
use minijinja::context;
use serde::Deserialize;

use super::calendar::ACTOR;
use crate::csrf;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, Fields, SignedForm};
use adjutant_app::App;
use adjutant_assistant::UserId;
use adjutant_assistant::logins::Role;
use adjutant_base::config::Auth;

/// Lists the tokens of clients of the hub with this home: names, and times of creation in milliseconds since 1970.
pub type ListTokens = fn(&Path) -> io::Result<Vec<(String, i64)>>;

/// Rows of one list; the command lists all.
const MAX_ROWS: usize = 50;

#[derive(Deserialize)]
pub(crate) struct Chosen {
    /// The user whose login was changed.
    changed: Option<String>,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Extension(list_tokens): Extension<ListTokens>,
    Address(Chosen { changed }): Address<Chosen>,
) -> Result<Response, Failure> {
    render(&app, list_tokens, changed, None).await
}

/// Changes the login of a user: its role, its password, or whether there is one.
pub(crate) async fn change(
    State(app): State<Arc<App>>,
    Extension(list_tokens): Extension<ListTokens>,
    SignedForm(fields): SignedForm,
) -> Result<Response, Failure> {
    match change_login(&app, &fields).await {
        Ok(user) => {
            let user = page::path(user.as_str());
            Ok(page::redirect(&format!("/settings/access?changed={user}#users")))
        }
        Err(fault) => render(&app, list_tokens, None, Some(fault)).await,
    }
}

/// Does what a form asks for, and returns the user. The error is a sentence.
async fn change_login(app: &App, fields: &Fields) -> Result<UserId, String> {
    // Where any program may use the console, it could give itself a login for the time when the console needs one.
    if app.config.http.auth == Auth::None {
        return Err(
            "This console needs no login, so it gives none. Use `adjutant users password`.".to_owned()
        );
    }
    let user = UserId::parse(fields.get("user")).ok_or("The form names no user.")?;
    let role = fields.filled("role").map(|name| {
        Role::from_name(&name).ok_or_else(|| format!("`{name}` is no role; choose user, operator or viewer."))
    });
    let role = role.transpose()?;
    let actor = app.login.as_ref().map_or(ACTOR.to_owned(), |login| format!("{} at the console", login.user));
    let done = match (fields.get("act"), role) {
        ("password", role) => {
            app.set_password(&user, fields.get("password").to_owned(), role, &actor).await.map(drop)
        }
        ("role", Some(role)) => app.set_role(&user, role, &actor).await,
        ("lock", _) => app.assistant.remove_login(&user, &actor, Timestamp::now()).await,
        _ => return Err("The form says nothing to do; choose one of its buttons.".to_owned()),
    };
    done.map(|()| user).map_err(|error| format!("Nothing was changed: {error}."))
}

async fn render(
    app: &App,
    list_tokens: ListTokens,
    changed: Option<String>,
    fault: Option<String>,
) -> Result<Response, Failure> {
    let home = app.config.home.clone();
    let tokens = tokio::task::spawn_blocking(move || list_tokens(&home)).await.map_err(Failure::internal)?;
    let tokens = tokens.map_err(Failure::internal)?;
    let token = |(name, at): &(String, i64)| context! { name, at };
    let users = app.assistant.users(None, rows_limit()).await.map_err(Failure::internal)?;
    let roles = app.assistant.roles(&users).await.map_err(Failure::internal)?;
    let user = |user: &adjutant_assistant::User| {
        let role = roles.get(&user.id).map(|role| role.name());
        let is_changed = changed.as_deref() == Some(user.id.as_str());
        context! { id => user.id.as_str(), name => &user.name, email => user.email.as_deref(), role, is_changed }
    };
    let values = context! {
        rules => app.approval_rule_list().await.into_iter().map(|(name, verdict, what)| context! { name, verdict, what }).collect::<Vec<_>>(),
        tokens => tokens.iter().take(MAX_ROWS).map(token).collect::<Vec<_>>(),
        has_tokens => app.config.http.auth == Auth::Token,
        users => users.iter().map(user).collect::<Vec<_>>(),
        csrf => csrf::token()?,
        fault,
        roles => Role::ALL.iter().map(|role| role.name()).collect::<Vec<_>>(),
        provider => app.openid.as_ref().map(|openid| openid.label()),
    };
    page::page(app, Place::Section("/settings"), "access.html", values).await
}

fn rows_limit() -> u32 {
    u32::try_from(MAX_ROWS).unwrap_or(u32::MAX)
}
