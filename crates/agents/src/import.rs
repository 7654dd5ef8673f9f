//! Import: finds the definitions of other programs below a path, and says what would become of each.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::catalogue::Definitions;
use super::definition::{Agent, Fate, Program};
use super::formats::{self, Draft};
use super::load;
use crate::config::agents::{AgentRoot, AgentsConfig};
use crate::config::folders::Limits;
use crate::folders::place::{self, Change};
use crate::folders::{Problem, Source, read_text};
use crate::names::own_name;
use crate::yaml::front_matter;

/// Why nothing can be imported.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{} cannot be read: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("{} holds no agents", path.display())]
    Nothing { path: PathBuf },
    #[error("cannot tell which program the agents in {} are for", path.display())]
    Unclear { path: PathBuf },
}

/// What lies at a path.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// By file.
    pub(crate) agents: Vec<Arc<Agent>>,
    /// Files that are no good.
    pub(crate) problems: Vec<Problem>,
}

/// One file and what becomes of it.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) from: PathBuf,
    /// Whose file it is, where that is known.
    pub(crate) program: Option<Program>,
    pub(crate) outcome: Outcome,
    /// What is not carried over as it stands, a sentence fragment each.
    pub(crate) notes: Vec<String>,
}

/// What becomes of a file.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// `text` goes to `to`, as agent `name`; `change` says what is there now.
    Place { name: String, to: PathBuf, text: String, change: Change },
    /// Another file of the same import has the same name and other content.
    Taken { name: String, by: PathBuf },
    /// It is left out, for a reason.
    Bad(String),
}

/// Reads what lies at `from`: a file, a folder of definitions, or a workspace or home that has such folders. Without
/// a program, the path says whose they are, and then the content. Folders of `own` are read too when `own`.
pub(crate) fn find(from: &Path, program: Option<Program>, own: bool, limits: Limits) -> Result<Found, Error> {
    let path = || from.to_owned();
    let kind =
        fs::metadata(from).map_err(|error| Error::Unreadable { path: path(), reason: error.to_string() })?;
    let programs: Vec<Program> = match program {
        Some(program) => vec![program],
        None => Program::FOREIGN.into_iter().chain(own.then_some(Program::Adjutant)).collect(),
    };
    let absolute = std::path::absolute(from).unwrap_or_else(|_| from.to_owned());
    if !kind.is_dir() {
        let program = program.or_else(|| program_of_file(&absolute, own)).or_else(|| sniff(from, limits));
        let program = program.ok_or_else(|| Error::Unclear { path: path() })?;
        return Ok(lone(from, program, limits));
    }
    let mut roots = Vec::new();
    for program in &programs {
        for place in program.folders() {
            let inner = place.rsplit_once('/').filter(|(outer, _)| absolute.ends_with(outer));
            let folders = [Some(from.join(place)), inner.map(|(_, inner)| from.join(inner))];
            let there = folders.into_iter().flatten().filter(|folder| folder.is_dir());
            roots.extend(there.map(|folder| AgentRoot::named(folder, *program)));
        }
    }
    if roots.is_empty() {
        let by_path = || programs.iter().copied().find(|program| is_folder_of(&absolute, *program));
        let program = program.or_else(by_path).or_else(|| look_inside(from, own, limits));
        roots.push(AgentRoot::named(path(), program.ok_or_else(|| Error::Unclear { path: path() })?));
    }
    let config = AgentsConfig { roots, limits, ..AgentsConfig::default() };
    let catalogue = Definitions::new(&config).load();
    let mut agents: Vec<_> = catalogue.agents.values().chain(&catalogue.shadowed).cloned().collect();
    agents.sort_by(|one, other| one.source.file.cmp(&other.source.file));
    if agents.is_empty() && catalogue.problems.is_empty() {
        return Err(Error::Nothing { path: path() });
    }
    Ok(Found { agents, problems: catalogue.problems.clone() })
}

