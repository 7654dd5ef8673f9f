//! The parts that the commands of prompt files and of agent files share.

pub(super) mod new;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::output::{self, Failure};
use adjutant_base::config::{self, Roots};
use adjutant_base::text::escape_invisible::{escape, escape_line};
use adjutant_host::file_catalogue::{Problem, Severity, Source, read_text};

/// Maximum bytes of a file that a command reads.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(super) struct ListArgs<F: Args> {
    /// Only entries that contain all these words
    pub(super) query: Option<String>,
    /// Show overridden entries too
    #[arg(long)]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) folders: F,
}

/// Row of `list`.
pub(super) struct Row<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    pub(super) source: &'a Source,
    /// Printed after the source, such as ` (overridden)`.
    pub(super) mark: &'static str,
    pub(super) json: Value,
}

/// Prints the rows of a list, and how many files have problems.
pub(super) fn print_list<F: Args>(
    noun: &str,
    args: &ListArgs<F>,
    rows: Vec<Row<'_>>,
    problems: &[Problem],
) -> Result<(), Failure> {
    if output::is_json() {
        let rows = rows.into_iter().map(|row| row.json).collect();
        let problem =
            |Problem { source, message }: &Problem| json!({ "source": as_json(source), "message": message });
        let problems: Vec<Value> = problems.iter().map(problem).collect();
        return output::json(&output::with(output::list(rows, "name"), json!({"problems": problems})));
    }
    let empty = match &args.query {
        Some(query) => format!("no {noun} matches `{query}`"),
        None => format!("no {noun}s yet; `adjutant {noun}s new NAME` creates one"),
    };
    let rows = rows.iter().map(|row| {
        let source = format!("{}{}", row.source.root, row.mark);
        [escape_line(row.name), escape_line(row.description), source]
    });
    output::table(["NAME", "DESCRIPTION", "SOURCE"], 1, &rows.collect::<Vec<_>>(), &empty)?;
    match problems.len() {
        0 => {}
        1 => output::note(format!("note: 1 file has a problem; `adjutant {noun}s lint` shows it")),
        many => output::note(format!("note: {many} files have problems; `adjutant {noun}s lint` shows them")),
    }
    Ok(())
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs<F: Args> {
    /// The name
    pub(super) name: String,
    /// Print the file itself
    #[arg(long, conflicts_with = "json")]
    source: bool,
    #[command(flatten)]
    pub(super) folders: F,
}

/// Prints one entry: its file, its JSON or its text. `bundled` is the text of a file that is compiled in.
pub(super) fn print_entry<F: Args>(
    args: &ShowArgs<F>,
    source: &Source,
    bundled: &str,
    json: Value,
    text: &str,
) -> Result<(), Failure> {
    if args.source {
        let text = match &source.file {
            None => bundled.to_owned(),
            Some(file) => read(file).map_err(|failure| failure.hint("check its permissions"))?,
        };
        return output::text(text.trim_end_matches('\n'));
    }
    if output::is_json() {
        return output::json(&output::identified(json, "name"));
    }
    output::data(&escape(text.trim_end()))
}

/// Prints a finding of `lint`, with its hint below it.
pub(super) fn print_finding(
    place: &str,
    (severity, rule): (Severity, &str),
    message: &str,
    hint: Option<&str>,
) -> Result<(), Failure> {
    output::data(&escape_line(&format!("{place}: {}[{rule}]: {message}", severity.name())))?;
    hint.map_or(Ok(()), |hint| output::data(&format!("  hint: {}", escape_line(hint))))
}

/// Returns the folders to read: `named`, which must exist, else those of the project, the user and the bundled files.
pub(super) fn roots(named: &[PathBuf]) -> Result<Roots, Failure> {
    if let Some(missing) = named.iter().find(|folder| !folder.is_dir()) {
        let failure = Failure::new(format!("{} is not a folder", missing.display()));
        return Err(failure.hint("name an existing folder, or leave the option out"));
    }
    Ok(if named.is_empty() { Roots::Workspace } else { Roots::Exactly(named.to_owned()) })
}

/// Returns the hint about a path that cannot be read. A repository elsewhere must be cloned first.
pub(super) fn unreadable_hint(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_word = |word: &str| {
        word.starts_with(|letter: char| letter.is_ascii_alphanumeric())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    if text.contains("://") || text.starts_with("git@") {
        return format!("clone the repository first, with `git clone {text}`, and name its folder");
    }
    // A host has a dot in its name.
    let mut parts = text.trim_end_matches('/').split('/');
    if parts.clone().count() == 3
        && parts.clone().all(is_word)
        && parts.next().is_some_and(|host| host.contains('.'))
    {
        return format!("clone the repository first, with `git clone https://{text}`, and name its folder");
    }
    match text.split_once('/') {
        Some((owner, name)) if is_word(owner) && is_word(name) => format!(
            "clone a repository of GitHub first, with `git clone https://github.com/{text}`, and name its folder"
        ),
        _ => "name a file or folder that you may read".to_owned(),
    }
}

/// Returns the folder of the project around the current folder.
fn project(home: &Path) -> Result<PathBuf, Failure> {
    config::project(home).ok_or_else(|| {
        Failure::new("the current folder does not belong to a project")
            .hint("work in a Git repository, or in a folder with .adjutant/prompts or .adjutant/agents")
    })
}

/// Returns the text of a regular file.
pub(super) fn read(file: &Path) -> Result<String, Failure> {
    read_text(file, MAX_BYTES).map_err(|reason| Failure::new(format!("{}: {reason}", file.display())))
}

/// Returns the label of a source's root, and the path below the root.
pub(super) fn label(source: &Source) -> String {
    format!("{}: {}", source.root, source.relative)
}

/// Returns the file of a source with the label of its root; the label alone for a bundled file.
pub(super) fn file(source: &Source) -> String {
    match &source.file {
        Some(file) => format!("{} ({})", file.display(), source.root),
        None => label(source),
    }
}

/// Returns a path relative to the current folder `base` if it is below it.
pub(super) fn relative(path: &Path, base: &Path) -> String {
    let path = path.strip_prefix(base).unwrap_or(path);
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// Returns a source as JSON.
pub(super) fn as_json(source: &Source) -> Value {
    json!({ "root": source.root, "path": source.relative, "file": source.file })
}
