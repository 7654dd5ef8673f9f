//! Import of other programs' definitions: finds them below a path, and plans the file that each becomes.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::definition::{Agent, FieldSupport, Program};
use super::formats;
use super::loader;
use super::registry::Registry;
use adjutant_base::config::agents::{AgentRoot, AgentsConfig};
use adjutant_base::config::folders::Limits;
use adjutant_base::text::front_matter;
use adjutant_base::text::suggest::to_valid_name;
use adjutant_host::file_catalogue::import_plan::{GivenNames, Outcome, PlannedImport};
use adjutant_host::file_catalogue::{
    Problem, Source, count_passed_over, leaves, matching_folders, read_text, subfolders,
};

/// The folders of a repository that publishes agents, below its root; `*` is any folder.
const PUBLISHED: [&str; 4] = ["agents", "categories", "plugins/*/agents", "*/components/agents"];

/// Why nothing can be imported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{} cannot be read: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("{} holds no agents", path.display())]
    Nothing { path: PathBuf },
    #[error("cannot tell which program the agents in {} are for", path.display())]
    Unclear { path: PathBuf },
}

/// The definitions at a path.
#[derive(Debug, Default)]
pub struct Definitions {
    /// By file.
    pub agents: Vec<Arc<Agent>>,
    /// Files that cannot be read as definitions.
    pub problems: Vec<Problem>,
    /// How many other files and folders were passed over, by the reason.
    pub passed_over: BTreeMap<&'static str, usize>,
}

