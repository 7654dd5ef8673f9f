//! Lint of agent definitions.
//!
//! Every agent gets a report on each key and each runner. A possible fault is a finding of a rule, whose id never
//! changes its meaning.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::definition::{Agent, FieldSupport, Permission, Program};
use super::formats::KEYS;
use super::import::Definitions;
use super::runner::environment::RunnerEnv;
use super::runner::{AttemptSpec, CommandVariant};
use super::selector::Candidate;
use adjutant_base::text::suggest::{near_names, to_valid_name};
use adjutant_host::file_catalogue::{Problem, Severity, read_text};

/// A rule with its id, its name and its severity.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    pub id: &'static str,
    pub name: &'static str,
    pub severity: Severity,
}

const fn rule(id: &'static str, name: &'static str, severity: Severity) -> Rule {
    Rule { id, name, severity }
}

static UNKNOWN_KEY: Rule = rule("A101", "unknown-key", Severity::Warning);
static NAME: Rule = rule("A102", "name", Severity::Warning);
static OVERRIDDEN: Rule = rule("A103", "overridden", Severity::Note);
static NOT_SERVED: Rule = rule("A104", "not-served", Severity::Error);
static FAULT: Rule = rule("A105", "fault", Severity::Warning);
static NO_RUNNER: Rule = rule("A106", "no-runner", Severity::Warning);
static UNTRUSTED: Rule = rule("A201", "untrusted", Severity::Note);
static FULL: Rule = rule("A202", "full-permission", Severity::Warning);

/// One possible fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static Rule,
    pub file: PathBuf,
    /// From 1.
    pub line: usize,
    /// A lower-case sentence fragment that names the fault.
    pub message: String,
    /// A remedy, as a sentence fragment.
    pub hint: Option<String>,
}

/// An agent with a report on each runner.
#[derive(Debug)]
pub struct AgentReport {
    pub agent: Arc<Agent>,
    /// By the runner's name: why it cannot run the agent, if it cannot.
    pub runners: Vec<(String, Option<String>)>,
}

/// The result of a lint.
#[derive(Debug, Default)]
pub struct Report {
    /// By file; without the bundled ones.
    pub agents: Vec<AgentReport>,
    /// By file and line.
    pub findings: Vec<Finding>,
    /// The number of files.
    pub files: usize,
}

impl Report {
    /// Returns how many findings have a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.rule.severity == severity).count()
    }
}

