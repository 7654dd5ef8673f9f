//! Scripts of a check that the run itself changed, so that passing the check proves less.

use std::path::{Component, Path, PathBuf};

use super::super::context::TaskRun;
use crate::run_report::RunReport;

/// Programs that read their commands from files that the command line does not name.
const IMPLIED: &[(&str, &[&str])] = &[
    ("bun", &["package.json"]),
    ("cargo", &["Cargo.toml", "build.rs", ".cargo/config.toml"]),
    ("just", &["justfile", ".justfile"]),
    ("make", &["Makefile", "makefile", "GNUmakefile"]),
    ("npm", &["package.json"]),
    ("npx", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("pytest", &["conftest.py", "pytest.ini", "pyproject.toml"]),
    ("tox", &["tox.ini", "pyproject.toml"]),
    ("yarn", &["package.json"]),
];

/// Programs whose arguments are data: a changed file among them is what the check inspects, and not what it runs.
const READERS: &[&str] = &["cat", "cmp", "diff", "grep", "ls", "stat", "test", "["];

/// Returns the changed files that `argv` runs, or that say what it runs.
pub(super) fn find(argv: &[String], report: &RunReport, run: &TaskRun<'_>) -> Vec<String> {
    let Some(repository) = &report.repository else { return Vec::new() };
    let top = run.state.baseline.as_ref().map_or(Path::new(""), |baseline| baseline.inner.top.as_path());
    let mut found = Vec::new();
    for (file, is_anywhere) in named(argv) {
        let place = normal(&run.workspace.join(file));
        let (below, name) = (place.strip_prefix(top).unwrap_or(&place), normal(Path::new(file)));
        for changed in repository.files.iter().map(|changed| &changed.path) {
            let path = Path::new(changed);
            let is_named = is_anywhere && !name.as_os_str().is_empty() && path.ends_with(&name);
            if (path == below || is_named) && !found.contains(changed) {
                found.push(changed.clone());
            }
        }
    }
    found
}

/// Returns the files that a command line may run, as it names them, and whether each may be in another folder.
fn named(argv: &[String]) -> Vec<(&str, bool)> {
    let mut files = Vec::new();
    let commands: Vec<Vec<&str>> = match argv {
        // A line for a shell has several commands.
        [_, option, line, ..] if option.ends_with('c') && option.starts_with('-') => {
            let lines = line.split([';', '&', '|', '\n', '(', ')']);
            lines.map(|line| line.split_whitespace().collect()).collect()
        }
        _ => vec![argv.iter().map(String::as_str).collect()],
    };
    let moves =
        commands.iter().any(|command| command.first().is_some_and(|name| ["cd", "pushd"].contains(name)));
    for command in commands {
        let Some(program) = command.first() else { continue };
        let base = |word: &&str| word.rsplit('/').next().unwrap_or(word).to_owned();
        files.push((*program, moves));
        if !READERS.contains(&base(program).as_str()) {
            files.extend(command.iter().skip(1).map(|word| (word.trim_matches(['"', '\'', '<']), moves)));
            // Such a program may be started by another one, and reads files of subfolders too.
            let names: Vec<String> = command.iter().map(base).collect();
            let implied = IMPLIED.iter().filter(|(program, _)| names.iter().any(|name| name == program));
            files.extend(implied.flat_map(|(_, files)| files.iter().map(|file| (*file, true))));
        }
    }
    files
}

/// Returns a path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}
