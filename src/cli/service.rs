//! `adjutant service`: the hub as a service that starts with the user's session.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};

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
    Status,
}

/// Runs one of the commands.
pub(super) fn run(command: &Command, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let setup = setup(&config)?;
    if matches!(command, Command::Install { .. }) {
        reject_control_characters(&setup)?;
    }
    match command {
        Command::Install { dry_run: true, manager, .. } => {
            preview(manager.unwrap_or(Manager::current()), &setup)?;
        }
        Command::Install { force, .. } => install(&config, &setup, *force)?,
        Command::Uninstall => uninstall(&setup)?,
        Command::Status => return status(&setup),
    }
    Ok(ExitCode::SUCCESS)
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

/// Refuses a value that would begin a new line in a file of the manager.
fn reject_control_characters(setup: &Setup) -> Result<(), Failure> {
    let paths = [Some(&setup.program), setup.home.as_ref(), setup.socket.as_ref(), Some(&setup.log)];
    let texts = paths.into_iter().flatten().map(|path| path.to_string_lossy());
    let bad = texts.chain(setup.path.as_deref().map(Into::into)).find(|text| text.contains(char::is_control));
    bad.map_or(Ok(()), |text| {
        Err(Failure::new(format!("a service cannot have a control character in `{}`", text.escape_debug()))
            .hint("rename the folder"))
    })
}

fn files(manager: Manager, setup: &Setup) -> Result<Vec<File>, Failure> {
    manager.files(setup).ok_or_else(|| {
        Failure::new("there is no home folder for the service's files").hint("set HOME to your home folder")
    })
}

fn preview(manager: Manager, setup: &Setup) -> Result<(), Failure> {
    let files = files(manager, setup)?;
    let commands = manager.enable_commands(&files, true);
    if output::is_json() {
        let files: Vec<Value> =
            files.iter().map(|file| json!({"path": file.path, "text": file.text})).collect();
        return output::json(
            &json!({"manager": manager, "dry_run": true, "files": files, "commands": commands}),
        );
    }
    output::note("dry run: `adjutant service install` would write these files, and run these commands");
    for file in &files {
        output::data(&format!("# {}\n{}", file.path.display(), file.text))?;
    }
    commands.iter().try_for_each(|command| output::data(&format!("$ {}", command.join(" "))))
}

/// Writes the files and starts the service. If a step fails, all files are as before.
fn install(config: &Config, setup: &Setup, force: bool) -> Result<(), Failure> {
    let manager = Manager::current();
    let files = files(manager, setup)?;
    if let Some(foreign) = files.iter().find(|file| file.state() == State::Foreign && !force) {
        return Err(Failure::new(format!("{} was not written by Adjutant", foreign.path.display()))
            .hint("--force replaces it; `adjutant service install --dry-run` prints what it would write"));
    }
    let before: Vec<(State, Option<Vec<u8>>)> =
        files.iter().map(|file| (file.state(), fs::read(&file.path).ok())).collect();
    let above = files.iter().flat_map(|file| file.path.ancestors().skip(1));
    let missing: Vec<&Path> = above.filter(|folder| !folder.exists()).collect();
    let enabled = enable(config, manager, &files).map_err(|failure| {
        // The parts enabled before the failing step. Without the manager, this fails as well.
        if before.iter().all(|(state, _)| *state == State::Missing) {
            for command in manager.disable_commands(&files) {
                let _ = output_of(&command);
            }
        }
        for (file, (_, text)) in files.iter().zip(&before) {
            let _ = match text {
                Some(text) => fs::write(&file.path, text),
                None => fs::remove_file(&file.path),
            };
        }
        remove_empty_folders(manager, &files);
        for folder in missing {
            let _ = fs::remove_dir(folder);
        }
        if manager == Manager::Systemd {
            let _ = output_of(&["systemctl", "--user", "daemon-reload"].map(str::to_owned));
        }
        failure.hint("nothing was changed; `adjutant serve --background` starts a hub without a service")
    })?;
    for (file, (state, _)) in files.iter().zip(&before) {
        let verb = if *state == State::Current { "kept" } else { "wrote" };
        output::note(format!("{verb} {}", file.path.display()));
    }
    let line = match &enabled {
        None => {
            format!("the hub runs, and starts with your session; its log: {}", manager.log(setup))
        }
        Some(hub) => format!(
            "a hub that was started by hand still runs ({hub}); the service starts at your next login, or now: \
             `adjutant stop`, then `adjutant service install`"
        ),
    };
    let outcomes = files.iter().zip(&before).map(|(file, (state, _))| {
        json!({"path": file.path, "outcome": if *state == State::Current { "kept" } else { "written" }})
    });
    let files: Vec<Value> = outcomes.collect();
    output::changed(line, &json!({"manager": manager, "started": enabled.is_none(), "files": files}))?;
    output::note(
        "next: `adjutant install` adds the hub to your coding agents; `adjutant service status` shows it",
    );
    Ok(())
}

/// Writes the files and runs the commands of the manager. Returns the hub that prevents it from starting another.
fn enable(config: &Config, manager: Manager, files: &[File]) -> Result<Option<socket::Holder>, Failure> {
    for file in files.iter().filter(|file| file.state() != State::Current) {
        let written = file.path.parent().map_or(Ok(()), fs::create_dir_all);
        written.and_then(|()| fs::write(&file.path, &file.text)).map_err(|error| {
            Failure::new(format!("cannot write {}: {error}", file.path.display()))
                .hint("`adjutant service install --dry-run` prints what it would write")
        })?;
    }
    // A hub that the manager did not start keeps its clients, and would prevent the service from starting.
    let runs = manager_runs(manager)?;
    let other = socket::holder(&config.home).filter(|_| !socket::vacant(&config.home) && !runs);
    for command in manager.enable_commands(files, other.is_none()) {
        run_command(&command)?;
    }
    Ok(other)
}

/// Removes the files and what enables them, also if the manager does not answer.
fn uninstall(setup: &Setup) -> Result<(), Failure> {
    let manager = Manager::current();
    let (foreign, own): (Vec<File>, Vec<File>) =
        files(manager, setup)?.into_iter().partition(|file| file.state() == State::Foreign);
    for file in &foreign {
        output::note(format!("left {}: Adjutant did not write it", file.path.display()));
    }
    let paths = own.iter().map(|file| file.path.clone()).chain(manager.links(&own));
    let paths: Vec<_> = paths.filter(|path| path.symlink_metadata().is_ok()).collect();
    if paths.is_empty() {
        return output::changed("the service is not installed", &json!({"manager": manager, "removed": []}));
    }
    for command in manager.disable_commands(&own) {
        if let Err(failure) = run_command(&command) {
            output::note(format!("{}; its files are removed nevertheless", failure.message));
        }
    }
    for path in &paths {
        // The manager may have removed its links.
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let failure = Failure::new(format!("cannot remove {}: {error}", path.display()));
                return Err(failure.hint("remove it by hand"));
            }
            Ok(()) | Err(_) => {}
        }
    }
    remove_empty_folders(manager, &own);
    if manager == Manager::Systemd {
        let _ = output_of(&["systemctl", "--user", "daemon-reload"].map(str::to_owned));
    }
    let lines: Vec<String> = paths.iter().map(|path| format!("removed {}", path.display())).collect();
    output::changed(lines.join("\n"), &json!({"manager": manager, "removed": paths}))
}

