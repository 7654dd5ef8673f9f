//! `adjutant service`: the hub as a service that starts with the user's session.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use serde_json::json;

use super::install::launch;
use super::output::{self, Failure};
use super::{Common, one_of};
use adjutant_base::config::{self, Config, Roots, env};
use adjutant_host::process;
use adjutant_host::service::{File, Manager, Setup, State};
use adjutant_terminal::socket;

/// Timeout of a command of the manager; starting waits until the hub serves.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of its output.
const MAX_OUTPUT: u64 = 64 * 1024;

/// Commands of `adjutant service`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Start the hub now, at every login, and when a client connects
    Install {
        /// Print the files and the commands, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Replace files that Adjutant did not write
        #[arg(long)]
        force: bool,
        /// For this manager instead of the one of this system: systemd or launchd
        #[arg(long, value_name = "NAME", requires = "dry_run", hide_possible_values = true, value_parser = one_of(Manager::ALL.iter().map(|manager| (manager.name(), *manager))))]
        manager: Option<Manager>,
    },
    /// Stop the service, and remove it
    Uninstall,
    /// Show whether the service is installed and running, and where its log is
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs one of the commands.
pub(super) fn run(command: &Command, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let setup = setup(&config)?;
    match command {
        Command::Install { dry_run: true, manager, .. } => {
            preview(manager.unwrap_or(Manager::current()), &setup)
        }
        Command::Install { force, .. } => install(&config, &setup, *force),
        Command::Uninstall => uninstall(&setup),
        Command::Status { json } => status(&setup, *json),
    }
}

/// Returns the setup of the service for `config`.
pub(super) fn setup(config: &Config) -> Result<Setup, Failure> {
    let other = !config::is_default_home(&config.home);
    Ok(Setup {
        program: launch(&config.home)?.program.into(),
        home: other.then(|| config.home.clone()),
        socket: config.socket.as_deref().map(socket::place),
        path: env::search_path(),
        log: env::user_home().unwrap_or_default().join("Library/Logs/adjutant.log"),
    })
}

fn files(manager: Manager, setup: &Setup) -> Result<Vec<File>, Failure> {
    manager.files(setup).ok_or_else(|| {
        Failure::new("there is no home folder for the service's files").hint("set HOME to your home folder")
    })
}

