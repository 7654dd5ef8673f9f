//! Lint: what a person should know about agent definitions before somebody delegates to one.
//!
//! Every agent is told about key by key, and runner by runner; what may be amiss is a finding, by a rule with an id
//! that never changes its meaning.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::definition::{Agent, Fate, Permission, Program};
use super::formats::KEYS;
use super::import::Found;
use super::runner::environment::Environment;
use super::runner::{Form, Request};
use super::select::Candidate;
use crate::folders::{Problem, Severity, read_text};
use crate::names::{near_names, own_name};

/// A rule: its id, its name, and how much it matters.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) severity: Severity,
}

const fn rule(id: &'static str, name: &'static str, severity: Severity) -> Rule {
    Rule { id, name, severity }
}

static UNKNOWN_KEY: Rule = rule("A101", "unknown-key", Severity::Warning);
static NAME: Rule = rule("A102", "name", Severity::Warning);
static SHADOWED: Rule = rule("A103", "shadowed", Severity::Note);
static NOT_SERVED: Rule = rule("A104", "not-served", Severity::Error);
static FAULT: Rule = rule("A105", "fault", Severity::Warning);
static NO_RUNNER: Rule = rule("A106", "no-runner", Severity::Warning);
static UNTRUSTED: Rule = rule("A201", "untrusted", Severity::Note);
static FULL: Rule = rule("A202", "full-permission", Severity::Warning);

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) rule: &'static Rule,
    pub(crate) file: PathBuf,
    /// From 1.
    pub(crate) line: usize,
    /// A lower-case sentence fragment that names the fault.
    pub(crate) message: String,
    /// What to do about it, as a sentence fragment.
    pub(crate) hint: Option<String>,
}

/// An agent with what each runner makes of it.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) agent: Arc<Agent>,
    /// By the runner's name: why it cannot run the agent, if it cannot.
    pub(crate) runners: Vec<(String, Option<String>)>,
}

/// What lint looked at and found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// By file; without those that are compiled in.
    pub(crate) agents: Vec<Told>,
    /// By file and line.
    pub(crate) findings: Vec<Finding>,
    /// How many files were looked at.
    pub(crate) files: usize,
}

impl Report {
    /// Returns how many findings have a severity.
    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.rule.severity == severity).count()
    }
}

/// Lints what was found. `hidden` are agents that another of the same name hides, each with the winner's root;
/// `untrusted` tells which await the person's trust. `workdir` is where they would work, `most` how
/// many bytes of a file are read.
pub(crate) fn lint(
    found: Found,
    hidden: &[(Arc<Agent>, String)],
    untrusted: impl Fn(&Agent) -> bool,
    candidates: &[Candidate],
    workdir: &Path,
    most: usize,
) -> Report {
    let mut report = Report { files: found.agents.len(), ..Report::default() };
    for agent in found.agents {
        let Some(file) = agent.source.file.clone() else {
            report.files -= 1;
            continue;
        };
        let runners = runners(&agent, candidates, workdir);
        let text = read_text(&file, most).unwrap_or_default();
        let mut add = |rule: &'static Rule, key: &str, message: String, hint: Option<String>| {
            let line = line_of(&text, key);
            report.findings.push(Finding { rule, file: file.clone(), line, message, hint });
        };
        for field in agent.fields.iter().filter(|field| field.fate == Fate::Unknown) {
            let near =
                near_names(&field.key, KEYS.into_iter().filter(|_| agent.program == Program::Adjutant));
            let hint = near.first().map(|near| format!("did you mean `{near}`?"));
            add(&UNKNOWN_KEY, &field.key, format!("unknown key `{}`", field.key), hint);
        }
        for warning in &agent.warnings {
            add(&FAULT, "", warning.clone(), None);
        }
        let better = own_name(&agent.name);
        if better != agent.name {
            let hint = (!better.is_empty()).then(|| format!("`{better}` would do"));
            let message = format!(
                "the name `{}` is hard to type: use lower-case letters, digits, `-` and `_`",
                agent.name
            );
            add(&NAME, "", message, hint);
        }
        if agent.permission == Permission::Full {
            let message = "it may do whatever the person could do".to_owned();
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
            add(&SHADOWED, "", message, Some("rename one of the two".to_owned()));
        }
        report.agents.push(Told { agent, runners });
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

/// Asks every runner for the command line of this agent, as a delegation would.
fn runners(agent: &Agent, candidates: &[Candidate], workdir: &Path) -> Vec<(String, Option<String>)> {
    let environment = Environment::default();
    let asked = candidates.iter().map(|candidate| {
        let runner = &candidate.runner;
        let model = agent.model.as_deref();
        let others = model.filter(|model| {
            !candidate.models.is_empty() && !candidate.models.iter().any(|known| known == model)
        });
        let refusal = if let Some(model) = others {
            Some(format!("{} is not configured for the model `{model}`", runner.name()))
        } else {
            let request = Request {
                program: Path::new(runner.program()),
                prompt: "task",
                workdir,
                scratch: workdir,
                permission: agent.permission,
                model,
                schema: None,
                resume: None,
                form: Form::Own,
                environment: &environment,
                env: &BTreeMap::new(),
            };
            runner.prepare(&request).err().map(|refused| refused.to_string())
        };
        (runner.name().to_owned(), refusal)
    });
    let mut asked: Vec<_> = asked.collect();
    // The agent's own word is tried first, the others where it cannot run.
    asked.sort_by_key(|(name, _)| agent.runner.as_ref() != Some(name));
    asked
}

/// Returns the line that a key begins in, from 1; the first line where there is none.
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
