//! `adjutant install` and `adjutant uninstall`: add the hub to the configuration of clients, and remove it.

mod diff;

use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};

use super::Common;
use super::output::{self, Failure};
use crate::install;
use crate::install::{Backups, Change, Client, DesiredState, Kind, Launch, deep_link};
use adjutant_base::config::client_dirs::ClientFolders;
use adjutant_base::config::{self, Roots, env};
use adjutant_base::text::escape_invisible::escape;
use adjutant_base::text::timefmt;

/// Arguments of `adjutant install`.
#[derive(Debug, Args)]
pub(super) struct InstallArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    handling: Handling,
    /// Do not install the hooks that expand `:command` when a prompt is sent and that decide permissions
    #[arg(long)]
    no_hook: bool,
    /// Replace another server called `adjutant`
    #[arg(long)]
    force: bool,
    /// Print links that install with one click
    #[arg(long, conflicts_with_all = ["dry_run", "force", "no_hook"])]
    link: bool,
}

/// Arguments of `adjutant uninstall`.
#[derive(Debug, Args)]
pub(super) struct UninstallArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    handling: Handling,
}

#[derive(Debug, Args)]
struct Which {
    /// Clients to change [default: all that are found]
    #[arg(value_name = "CLIENT", value_parser = client())]
    clients: Vec<Client>,
    /// All clients that are found
    #[arg(long, conflicts_with = "clients")]
    all: bool,
}

#[derive(Clone, Copy, Debug, Args)]
struct Handling {
    /// Show what would change and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before writing
    #[arg(long, short)]
    yes: bool,
}

fn client() -> impl TypedValueParser<Value = Client> {
    let named = |client: &Client| PossibleValue::new(client.name()).help(client.title());
    PossibleValuesParser::new(Client::ALL.iter().map(named))
        .try_map(|name| Client::from_name(&name).ok_or("no such client"))
}

/// Shows the changes of the entry, and writes them.
pub(super) fn run(args: &InstallArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let launch = launch(&config.home)?;
    let folders = folders()?;
    if args.link {
        return links(&args.which, &launch);
    }
    let desired = DesiredState::Installed { launch: &launch, hook: !args.no_hook, force: args.force };
    let clients = args.which.of(&folders);
    if clients.is_empty() {
        let names: Vec<_> = Client::ALL.iter().map(|client| client.name()).collect();
        return Err(Failure::new("none of the supported clients was found")
            .hint(format!("name the client to install for: {}", names.join(", "))));
    }
    all(&clients, &folders, &config.home, desired, args.handling)
}

/// Removes the entry.
pub(super) fn remove(args: &UninstallArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let folders = folders()?;
    let clients = args.which.of(&folders);
    if clients.is_empty() {
        output::note("none of the supported clients was found, so there is nothing to remove");
    }
    all(&clients, &folders, &config.home, DesiredState::Removed, args.handling)
}

impl Which {
    fn of(&self, folders: &ClientFolders) -> Vec<Client> {
        if !self.clients.is_empty() {
            return self.clients.clone();
        }
        Client::ALL.iter().copied().filter(|client| client.is_installed(folders)).collect()
    }
}

/// Outcome of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    Changed,
    /// The user did not consent.
    Declined,
    Same,
    Failed,
}

/// Changes all clients. A failure of one does not affect the others.
fn all(
    clients: &[Client],
    folders: &ClientFolders,
    home: &Path,
    desired: DesiredState<'_>,
    handling: Handling,
) -> Result<ExitCode, Failure> {
    let backups = Backups::of(home);
    let (mut entries, mut done) = (Vec::new(), Vec::new());
    for client in clients {
        match one(*client, folders, &backups, desired, handling) {
            Ok((outcome, entry)) => {
                done.push((*client, outcome));
                entries.push(entry);
            }
            Err(failure) => {
                done.push((*client, Done::Failed));
                let entry =
                    json!({"client": client.name(), "error": failure.message, "hints": failure.hints});
                entries.push(entry);
                if !output::is_json() {
                    failure.report();
                }
            }
        }
    }
    let installs = matches!(desired, DesiredState::Installed { .. });
    if output::is_json() {
        let clients = output::list(entries, "client");
        output::json(&output::with(json!({"dry_run": handling.dry_run}), clients))?;
    } else if !clients.is_empty() {
        output::note(summary(&done, installs, handling.dry_run));
    }
    if installs && !handling.dry_run && done.iter().any(|(_, outcome)| *outcome == Done::Changed) {
        output::note(
            "next: run `adjutant passphrase`, restart your agents, and write `:research databases` to one; `adjutant doctor` checks the connection",
        );
    }
    Ok(ExitCode::from(u8::from(done.iter().any(|(_, outcome)| *outcome == Done::Failed))))
}