/// Lints the agents of `found`. `hidden` are agents that another of the same name overrides, each with the winner's root;
/// `untrusted` returns whether an agent lacks the user's trust. `workdir` is the folder that they would work in,
/// `max_bytes` the most bytes that are read of a file.
pub fn lint(
    found: Definitions,
    hidden: &[(Arc<Agent>, String)],
    untrusted: impl Fn(&Agent) -> bool,
    candidates: &[Candidate],
    workdir: &Path,
    max_bytes: usize,
) -> Report {
    let mut report = Report { files: found.agents.len(), ..Report::default() };
    for agent in found.agents {
        let Some(file) = agent.source.file.clone() else {
            report.files -= 1;
            continue;
        };
        let runners = runners(&agent, candidates, workdir);
        let text = read_text(&file, max_bytes).unwrap_or_default();
        let mut add = |rule: &'static Rule, key: &str, message: String, hint: Option<String>| {
            let line = line_of(&text, key);
            report.findings.push(Finding { rule, file: file.clone(), line, message, hint });
        };
        for field in agent.fields.iter().filter(|field| field.support == FieldSupport::Unknown) {
            let near =
                near_names(&field.key, KEYS.into_iter().filter(|_| agent.program == Program::Adjutant));
            let hint = near.first().map(|near| format!("did you mean `{near}`?"));
            add(&UNKNOWN_KEY, &field.key, format!("unknown key `{}`", field.key), hint);
        }
        for warning in &agent.warnings {
            add(&FAULT, "", warning.clone(), None);
        }
        let better = to_valid_name(&agent.name);
        if better != agent.name {
            let hint = (!better.is_empty()).then(|| format!("use `{better}`"));
            let message = format!(
                "the name `{}` is hard to type: use lower-case letters, digits, `-` and `_`",
                agent.name
            );
            add(&NAME, "", message, hint);
        }
        if agent.permission == Permission::Full {
            let message = "it may do whatever the user could do".to_owned();
            let hint = "`workspace-write` is enough to change files of the project".to_owned();
            add(&FULL, "permission", message, Some(hint));
        }
        let refusal = |name: &String| runners.iter().find(|(runner, _)| runner == name);
        match &agent.runner {
            Some(name) => match refusal(name) {
                Some((_, None)) => {}
                Some((_, Some(reason))) => add(&NO_RUNNER, "runner", reason.clone(), None),
                None => {
                    let near = near_names(name, runners.iter().map(|(runner, _)| runner.as_str()));
                    let hint = near.first().map(|near| format!("did you mean `{near}`?"));
                    add(&NO_RUNNER, "runner", format!("there is no runner `{name}`"), hint);
                }
            },
            None if runners.iter().all(|(_, refusal)| refusal.is_some()) => {
                add(&NO_RUNNER, "permission", "no runner can run it".to_owned(), None);
            }
            None => {}
        }
        if untrusted(&agent) {
            let hint = format!("read it, then `adjutant agents trust {}`", agent.name);
            add(&UNTRUSTED, "", "it is not run before you trust it".to_owned(), Some(hint));
        }
        if let Some((_, by)) = hidden.iter().find(|(other, _)| Arc::ptr_eq(other, &agent)) {
            let message = format!("agent `{}` is never used: the one of {by} wins", agent.name);
            add(&OVERRIDDEN, "", message, Some("rename one of the two".to_owned()));
        }
        report.agents.push(AgentReport { agent, runners });
    }
    for Problem { source, message } in found.problems {
        report.files += 1;
        let file = source.file.unwrap_or_default();
        report.findings.push(Finding { rule: &NOT_SERVED, file, line: 1, message, hint: None });
    }
    report.agents.sort_by(|one, other| one.agent.source.file.cmp(&other.agent.source.file));
    report.findings.sort_by(|one, other| {
        (&one.file, one.line, one.rule.id).cmp(&(&other.file, other.line, other.rule.id))
    });
    report
}

/// Prepares the command line of every runner for this agent, as a delegation would.
fn runners(agent: &Agent, candidates: &[Candidate], workdir: &Path) -> Vec<(String, Option<String>)> {
    let environment = RunnerEnv::default();
    let asked = candidates.iter().map(|candidate| {
        let runner = &candidate.runner;
        let model = agent.model.as_deref();
        let refusal = if let Some(model) = model.filter(|_| !candidate.supports(model)) {
            Some(format!("{} is not configured for the model `{model}`", runner.name()))
        } else {
            let spec = AttemptSpec {
                program: Path::new(runner.program()),
                prompt: "task",
                workdir,
                scratch: workdir,
                permission: agent.permission,
                model,
                schema: None,
                session: None,
                variant: CommandVariant::Native,
                environment: &environment,
                env: &BTreeMap::new(),
            };
            runner.prepare(&spec).err().map(|refused| refused.to_string())
        };
        (runner.name().to_owned(), refusal)
    });
    let mut asked: Vec<_> = asked.collect();
    // The runner that the agent names comes first.
    asked.sort_by_key(|(name, _)| agent.runner.as_ref() != Some(name));
    asked
}

/// Returns the number of the line that a key begins in, from 1; 1 if the key is missing.
fn line_of(text: &str, key: &str) -> usize {
    let is_key = |line: &str| {
        let rest = line.trim_start_matches(['"', '\'', '[']).strip_prefix(key);
        rest.is_some_and(|rest| {
            rest.trim_start_matches(['"', '\'', ' ', ']']).starts_with([':', '=', '.', '\n', '\r'])
        })
    };
    let at = text.split_inclusive('\n').position(is_key).filter(|_| !key.is_empty());
    at.map_or(1, |line| line + 1)
}