fn preview(manager: Manager, setup: &Setup) -> Result<ExitCode, Failure> {
    let files = files(manager, setup)?;
    for file in &files {
        output::data(&format!("# {}\n{}", file.path.display(), file.text))?;
    }
    for command in manager.enable_commands(&files, true) {
        output::data(&format!("$ {}", command.join(" ")))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn install(config: &Config, setup: &Setup, force: bool) -> Result<ExitCode, Failure> {
    let manager = Manager::current();
    let files = files(manager, setup)?;
    if let Some(foreign) = files.iter().find(|file| file.state() == State::Foreign && !force) {
        return Err(Failure::new(format!("{} was not written by Adjutant", foreign.path.display()))
            .hint("--force replaces it; `adjutant service install --dry-run` prints what it would write"));
    }
    for file in &files {
        let changed = file.state() != State::Current;
        if changed {
            write(file)?;
        }
        output::note(format!("{} {}", if changed { "wrote" } else { "kept" }, file.path.display()));
    }
    // A hub that the manager did not start keeps its clients, and would prevent the service from starting.
    let runs = manager_runs(manager)?;
    let other = socket::holder(&config.home).filter(|_| !socket::vacant(&config.home) && !runs);
    for command in manager.enable_commands(&files, other.is_none()) {
        run_command(&command)?;
    }
    match other {
        None => output::note(format!(
            "the hub runs, and starts with your session; its log: {}",
            manager.log(setup)
        )),
        Some(hub) => output::note(format!(
            "a hub that was started by hand still runs ({hub}); the service starts at your next login, or now: \
             `adjutant stop`, then `adjutant service install`"
        )),
    }
    Ok(ExitCode::SUCCESS)
}

fn write(file: &File) -> Result<(), Failure> {
    let written = file.path.parent().map_or(Ok(()), std::fs::create_dir_all);
    written.and_then(|()| std::fs::write(&file.path, &file.text)).map_err(|error| {
        Failure::new(format!("cannot write {}: {error}", file.path.display()))
            .hint("`adjutant service install --dry-run` prints what it would write")
    })
}

fn uninstall(setup: &Setup) -> Result<ExitCode, Failure> {
    let manager = Manager::current();
    let (own, others): (Vec<File>, Vec<File>) = files(manager, setup)?
        .into_iter()
        .filter(|file| file.state() != State::Missing)
        .partition(|file| matches!(file.state(), State::Current | State::Outdated));
    for file in others {
        output::note(format!("left {}: Adjutant did not write it", file.path.display()));
    }
    if own.is_empty() {
        output::note("the service is not installed");
        return Ok(ExitCode::SUCCESS);
    }
    for command in manager.disable_commands(&own) {
        run_command(&command)?;
    }
    for file in &own {
        std::fs::remove_file(&file.path).map_err(|error| {
            Failure::new(format!("cannot remove {}: {error}", file.path.display())).hint("remove it by hand")
        })?;
        output::note(format!("removed {}", file.path.display()));
    }
    if manager == Manager::Systemd {
        run_command(&["systemctl", "--user", "daemon-reload"].map(str::to_owned))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the state of the service. The exit code is 0 if it is installed and runs.
fn status(setup: &Setup, as_json: bool) -> Result<ExitCode, Failure> {
    let manager = Manager::current();
    let files = files(manager, setup)?;
    let runs = manager_runs(manager).unwrap_or(false);
    let installed = files.iter().all(|file| matches!(file.state(), State::Current | State::Outdated));
    let log = manager.log(setup);
    if as_json {
        let shown = |file: &File| json!({"path": file.path, "state": file.state()});
        output::json(&json!({
            "manager": manager.name(),
            "installed": installed,
            "running": runs,
            "files": files.iter().map(shown).collect::<Vec<_>>(),
            "log": log,
        }))?;
    } else {
        let word = |yes: bool, word: &'static str| if yes { word.to_owned() } else { format!("not {word}") };
        output::data(&format!(
            "{}: {}, {}",
            manager.name(),
            word(installed, "installed"),
            word(runs, "running")
        ))?;
        for file in &files {
            output::data(&format!("{:<9}{}", file.state().name(), file.path.display()))?;
        }
        output::data(&format!("{:<9}{log}", "log"))?;
        if !installed {
            output::note("hint: `adjutant service install` installs it");
        }
    }
    Ok(if installed && runs { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns whether the service runs, by the manager's answer.
fn manager_runs(manager: Manager) -> Result<bool, Failure> {
    Ok(output_of(&manager.status_command())?.code == Some(0))
}

/// Runs a command of the manager, which has to succeed.
fn run_command(command: &[String]) -> Result<(), Failure> {
    let output = output_of(command)?;
    if output.code == Some(0) {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    let reason = reason.trim().lines().next_back().unwrap_or("it gave no reason").to_owned();
    let hint =
        "it needs a session of your user: log in at the desktop or over SSH, or see `loginctl enable-linger`";
    Err(Failure::new(format!("`{}` failed: {reason}", command.join(" "))).hint(hint))
}

fn output_of(command: &[String]) -> Result<process::CommandOutput, Failure> {
    let argv: Vec<OsString> = command.iter().map(OsString::from).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let env = env::snapshot();
    let output = process::output(&argv, Path::new("/"), &env, MAX_OUTPUT, COMMAND_TIMEOUT);
    runtime.block_on(output).map_err(|reason| {
        Failure::new(reason)
            .hint("this system has no such manager: start the hub with `adjutant serve --background`")
    })
}