/// Describes the outcomes in one sentence.
fn summary(done: &[(Client, Done)], installs: bool, dry_run: bool) -> String {
    let changed = if installs { "added to" } else { "removed from" };
    let changed = if dry_run { format!("would be {changed}") } else { changed.to_owned() };
    let parts = [
        (changed.as_str(), Done::Changed),
        ("unchanged in", Done::Same),
        ("not written to", Done::Declined),
        ("failed for", Done::Failed),
    ];
    let parts = parts.into_iter().filter_map(|(words, outcome)| {
        let clients = done.iter().filter(|(_, found)| *found == outcome);
        let clients: Vec<_> = clients.map(|(client, _)| client.title()).collect();
        (!clients.is_empty()).then(|| format!("{words} {}", clients.join(", ")))
    });
    let dry = if dry_run { "dry run, nothing was written: " } else { "" };
    format!("{dry}{}", parts.collect::<Vec<_>>().join("; "))
}

fn one(
    client: Client,
    folders: &ClientFolders,
    backups: &Backups,
    desired: DesiredState<'_>,
    handling: Handling,
) -> Result<(Done, Value), Failure> {
    let changes = install::plan(client, folders, backups, desired)?;
    let asks = !handling.yes && output::can_confirm();
    if !output::is_json() {
        let planned = handling.dry_run || asks;
        changes.iter().try_for_each(|change| diff::change(client, change, planned))?;
    }
    let differs = changes.iter().any(|change| change.kind() != Kind::Unchanged);
    let write = differs && !handling.dry_run && (!asks || output::confirmed("Write this? [Y/n] ", true)?);
    let mut copies = Vec::new();
    for change in &changes {
        copies.push(if write { change.write(backups, desired, &stamp())? } else { None });
    }
    if write {
        for copy in copies.iter().flatten() {
            output::note(format!("kept the previous file as {}", escape(&env::abbreviate(copy))));
        }
        if matches!(desired, DesiredState::Installed { .. }) {
            output::note(format!("{}: {}", client.title(), install::advice(client)));
        }
    }
    let files: Vec<_> =
        changes.iter().zip(&copies).map(|(change, copy)| entry(change, copy.as_deref(), write)).collect();
    let done = match (differs, write || handling.dry_run) {
        (false, _) => Done::Same,
        (true, true) => Done::Changed,
        (true, false) => Done::Declined,
    };
    Ok((done, json!({"client": client.name(), "files": files})))
}

fn entry(change: &Change, copy: Option<&Path>, written: bool) -> Value {
    json!({
        "file": change.path,
        "link_to": change.linked_to(),
        "outcome": change.kind().name(),
        "written": written && change.kind() != Kind::Unchanged,
        "diff": diff::diff(change),
        "backup": copy,
    })
}

/// Prints the links of the editors that support them.
fn links(which: &Which, launch: &Launch) -> Result<ExitCode, Failure> {
    let clients = if which.clients.is_empty() { Client::ALL } else { &which.clients };
    let links: Vec<_> =
        clients.iter().filter_map(|client| Some((*client, deep_link::link(*client, launch)?))).collect();
    if links.is_empty() {
        return Err(Failure::usage("only Cursor and VS Code support links that install")
            .hint("leave out --link: `adjutant install CLIENT` writes the file itself"));
    }
    if output::is_json() {
        let links = links.iter().map(|(client, link)| json!({"client": client.name(), "link": link}));
        output::json(&output::list(links.collect(), "client"))?;
    } else {
        links.iter().try_for_each(|(_, link)| output::data(link))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the command that clients start: the program on the `PATH` if it is this one, because updates keep that path;
/// else the path of this program.
pub(super) fn launch(home: &Path) -> Result<Launch, Failure> {
    let own = std::env::current_exe()?;
    let is_own =
        |found: &Path| matches!((found.canonicalize(), own.canonicalize()), (Ok(a), Ok(b)) if a == b);
    let found = env::find_in_path("adjutant").filter(|found| found.is_absolute() && is_own(found));
    let text = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Failure::new(format!("{} is not UTF-8, which configuration files require", path.display()))
                .hint("move it to a path that is UTF-8")
        })
    };
    let home = if config::is_default_home(home) { None } else { Some(text(home)?) };
    Ok(Launch { program: text(found.as_deref().unwrap_or(&own))?, home })
}

fn folders() -> Result<ClientFolders, Failure> {
    ClientFolders::from_env().ok_or_else(|| {
        Failure::new("no home folder: HOME is not an absolute path").hint("set HOME to your home folder")
    })
}

/// Returns the suffix of copies, which sorts by time.
fn stamp() -> String {
    timefmt::stamp(SystemTime::now()).replace([':', '-'], "")
}

impl From<install::Error> for Failure {
    fn from(error: install::Error) -> Self {
        Self::new(escape(&error.to_string())).hint(error.hint())
    }
}
