//! `/settings`: every setting with its effective value and its origin. Settings are changed in the file.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};

use crate::error::Failure;
use crate::page::{self, Place};
use adjutant_app::App;
use adjutant_base::config::effective;
use adjutant_base::config::effective::Setting;
use adjutant_base::config::env;
use adjutant_base::config::sources::Origin;

pub(crate) async fn show(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let mut sections: Vec<(String, Vec<Value>)> = Vec::new();
    for setting in effective::list(&app.config, &app.toolsets.current()) {
        let (section, key) = split(&setting.key);
        if sections.last().is_none_or(|(name, _)| name != section) {
            sections.push((section.to_owned(), Vec::new()));
        }
        if let Some((_, rows)) = sections.last_mut() {
            rows.push(row(&setting, key));
        }
    }
    let section_values = |section: &(String, Vec<Value>)| context! { name => &section.0, rows => &section.1 };
    let changed = app.toolsets.pending_changes();
    let values = context! {
        pending => changed.settings,
        fault => changed.fault.is_some(),
        sections => sections.iter().map(section_values).collect::<Vec<_>>(),
        file => env::abbreviate(&app.config.home.join("config.toml")),
    };
    page::page(&app, Place::Section("/settings"), "settings.html", values).await
}

/// Returns the section of a key, empty for the start of the file, and the key's name in it.
fn split(key: &str) -> (&str, &str) {
    key.split_once('.').unwrap_or(("", key))
}

fn row(setting: &Setting, key: &str) -> Value {
    let (from, detail) = match setting.from {
        Origin::Default => ("default", None),
        Origin::File => ("file", Some("config.toml")),
        Origin::Environment(variable) => ("environment", Some(variable)),
        Origin::Flag(flag) => ("flag", Some(flag)),
    };
    context! { id => &setting.key, key, value => &setting.value, from, detail, about => setting.about }
}
