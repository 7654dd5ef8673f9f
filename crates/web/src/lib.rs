//! The browser console: pages rendered here, readable without script, live with it.
//!
//! One page is a query, a template and its posts. The `http` interface serves [`router`] to requests that passed its guard
//! and its login; nothing here checks a login.

mod assets;
mod calendar_feed;
mod compression;
mod csrf;
mod diff;
mod early_submit;
mod error;
mod error_page;
mod excerpt;
mod highlight;
mod login;
mod markdown;
mod number_format;
mod page;
mod pages;
mod prompt_form;
mod request;
mod request_acts;
mod sentence;
mod sse;
mod timefmt;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};

use adjutant_app::App;
use error::Failure;
pub use error::Login;
pub use login::{
    LoginForm, OPENID_PATH, logged_in, login_page, not_allowed, read_login, read_logout, read_openid_link,
};
pub use pages::access::ListTokens;
pub use request_acts::act;

/// Returns every route of the console. It has its own fallback, which answers with a page.
/// `list_tokens` reads the tokens of agents, which belong to the listener.
pub fn router(app: Arc<App>, list_tokens: ListTokens) -> Router {
    let body_limit = app.config.http.body_limit;
    let router = if cfg!(debug_assertions) {
        Router::new().route("/patterns", get(pages::patterns::show))
    } else {
        Router::new()
    };
    router
        .route("/", get(pages::inbox::show))
        .route("/prompts", get(pages::prompts::list))
        .route("/prompts/{*name}", get(pages::prompt::show).post(pages::prompt::expand))
        .route("/agents", get(pages::agents::list))
        .route("/agents/{*name}", get(pages::agent::show))
        .route("/calendar", get(pages::calendar::show))
        .route("/calendar/notification", post(pages::calendar::notification))
        .route("/calendar/plan", post(pages::calendar::plan))
        .route("/feeds/{file}", get(calendar_feed::show))
        .route("/tasks", get(pages::tasks::list).post(pages::tasks::delegate))
        .route("/tasks/race", get(pages::race::show))
        .route("/tasks/{id}", get(pages::task::show))
        .route("/tasks/{id}/cancel", post(pages::task::cancel))
        .route("/tasks/{id}/again", post(pages::task::run_again))
        .route("/codex", get(pages::threads::list).post(pages::threads::start))
        .route("/codex/{thread}", get(pages::thread::show).post(pages::thread::act))
        .route("/questions", get(pages::questions::list))
        .route("/questions/approvals", get(pages::approvals::list).post(pages::approvals::answer))
        .route("/questions/availability", post(pages::questions::set_availability))
        .route("/questions/{ticket}", get(pages::question::show).post(pages::question::act))
        .route("/questions/{ticket}/files/{number}", get(pages::question::file))
        .route("/questions/{ticket}/undo", post(pages::question::undo))
        .route("/questions/{ticket}/seen", post(pages::question::seen))
        .route("/timeline", get(pages::timeline::list))
        .route("/settings", get(pages::settings::show))
        .route("/settings/access", get(pages::access::show).post(pages::access::change))
        .route(
            "/settings/notifications",
            get(pages::notification_settings::show).post(pages::notification_settings::change),
        )
        .route("/settings/workers", get(pages::workers::show).post(pages::workers::act))
        .route("/find", get(pages::search::show))
        .route("/keys", get(pages::keyboard::show))
        .route("/history", get(pages::history::list))
        .route("/history/{file}", get(pages::history::export))
        .route("/events", get(sse::events))
        .layer(Extension(list_tokens))
        .with_state(app.clone())
        .merge(assets::router())
        .fallback(error::no_such_page)
        .method_not_allowed_fallback(error::wrong_method)
        .layer(middleware::from_fn_with_state(app, error_page::with_pending))
        .layer(DefaultBodyLimit::max(body_limit))
        .layer(middleware::from_fn(compression::gzip))
}

/// Returns whether a path is a file that every page needs, even the page that asks for a login. Such files hold nothing
/// private.
pub fn is_asset(path: &str) -> bool {
    path.starts_with(assets::FOLDER)
}

/// Returns whether a path is a calendar feed for other programs. The address of a feed is its secret.
pub fn is_feed(path: &str) -> bool {
    path.starts_with(calendar_feed::FOLDER)
}

/// Returns the page for a browser that has not logged in.
pub fn login_needed(login: Login) -> Response {
    Failure::LoginNeeded(login).into_response()
}

/// Returns a redirect to the path of a page.
pub fn redirect(path: &str) -> Response {
    page::redirect(path)
}
