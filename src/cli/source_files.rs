//! Paths and problems of prompt and agent files, for the commands of both.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::output::{self, Failure};
use adjutant_base::config::{self, Roots};
use adjutant_host::files::{Problem, Source, read_text};

/// Bytes of a file that a command reads whole.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Returns the folders to read: those that were named, which must be there, else the project's, the user's and the
/// bundled ones.
pub(super) fn roots(named: Vec<PathBuf>) -> Result<Roots, Failure> {
    if let Some(missing) = named.iter().find(|folder| !folder.is_dir()) {
        let failure = Failure::new(format!("{} is not a folder", missing.display()));
        return Err(failure.hint("name a folder that is there, or leave the option out"));
    }
    Ok(if named.is_empty() { Roots::Workspace } else { Roots::Exactly(named) })
}

/// Returns the folder of the project around the current folder.
pub(super) fn project(home: &Path) -> Result<PathBuf, Failure> {
    config::project(home).ok_or_else(|| {
        Failure::new("the current folder does not belong to a project")
            .hint("work in a Git repository, or in a folder with .adjutant/prompts or .adjutant/agents")
    })
}

/// Returns where something comes from, for a person: the folder's label and the path in it.
pub(super) fn place(source: &Source) -> String {
    format!("{}: {}", source.root, source.relative)
}

/// Returns where something comes from, for a person who may open it: its file, else its place.
pub(super) fn file(source: &Source) -> String {
    match &source.file {
        Some(file) => format!("{} ({})", file.display(), source.root),
        None => place(source),
    }
}

/// Returns the whole text of a file; `bundled` is that of one that is compiled in.
pub(super) fn text(source: &Source, bundled: &str) -> Result<String, Failure> {
    let Some(file) = &source.file else { return Ok(bundled.to_owned()) };
    read(file).map_err(|failure| failure.hint("look at its permissions"))
}

/// Returns the text of a regular file.
pub(super) fn read(file: &Path) -> Result<String, Failure> {
    read_text(file, MAX_BYTES)
        .map_err(|reason| Failure::new(format!("cannot read {}: {reason}", file.display())))
}

/// Returns a path as a person wrote it or would: relative to the current folder where it is below.
pub(super) fn shown(path: &Path, base: &Path) -> String {
    let path = path.strip_prefix(base).unwrap_or(path);
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// Returns a source for a program.
pub(super) fn as_json(source: &Source) -> Value {
    json!({ "root": source.root, "path": source.relative, "file": source.file })
}

/// Returns for a program why files were left out.
pub(super) fn problems_json(problems: &[Problem]) -> Vec<Value> {
    let problem =
        |Problem { source, message }: &Problem| json!({ "source": as_json(source), "message": message });
    problems.iter().map(problem).collect()
}

/// Says on stderr that files were left out, so that nobody looks for them in vain; `lint` is the command that says why.
pub(super) fn note_problems(problems: &[Problem], lint: &str) {
    match problems.len() {
        0 => {}
        1 => output::note(format!("note: 1 file has a problem; `{lint}` says which")),
        many => output::note(format!("note: {many} files have problems; `{lint}` says which")),
    }
}