/// Reads what lies at `from`: a file, a folder of definitions, or a workspace or home that has such folders. Without
/// a program, the path decides, and then the content. Folders of Adjutant are read too when `own`.
pub fn find(from: &Path, program: Option<Program>, own: bool, limits: Limits) -> Result<Definitions, Error> {
    let path = || from.to_owned();
    let kind =
        fs::metadata(from).map_err(|error| Error::Unreadable { path: path(), reason: error.to_string() })?;
    let programs: Vec<Program> = match program {
        Some(program) => vec![program],
        None => Program::FOREIGN.into_iter().chain(own.then_some(Program::Adjutant)).collect(),
    };
    let absolute = std::path::absolute(from).unwrap_or_else(|_| from.to_owned());
    if !kind.is_dir() {
        let program =
            program.or_else(|| program_of_file(&absolute, own)).or_else(|| program_of_text(from, limits));
        let program = program.ok_or_else(|| Error::Unclear { path: path() })?;
        return Ok(read_file(from, program, limits));
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
    let published = PUBLISHED.iter().flat_map(|pattern| {
        let folders = matching_folders(from, pattern).into_iter();
        folders.map(|folder| (folder, pattern.starts_with("plugins/").then_some(Program::Claude)))
    });
    for (folder, default) in published {
        let folders = std::iter::once(folder.clone()).chain(subfolders(&folder));
        let mut entries = folders.flat_map(|folder| files(&folder, limits));
        let shown = entries.find_map(|file| {
            // Plugins are those of Claude Code, and its agents need not show that.
            let program =
                program_of_file(&file, own).or_else(|| program_of_text(&file, limits)).or(default)?;
            let text = read_text(&file, limits.file).ok()?;
            formats::read(program, &text).is_ok().then_some(program)
        });
        if let Some(shown) = shown.filter(|shown| programs.contains(shown))
            && roots.iter().all(|known: &AgentRoot| known.root.folder.as_ref() != Some(&folder))
        {
            roots.push(AgentRoot::named(folder, shown));
        }
    }
    if roots.is_empty() {
        let by_path = || programs.iter().copied().find(|program| is_folder_of(&absolute, *program));
        let program = program.or_else(by_path).or_else(|| program_of_folder(from, own, limits));
        roots.push(AgentRoot::named(path(), program.ok_or_else(|| Error::Unclear { path: path() })?));
    }
    let config = AgentsConfig {
        roots,
        max_file_bytes: limits.file,
        max_files: limits.files,
        ..AgentsConfig::default()
    };
    let catalogue = Registry::new(&config).files.load();
    let mut agents: Vec<_> = catalogue.agents.values().chain(&catalogue.overridden).cloned().collect();
    agents.sort_by(|one, other| one.source.file.cmp(&other.source.file));
    if agents.is_empty() && catalogue.problems.is_empty() {
        return Err(Error::Nothing { path: path() });
    }
    let is_unreadable = |path: &PathBuf| path.is_dir() && fs::read_dir(path).is_err();
    let mut problems = catalogue.problems.clone();
    problems.retain(|problem| !problem.source.file.as_ref().is_some_and(is_unreadable));
    let sources = agents.iter().map(|agent| &agent.source).chain(problems.iter().map(|found| &found.source));
    let read = sources.filter_map(|source| fs::canonicalize(source.file.as_ref()?).ok());
    let read: HashSet<PathBuf> = read.collect();
    let mut passed_over = BTreeMap::new();
    for folder in config.roots.iter().filter_map(|root| root.root.folder.as_ref()) {
        count_passed_over(folder, limits.depth, &read, &mut passed_over);
    }
    Ok(Definitions { agents, problems, passed_over })
}

/// Plans the files below `into`. Writes nothing.
pub fn plan(found: Definitions, into: &Path) -> Vec<PlannedImport> {
    let mut names = GivenNames::default();
    let mut planned = Vec::new();
    for agent in &found.agents {
        let from = agent.source.file.clone().unwrap_or_default();
        let name = to_valid_name(&agent.name);
        let text = formats::write(agent);
        let to = into.join(format!("{name}.yaml"));
        let mut notes = notes(agent);
        if name != agent.name {
            notes.insert(0, format!("its name `{}` becomes `{name}`", agent.name));
        }
        let outcome = if name.is_empty() {
            let reason = format!("its name `{}` has no letter or digit to make a name of", agent.name);
            Outcome::Rejected(reason)
        } else {
            names.plan(name, &from, to, text)
        };
        planned.push(PlannedImport { from, format: Some(agent.program.name()), outcome, notes });
    }
    planned.extend(found.problems.into_iter().map(|problem| PlannedImport {
        from: problem.source.file.unwrap_or_default(),
        format: None,
        outcome: Outcome::Rejected(problem.message),
        notes: Vec::new(),
    }));
    planned.sort_by(|one, other| one.from.cmp(&other.from));
    planned
}

fn notes(agent: &Agent) -> Vec<String> {
    let fields = agent.fields.iter().filter_map(|field| match &field.support {
        FieldSupport::Supported => None,
        FieldSupport::Mapped(to) => Some(format!("`{}`: {to}", field.key)),
        FieldSupport::Unsupported(why) => Some(format!("`{}` is not carried over: {why}", field.key)),
        FieldSupport::Unknown => Some(format!("`{}` is not imported: the key is unknown", field.key)),
    });
    agent.warnings.iter().cloned().chain(fields).collect()
}

/// Reads a single file.
fn read_file(file: &Path, program: Program, limits: Limits) -> Definitions {
    let relative = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let source = Source { root: String::new(), relative, file: Some(file.to_owned()) };
    let read = read_text(file, limits.file)
        .and_then(|text| loader::agent(program, false, source.clone(), &text, String::new()));
    match read {
        Ok(agent) => Definitions { agents: vec![Arc::new(agent)], ..Definitions::default() },
        Err(message) => Definitions { problems: vec![Problem { source, message }], ..Definitions::default() },
    }
}

fn is_folder_of(folder: &Path, program: Program) -> bool {
    program.folders().iter().any(|place| folder.ends_with(place))
}

/// Returns the program that a file's folder or name belongs to.
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

/// Returns the program of the files in a folder, by the first file that shows it.
fn program_of_folder(folder: &Path, own: bool, limits: Limits) -> Option<Program> {
    let files = files(folder, limits);
    files.iter().find_map(|file| program_of_file(file, own).or_else(|| program_of_text(file, limits)))
}

/// Returns the files in a folder, by name.
fn files(folder: &Path, limits: Limits) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> =
        entries.take(limits.files).filter(|entry| entry.is_file() && !leaves(folder, entry)).collect();
    files.sort();
    files
}

/// Returns the program of a Markdown file by its keys.
fn program_of_text(file: &Path, limits: Limits) -> Option<Program> {
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