/// Removes the folders of systemd's files that are empty now. launchd's folder belongs to the system.
fn remove_empty_folders(manager: Manager, files: &[File]) {
    if manager != Manager::Systemd {
        return;
    }
    let links = manager.links(files);
    let folder = files.first().and_then(|file| file.path.parent());
    let folders = links.iter().filter_map(|link| link.parent());
    for folder in folders.chain(folder.into_iter().flat_map(Path::ancestors).take(2)) {
        let _ = fs::remove_dir(folder);
    }
}

/// Prints the state of the service. The exit code is 0 if it is installed and runs.
fn status(setup: &Setup) -> Result<ExitCode, Failure> {
    let manager = Manager::current();
    let files = files(manager, setup)?;
    let runs = manager_runs(manager).unwrap_or(false);
    let installed = is_enabled(manager).unwrap_or(false);
    let log = manager.log(setup);
    if output::is_json() {
        let shown = |file: &File| json!({"path": file.path, "state": file.state()});
        output::json(&json!({
            "manager": manager,
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

/// Returns whether the manager starts the service with the session. Fails if the manager does not answer.
pub(super) fn is_enabled(manager: Manager) -> Result<bool, Failure> {
    let command = manager.enabled_command();
    let output = output_of(&command)?;
    // A word on stdout is the answer no.
    if output.code == Some(0) || !output.stdout.is_empty() {
        return Ok(output.code == Some(0));
    }
    Err(failed(&command, &output))
}

/// Runs a command of the manager, which has to succeed.
fn run_command(command: &[String]) -> Result<(), Failure> {
    let output = output_of(command)?;
    if output.code == Some(0) {
        return Ok(());
    }
    Err(failed(command, &output))
}

fn failed(command: &[String], output: &process::CommandOutput) -> Failure {
    let reason = String::from_utf8_lossy(&output.stderr);
    let reason = reason.trim().lines().next_back().unwrap_or("it gave no reason").to_owned();
    let hint =
        "it needs a session of your user: log in at the desktop or over SSH, or see `loginctl enable-linger`";
    Failure::new(format!("`{}` failed: {reason}", command.join(" "))).hint(hint)
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
