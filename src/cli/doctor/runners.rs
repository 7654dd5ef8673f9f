//! The coding agents' CLIs that tasks can be handed to: installed, of which version, logged in. None of them is
//! asked for more than its version, and no vendor is called.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::check::Found;
use super::{Looking, Patient};
use crate::agents::runner::environment::Environment;
use crate::agents::runner::probe;
use crate::agents::select::Candidate;
use crate::app::App;
use crate::codex::{self, Installed};
use crate::config::accounts::{self, Account};
use crate::process;
use crate::visible;

/// How long a CLI may take to say its version.
const PATIENCE: Duration = Duration::from_secs(18);
/// Most bytes of what it says.
const ANSWER: u64 = 4096;

/// Returns a check for each runner, by its name.
pub(super) fn all(patient: &Arc<Patient>) -> Vec<(String, Looking)> {
    let candidates = patient.selector.candidates().iter();
    let check = |candidate: &Candidate| {
        let look: Looking = Box::pin(one(patient.clone(), candidate.clone()));
        (candidate.runner.name().to_owned(), look)
    };
    candidates.map(check).collect()
}

/// Looks whether there is any runner at all.
pub(super) fn any(patient: &Patient) -> Found {
    let candidates = patient.selector.candidates();
    let here =
        candidates.iter().filter(|one| probe::find(&one.runner, one.program.as_deref()).is_some()).count();
    match here {
        0 => Found::warn(
            "none is installed, so no task can be delegated",
            "install one of Codex, Copilot, Claude Code, Gemini CLI or opencode, or describe another in config.toml",
        ),
        here => Found::ok(format!("{here} of {} are installed", candidates.len())),
    }
}

async fn one(patient: Arc<Patient>, candidate: Candidate) -> Found {
    let name = candidate.runner.name();
    let Some(program) = probe::find(&candidate.runner, candidate.program.as_deref()) else {
        return match &candidate.program {
            None if name == "codex" => sessions_alone(&patient).await,
            None => Found::skipped("it is not installed"),
            Some(program) => Found::fail(
                format!("{} is no program", program.display()),
                "correct `program` of this runner in config.toml",
            ),
        };
    };
    let version = match version(&program).await {
        Ok(version) => version,
        Err(reason) => {
            let remedy = format!("run `{} --version` and look", program.display());
            return Found::fail(format!("it does not say its version: {reason}"), remedy);
        }
    };
    let mut detail = version;
    if name == "codex" {
        match sessions(&patient).await {
            Ok(Installed { program: other, version, back }) if other != program => {
                detail.extend(["; sessions have ", version.as_str(), ", driven by its ", back.as_str()]);
            }
            Ok(installed) => detail.extend([", driven by its ", installed.back.as_str()]),
            Err(reason) => {
                let remedy = "correct `backend` below [codex] in config.toml, or install another version";
                return Found::fail(format!("{detail}; {reason}"), remedy);
            }
        }
    }
    match accounts::account(name) {
        Account::Variable(variable) => Found::ok(format!("{detail}, logged in by {variable}")),
        Account::File => Found::ok(format!("{detail}, logged in")),
        Account::Unknown => Found::ok(format!("{detail}; whether it is logged in only it knows")),
        Account::Missing(how) => {
            Found::warn(format!("{detail}, not logged in, as far as its files say"), format!("log in: {how}"))
        }
    }
}

async fn version(program: &Path) -> Result<String, String> {
    let argv = [program.as_os_str().to_owned(), "--version".into()];
    let env = Environment::of_this_process().of_check();
    let told = process::short(&argv, Path::new("/"), &env, ANSWER, PATIENCE).await?;
    let said = String::from_utf8_lossy(&told.stdout);
    match (told.code, said.lines().find(|line| !line.trim().is_empty())) {
        // Copilot says it in a sentence, whose stop would stand in the middle of ours.
        (Some(0), Some(line)) => {
            Ok(visible::line(line.trim().trim_end_matches('.')).chars().take(60).collect())
        }
        (Some(0), None) => Err("it said nothing".to_owned()),
        (code, _) => {
            Err(code.map_or_else(|| "a signal ended it".to_owned(), |code| format!("exit code {code}")))
        }
    }
}

/// Looks at the Codex that `config.toml` names for sessions, where there is none on the PATH to hand tasks to.
async fn sessions_alone(patient: &Patient) -> Found {
    match sessions(patient).await {
        Ok(Installed { version, back, .. }) => {
            let back = back.as_str();
            Found::ok(format!(
                "{version} for sessions alone, driven by its {back}; no tasks, it is not on the PATH"
            ))
        }
        Err(codex::Error::Missing { configured: None }) => Found::skipped("it is not installed"),
        Err(reason) => {
            Found::fail(reason.to_string(), "correct `program` and `backend` below [codex] in config.toml")
        }
    }
}

/// Says which Codex the sessions would have, and which of its protocols they would speak.
async fn sessions(patient: &Patient) -> Result<Installed, codex::Error> {
    let selector = crate::agents::Selector::new(&patient.config.runners, None, crate::agents::Form::Own);
    let selector = selector.map_err(|error| codex::Error::Version(error.to_string()))?;
    App::new(patient.config.clone(), selector).codex.installed().await
}
