//! Report of import and export, one line for each file.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::output::{self, Failure};
use super::source_files::relative;
use adjutant_base::named_enum;
use adjutant_base::text::counted::counted;
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_host::file_catalogue::atomic_write::{self, Change};
use adjutant_host::file_catalogue::import_plan::{Outcome, PlannedImport};

/// How the files are handled.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Handling {
    /// Replace existing files with other content
    #[arg(long)]
    pub(super) force: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
}

named_enum! {
    /// Outcome of one file.
    Done {
        Created = "created",
        Replaced = "replaced",
        Unchanged = "unchanged",
        /// The file there has other content, and `--force` is missing.
        Differs = "differs",
        /// The target format cannot express it, and it was not named on the command line.
        LeftOut = "left out",
        Failed = "failed",
    }
}

impl Done {
    fn is_fault(self) -> bool {
        matches!(self, Self::Differs | Self::Failed)
    }

    /// Returns the outcome in words; of a dry run, what would be done.
    fn words(self, dry_run: bool) -> String {
        let would = if dry_run && matches!(self, Self::Created | Self::Replaced) { "would be " } else { "" };
        format!("{would}{}", self.name())
    }
}

/// One line of the report.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) done: Done,
    /// The name of the prompt or agent; of the file, if that is unknown.
    pub(super) name: String,
    pub(super) from: String,
    /// The foreign format's name.
    pub(super) format: &'static str,
    pub(super) to: Option<String>,
    /// Why the file was not written.
    pub(super) reason: Option<String>,
    pub(super) notes: Vec<String>,
}

/// Writes a file as `handling` allows. Returns the outcome, and its reason.
pub(super) fn write(to: &Path, text: &str, change: Change, handling: Handling) -> (Done, Option<String>) {
    let done = match change {
        Change::New => Done::Created,
        Change::Same => return (Done::Unchanged, None),
        Change::Different if handling.force => Done::Replaced,
        Change::Different => return (Done::Differs, Some("the file there has other content".to_owned())),
    };
    if handling.dry_run {
        return (done, None);
    }
    match atomic_write::put(to, text) {
        Ok(()) => (done, None),
        Err(reason) => (Done::Failed, Some(reason)),
    }
}

/// Writes the planned files of an import of `noun`s as `handling` allows, and prints the report. `format` is the format
/// of a file that could not be read, `passed_over` the number of other files by the reason.
pub(super) fn import(
    planned: Vec<PlannedImport>,
    (noun, format): (&str, Option<&'static str>),
    passed_over: &BTreeMap<&'static str, usize>,
    handling: Handling,
) -> Result<ExitCode, Failure> {
    let base = std::env::current_dir()?;
    let mut rows = Vec::new();
    for step in planned {
        let (name, done, to, reason) = match step.outcome {
            Outcome::Write { name, to, text, change } => {
                let (done, reason) = write(&to, &text, change, handling);
                (name, done, Some(relative(&to, &base)), reason)
            }
            Outcome::Conflict { name, by } => {
                let reason = format!("{} has the {noun} of the same name", relative(&by, &base));
                (name, Done::Failed, None, Some(reason))
            }
            Outcome::Rejected(reason) => {
                // A skill or a pattern has the name of its folder.
                let is_item = step.from.ends_with("SKILL.md") || step.from.ends_with("system.md");
                let named = step.from.parent().filter(|_| is_item).unwrap_or(&step.from);
                let stem = named.file_stem().unwrap_or_default();
                (stem.to_string_lossy().into_owned(), Done::Failed, None, Some(reason))
            }
        };
        let format = step.format.or(format).unwrap_or("unknown");
        let from = relative(&step.from, &base);
        rows.push(Row { done, name, from, format, to, reason, notes: step.notes });
    }
    print(&rows, passed_over, handling)
}

/// Prints the report. The exit code is 1 if a file differs or failed.
pub(super) fn print(
    rows: &[Row],
    passed_over: &BTreeMap<&'static str, usize>,
    handling: Handling,
) -> Result<ExitCode, Failure> {
    if output::is_json() {
        let summary = json!({"dry_run": handling.dry_run, "passed_over": passed_over});
        let files = output::list(rows.iter().map(entry).collect(), "name");
        output::json(&output::with(summary, files))?;
    } else {
        as_text(rows, passed_over, handling)?;
    }
    Ok(ExitCode::from(u8::from(rows.iter().any(|row| row.done.is_fault()))))
}

fn as_text(
    rows: &[Row],
    passed_over: &BTreeMap<&'static str, usize>,
    handling: Handling,
) -> Result<(), Failure> {
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).min(40);
    let column = if handling.dry_run { "would be replaced".len() } else { "unchanged".len() };
    for row in rows {
        let to = row.to.as_deref().map_or_else(|| row.from.clone(), |to| format!("{} -> {to}", row.from));
        let words = row.done.words(handling.dry_run);
        // A line feed of a name would begin a line that is not of this report.
        let name = escape_line(&row.name);
        let files = escape_line(&to);
        output::data(&format!("{words:column$}  {name:width$}  {files}"))?;
        for line in row.reason.iter().chain(&row.notes) {
            output::data(&format!("{:column$}  {}", "", escape_line(line)))?;
        }
    }
    let counts = Done::ALL.iter().filter_map(|done| {
        let count = rows.iter().filter(|row| row.done == *done).count();
        (count > 0).then(|| format!("{count} {}", done.words(handling.dry_run)))
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    output::note(if handling.dry_run { format!("dry run, nothing was written: {counts}") } else { counts });
    let passed = passed_over.iter().map(|(reason, count)| counted(*count, reason));
    let passed = passed.collect::<Vec<_>>().join(", ");
    if !passed.is_empty() {
        output::note(format!("passed over: {passed}"));
    }
    if rows.iter().any(|row| row.done == Done::Differs) {
        output::note("hint: --force replaces files that differ");
    }
    Ok(())
}

fn entry(row: &Row) -> Value {
    json!({
        "outcome": row.done,
        "name": row.name,
        "format": row.format,
        "from": row.from,
        "to": row.to,
        "reason": row.reason,
        "notes": row.notes,
    })
}