/// Plans where everything goes below `into`. Writes nothing.
pub(crate) fn plan(found: Found, into: &Path) -> Vec<Step> {
    let mut names: BTreeMap<String, (PathBuf, String)> = BTreeMap::new();
    let mut steps = Vec::new();
    for agent in &found.agents {
        let from = agent.source.file.clone().unwrap_or_default();
        let name = own_name(&agent.name);
        let text = Draft::of(agent).text();
        let to = into.join(format!("{name}.yaml"));
        let mut notes = notes(agent);
        if name != agent.name {
            notes.insert(0, format!("its name `{}` becomes `{name}`", agent.name));
        }
        let outcome = match (names.get(&name), place::compare(&to, &text)) {
            _ if name.is_empty() => {
                Outcome::Bad(format!("its name `{}` has no letter or digit to make a name of", agent.name))
            }
            (Some((by, other)), _) if *other != text => Outcome::Taken { name, by: by.clone() },
            (Some(_), _) => Outcome::Place { name, to, text, change: Change::Same },
            (None, Err(reason)) => Outcome::Bad(reason),
            (None, Ok(change)) => {
                names.insert(name.clone(), (from.clone(), text.clone()));
                Outcome::Place { name, to, text, change }
            }
        };
        steps.push(Step { from, program: Some(agent.program), outcome, notes });
    }
    steps.extend(found.problems.into_iter().map(|problem| Step {
        from: problem.source.file.unwrap_or_default(),
        program: None,
        outcome: Outcome::Bad(problem.message),
        notes: Vec::new(),
    }));
    steps.sort_by(|one, other| one.from.cmp(&other.from));
    steps
}

fn notes(agent: &Agent) -> Vec<String> {
    let fates = agent.fields.iter().filter_map(|field| match &field.fate {
        Fate::Honoured => None,
        Fate::Mapped(to) => Some(format!("`{}`: {to}", field.key)),
        Fate::CannotBe(why) => Some(format!("`{}` is not carried over: {why}", field.key)),
        Fate::Unknown => Some(format!("`{}` is not carried over: nobody knows the key", field.key)),
    });
    agent.warnings.iter().cloned().chain(fates).collect()
}

/// Reads one file alone.
fn lone(file: &Path, program: Program, limits: Limits) -> Found {
    let relative = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let source = Source { root: String::new(), relative, file: Some(file.to_owned()) };
    let read = read_text(file, limits.file)
        .and_then(|text| load::agent(program, false, source.clone(), &text, String::new()));
    match read {
        Ok(agent) => Found { agents: vec![Arc::new(agent)], problems: Vec::new() },
        Err(message) => Found { agents: Vec::new(), problems: vec![Problem { source, message }] },
    }
}

fn is_folder_of(folder: &Path, program: Program) -> bool {
    program.folders().iter().any(|place| folder.ends_with(place))
}

/// Returns the program that a file's path speaks of: the folder it is in, or its name.
fn program_of_file(file: &Path, own: bool) -> Option<Program> {
    let name = file.file_name()?.to_str()?;
    let by_folder = || {
        Program::FOREIGN
            .into_iter()
            .find(|program| file.ancestors().any(|above| is_folder_of(above, *program)))
    };
    match name {
        name if name.ends_with(".agent.md") => Some(Program::Copilot),
        name if formats::stem(Program::Codex, name).is_some() => Some(Program::Codex),
        name if own && formats::stem(Program::Adjutant, name).is_some() => Some(Program::Adjutant),
        _ => by_folder(),
    }
}

/// Tells whose files lie in a folder by the first that says it.
fn look_inside(folder: &Path, own: bool, limits: Limits) -> Option<Program> {
    let entries = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut entries: Vec<PathBuf> = entries.take(limits.files).filter(|entry| entry.is_file()).collect();
    entries.sort();
    entries.iter().find_map(|entry| program_of_file(entry, own).or_else(|| sniff(entry, limits)))
}

/// Tells whose a Markdown file is by what is written in it.
fn sniff(file: &Path, limits: Limits) -> Option<Program> {
    file.extension().filter(|extension| extension.eq_ignore_ascii_case("md"))?;
    let text = read_text(file, limits.file).ok()?;
    let parsed = front_matter::parse(&text).ok()?;
    let has = |key: &str| parsed.values.contains_key(key);
    let model = parsed.values.get("model").and_then(serde_json::Value::as_str).unwrap_or_default();
    if has("kind") || has("timeout_mins") || model.starts_with("gemini") {
        return Some(Program::Gemini);
    }
    if has("mode") || model.contains('/') || (has("permission") && !has("name")) {
        return Some(Program::Opencode);
    }
    if has("target") || has("mcp-servers") {
        return Some(Program::Copilot);
    }
    let theirs = ["permissionMode", "color", "disallowedTools", "maxTurns", "memory", "tools"];
    (has("name") && (theirs.into_iter().any(has) || matches!(model, "sonnet" | "opus" | "haiku" | "inherit")))
        .then_some(Program::Claude)
}
