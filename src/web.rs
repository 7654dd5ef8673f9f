//! The browser console: pages rendered here, readable without script, live with it.
//!
//! One page is a query, a template and its posts. The `http` door mounts [`router`] behind its guard and login;
//! nothing here decides who may look.

mod assets;
mod error;
mod form;
mod live;
mod page;
mod pages;
mod visible;
mod when;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::get;

use crate::app::App;

/// Returns every route of the console. It has its own fallback, which answers with a page.
pub(crate) fn router(app: Arc<App>) -> Router {
    let body_limit = app.config.http.body_limit;
    Router::new()
        .route("/", get(pages::overview::show))
        .route("/prompts", get(pages::prompts::list))
        .route("/prompts/{*name}", get(pages::prompt::show).post(pages::prompt::expand))
        .route("/events", get(live::events))
        .with_state(app)
        .merge(assets())
        .fallback(error::no_such_page)
        .method_not_allowed_fallback(error::wrong_method)
        .layer(DefaultBodyLimit::max(body_limit))
}

/// Returns the routes of the style sheet, the script and the icon, which hold nothing private: a page shown
/// before the login needs them too.
pub(crate) fn assets() -> Router {
    assets::router()
}
