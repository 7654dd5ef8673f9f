//! Checks of the runners: installed, version, login. A runner is only asked for its version, and no vendor is called. A
//! custom runner whose configuration names no version command is not started.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::check_result::CheckResult;
use super::{DoctorContext, PendingCheck};
use crate::cli::native_runners;
use adjutant_agents::runner::environment::RunnerEnv;
use adjutant_agents::runner::{Runner, probe};
use adjutant_agents::sandbox::Sandbox;
use adjutant_agents::selector::Candidate;
use adjutant_app::App;
use adjutant_base::config::delegation::SandboxMode;
use adjutant_base::config::program_logins;
use adjutant_base::config::program_logins::Account;
use adjutant_base::text::escape_invisible;
use adjutant_codex as codex;
use adjutant_codex::Installed;
use adjutant_host::process;

/// Timeout for the version of a program.
const VERSION_TIMEOUT: Duration = Duration::from_secs(18);
/// Maximum bytes of its output.
const MAX_OUTPUT: u64 = 4096;

/// Returns a check for each runner, by its name.
pub(super) fn all(context: &Arc<DoctorContext>) -> Vec<(String, PendingCheck)> {
    let check = |candidate: &Candidate| {
        let check: PendingCheck = Box::pin(one(context.clone(), candidate.clone()));
        (candidate.runner.name().to_owned(), check)
    };
    context.selector.candidates().iter().map(check).collect()
}

/// Checks that there is at least one runner.
pub(super) fn any(context: &DoctorContext) -> CheckResult {
    let candidates = context.selector.candidates();
    let installed =
        candidates.iter().filter(|one| probe::find(&one.runner, one.program.as_deref()).is_some()).count();
    match installed {
        0 => CheckResult::warn(
            "none is installed, so no task can be delegated",
            "install one of Codex, Copilot, Claude Code, Gemini CLI or opencode, or describe another in config.toml",
        ),
        installed => CheckResult::ok(format!("{installed} of {} are installed", candidates.len())),
    }
}

/// Checks the sandbox of delegated tasks.
pub(super) async fn sandbox(context: Arc<DoctorContext>) -> CheckResult {
    let settings = &context.config.delegation;
    let sandbox = Sandbox::new(settings);
    let remedy = match settings.sandbox {
        SandboxMode::Podman => "install the package podman, with a range of users for you in /etc/subuid",
        SandboxMode::Auto | SandboxMode::None | SandboxMode::Bubblewrap => {
            "install the package bubblewrap, or allow user namespaces; docs/agents.md says what applies without it"
        }
    };
    let (plain, codex) = match settings.sandbox {
        SandboxMode::None => return CheckResult::ok("none is used: `sandbox` is `none` below [tasks]"),
        SandboxMode::Auto | SandboxMode::Bubblewrap | SandboxMode::Podman => {
            (sandbox.program(&Runner::Copilot).await, sandbox.program(&Runner::Codex).await)
        }
    };
    match (plain, codex) {
        (Ok(program), Ok(_)) => {
            CheckResult::ok(format!("the kernel enforces the levels by {}", program.display()))
        }
        (Err(reason), _) if sandbox.is_required() => CheckResult::fail(reason, remedy),
        (Err(reason), _) => CheckResult::warn(format!("{reason}, so the runners enforce the levels"), remedy),
        (Ok(_), Err(reason)) if sandbox.is_required() => CheckResult::warn(
            format!("Codex is refused: {reason}"),
            "use another runner, or `sandbox = \"auto\"`",
        ),
        (Ok(program), Err(_)) => CheckResult::ok(format!(
            "the kernel enforces the levels by {}, those of Codex by its own sandbox",
            program.display()
        )),
    }
}

async fn one(context: Arc<DoctorContext>, candidate: Candidate) -> CheckResult {
    let name = candidate.runner.name();
    let Some(program) = probe::find(&candidate.runner, candidate.program.as_deref()) else {
        return match &candidate.program {
            None if name == "codex" => sessions_alone(&context).await,
            None => CheckResult::skipped("it is not installed"),
            Some(program) => CheckResult::fail(
                format!("{} is not a program", program.display()),
                "correct `program` of this runner in config.toml",
            ),
        };
    };
    let Some(argv) = candidate.runner.version_command(&program) else {
        return CheckResult::ok(
            "installed; without `version_command` in config.toml its version is not asked for",
        );
    };
    let version = match version(&argv).await {
        Ok(version) => version,
        Err(reason) => {
            let words: Vec<_> = argv.iter().map(|word| word.to_string_lossy()).collect();
            let remedy = format!("run `{}` in a terminal", words.join(" "));
            return CheckResult::fail(format!("its version is unknown: {reason}"), remedy);
        }
    };
    let mut detail = version;
    if name == "codex" {
        match sessions(&context).await {
            Ok(Installed { program: other, version, backend }) if other != program => {
                detail.extend(["; sessions have ", version.as_str(), ", driven by its ", backend.name()]);
            }
            Ok(installed) => detail.extend([", driven by its ", installed.backend.name()]),
            Err(reason) => {
                let remedy = "correct `backend` below [codex] in config.toml, or install another version";
                return CheckResult::fail(format!("{detail}; {reason}"), remedy);
            }
        }
    }
    match program_logins::account(name) {
        Account::Variable(variable) => CheckResult::ok(format!("{detail}, logged in by {variable}")),
        Account::File => CheckResult::ok(format!("{detail}, logged in")),
        Account::Unknown => CheckResult::ok(format!("{detail}; its login cannot be checked")),
        Account::Missing(how) => {
            CheckResult::warn(format!("{detail}, not logged in, by its files"), format!("log in: {how}"))
        }
    }
}

async fn version(argv: &[OsString]) -> Result<String, String> {
    let env = RunnerEnv::capture().for_check();
    let output = process::output(argv, Path::new("/"), &env, MAX_OUTPUT, VERSION_TIMEOUT).await?;
    let text = String::from_utf8_lossy(&output.stdout);
    match (output.code, text.lines().find(|line| !line.trim().is_empty())) {
        // Copilot prints a sentence, which ends with a full stop.
        (Some(0), Some(line)) => {
            Ok(escape_invisible::escape_line(line.trim().trim_end_matches('.')).chars().take(60).collect())
        }
        (Some(0), None) => Err("it printed nothing".to_owned()),
        (code, _) => {
            Err(code.map_or_else(|| "a signal ended it".to_owned(), |code| format!("exit code {code}")))
        }
    }
}

/// Checks the Codex that `config.toml` names for sessions, if there is none on the PATH for tasks.
async fn sessions_alone(context: &DoctorContext) -> CheckResult {
    match sessions(context).await {
        Ok(Installed { version, backend, .. }) => {
            let backend = backend.name();
            CheckResult::ok(format!(
                "{version} for sessions only, driven by its {backend}; no tasks, because it is not on the PATH"
            ))
        }
        Err(codex::Error::Missing { configured: None }) => CheckResult::skipped("it is not installed"),
        Err(reason) => CheckResult::fail(
            reason.to_string(),
            "correct `program` and `backend` below [codex] in config.toml",
        ),
    }
}

/// Detects the Codex of the sessions, and the protocol that they speak.
async fn sessions(context: &DoctorContext) -> Result<Installed, codex::Error> {
    let runners = native_runners(&context.config.runners);
    let runners = runners.map_err(|failure| codex::Error::Version(failure.message))?;
    App::new(context.config.clone(), runners).codex.installed().await
}
