//! Paths and problems of prompt and agent files, for the commands of both.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::output::{self, Failure};
use adjutant_base::config::Roots;
use adjutant_host::files::{Problem, Source};

/// Returns the folders to read: those that were named, which must be there, else the project's, the user's and the
/// bundled ones.
pub(super) fn roots(named: Vec<PathBuf>) -> Result<Roots, Failure> {
    if let Some(missing) = named.iter().find(|folder| !folder.is_dir()) {
        let failure = Failure::new(format!("{} is not a folder", missing.display()));
        return Err(failure.hint("name a folder that is there, or leave the option out"));
    }
    Ok(if named.is_empty() { Roots::Workspace } else { Roots::Exactly(named) })
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
    std::fs::read_to_string(file).map_err(|error| {
        Failure::new(format!("{} cannot be read: {error}", file.display())).hint("look at its permissions")
    })
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
