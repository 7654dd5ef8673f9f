//! `/settings`: every setting with its effective value and its origin. Settings are changed in the file.

use std::io;
use std::path::Path;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};
use serde::Deserialize;

use crate::error::Failure;
use crate::number_format;
use crate::page::{self, Place};
use crate::request::Address;
use adjutant_app::App;
use adjutant_base::config::effective;
use adjutant_base::config::effective::Setting;
use adjutant_base::config::env;
use adjutant_base::config::sources::Origin;
use adjutant_base::text::timefmt::millis;
use adjutant_host::recorder::reader;

/// The filter for settings that have another value than their default.
const CHANGED: &str = "changed";

#[derive(Default, Deserialize)]
pub(crate) struct Search {
    #[serde(default)]
    q: String,
    /// [`CHANGED`]; empty for all.
    #[serde(default)]
    only: String,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Address(Search { q, only }): Address<Search>,
) -> Result<Response, Failure> {
    let query = q.trim();
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let only_changed = only == CHANGED;
    let is_wanted = |setting: &Setting| {
        let text = format!("{} {}", setting.key, setting.about).to_lowercase();
        words.iter().all(|word| text.contains(word.as_str()))
            && (!only_changed || setting.from != Origin::Default)
    };
    let settings = effective::list(&app.config, &app.toolsets.current());
    let total = settings.len();
    let mut found = 0;
    let mut sections: Vec<(String, Vec<Value>)> = Vec::new();
    for setting in settings.into_iter().filter(is_wanted) {
        found += 1;
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
    let folder = app.config.recorder.folder.clone();
    let files = tokio::task::spawn_blocking(move || recordings(folder.as_deref())).await;
    // A folder that cannot be read must not hide the settings, which say where it is.
    let recordings = files.map_err(Failure::internal)?.unwrap_or_default();
    let values = context! {
        recordings => recordings.1,
        recording_count => recordings.0,
        pending => changed.settings,
        fault => changed.fault.is_some(),
        sections => sections.iter().map(section_values).collect::<Vec<_>>(),
        query,
        only => if only_changed { CHANGED } else { "" },
        choices => [context! { word => CHANGED, label => "Changed", here => only_changed }],
        total,
        found,
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
    let is_size = key.ends_with("_bytes");
    let size = setting.value.parse().ok().filter(|_| is_size).map(number_format::size);
    // A default may have no value; an empty one that somebody wrote is shown as it is.
    let value = match (&setting.from, setting.value.as_str()) {
        (Origin::Default, "\"\"" | "[]") => "",
        (_, value) => value,
    };
    context! { id => &setting.key, key, value, size, from, detail, about => setting.about }
}

/// Returns the number of recordings, and the last ones.
fn recordings(folder: Option<&Path>) -> io::Result<(usize, Vec<Value>)> {
    let found = folder.map_or_else(|| Ok(Vec::new()), reader::list)?;
    let row = |one: &reader::Found| {
        context! { name => &one.name, size => number_format::size(one.bytes), at => millis(one.modified) }
    };
    Ok((found.len(), found.iter().take(10).map(row).collect()))
}
