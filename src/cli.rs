//! The command line: the grammar, and one file per command below.

mod agents;
mod ask;
mod assistant;
mod availability;
mod codex;
mod completions;
mod connect;
mod delegate;
mod doctor;
mod events;
mod examples;
#[cfg(feature = "fixture")]
mod fixture;
mod hook;
mod inbox;
mod install;
mod log;
mod man;
mod mcp;
mod notifications;
mod open;
mod output;
mod passphrase;
mod person;
mod prompts;
mod questions;
mod report;
mod serve;
mod service;
mod sources;
mod status;
mod stop;
mod supervise;
mod tap;
mod tasks;
mod users;
mod usual;
mod welcome;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, FromArgMatches as _, Parser, Subcommand};
use tracing::level_filters::LevelFilter;

use crate::config::{Config, Overrides, Roots};
use crate::telemetry::{self, Format};
use output::Failure;

/// The desk between you and your coding agents: one local hub for prompts and MCP servers
#[derive(Debug, Parser)]
#[command(name = "adjutant", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What every command understands.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Everywhere")]
struct Common {
    /// Keep everything in this folder instead of `$ADJUTANT_HOME` or ~/.adjutant
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Write nothing to stderr but errors
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Log what is done to stderr; -vv every step, -vvv everything
    #[arg(long, short, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// How log lines look: text, or json (which `mcp agents` writes unless told otherwise)
    #[arg(long, global = true, value_name = "FORMAT", hide_possible_values = true, value_parser = log_format())]
    log_format: Option<Format>,
    /// What is logged: error, warn, info, debug, trace, or a list like `info,adjutant::relay=debug`
    #[arg(long, global = true, value_name = "FILTER")]
    log_level: Option<String>,
}

fn log_format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(["text", "json"])
        .map(|name| if name == "json" { Format::Json } else { Format::Text })
}

impl Common {
    /// Starts logging; `usual` is the level when nobody asked for another.
    fn start_log(&self, usual: LevelFilter) -> Result<(), Failure> {
        let format = self.log_format.unwrap_or(Format::Text);
        telemetry::start(format, self.filter().as_deref(), usual).map_err(|error| {
            Failure::usage(format!("the log filter cannot be read: {error}"))
                .hint("use a level such as info, or a list like warn,adjutant::relay=debug")
        })
    }

    /// Starts logging warnings for a program that has hardly ever one: at once where somebody says how to log, else by what
    /// is returned, before the first line. The machinery of a log would be a sixth of what a relay weighs.
    fn start_log_late(&self) -> Result<fn(), Failure> {
        if self.log_format.is_some() || self.filter().is_some() || telemetry::is_asked() {
            self.start_log(LevelFilter::WARN)?;
            return Ok(|| {});
        }
        // Nobody wrote a filter that could be wrong.
        Ok(|| drop(telemetry::start(Format::Text, None, LevelFilter::WARN)))
    }

    /// Returns what is to be logged, if the command line says so.
    fn filter(&self) -> Option<String> {
        let wordy = || match (self.quiet, self.verbose) {
            (true, _) => Some("error"),
            (false, 0) => None,
            (false, 1) => Some("info"),
            (false, 2) => Some("debug"),
            (false, _) => Some("trace"),
        };
        self.log_level.clone().or_else(|| wordy().map(str::to_owned))
    }

    /// The same, in JSON when nobody asked for another format.
    fn start_json_log(&mut self, usual: LevelFilter) -> Result<(), Failure> {
        self.log_format = self.log_format.or(Some(Format::Json));
        self.start_log(usual)
    }

    /// Reads the configuration for a command that overrides nothing but the home folder.
    fn config(self, roots: Roots) -> Result<Config, Failure> {
        // Whoever logs more than this as a rule has started before.
        self.start_log(LevelFilter::WARN)?;
        Ok(Config::load(Overrides { home: self.home, ..Overrides::default() }, roots)?)
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the hub: the console, the MCP endpoint and the socket that `connect` uses
    Serve(serve::ServeArgs),
    /// Relay stdin and stdout to the hub, for an agent's MCP configuration
    Connect(connect::ConnectArgs),
    /// Run one MCP server on stdin and stdout, without a hub
    Mcp(mcp::McpArgs),
    /// Work with prompt commands
    Prompts(prompts::PromptsArgs),
    /// Work with agent definitions
    Agents(agents::AgentsArgs),
    /// Hand a task to an agent, and see what it does
    Delegate(delegate::DelegateArgs),
    /// Look at delegated tasks, wait for them, end them
    Tasks(tasks::TasksArgs),
    /// Ask the person a question from a script, and print the answer
    Ask(ask::AskArgs),
    /// Look at the questions of your agents, those that wait and those that were decided
    Questions(questions::QuestionsArgs),
    /// Answer the questions of your agents, in a terminal or over lines
    Inbox(inbox::InboxArgs),
    /// See whether agents may ask you questions now, and say it
    Availability(availability::AvailabilityArgs),
    /// Set the passphrase that answers to the gravest questions need
    Passphrase(passphrase::PassphraseArgs),
    /// Say who has a calendar here, and how they want to be told
    Users(users::UsersArgs),
    /// Look at the calendars, and take them over
    Events(events::EventsArgs),
    /// See what is planned and what went out, and settle what nobody knows
    Notifications(notifications::NotificationsArgs),
    /// Give Codex a prompt and watch what it does
    Codex(codex::CodexArgs),
    /// Read what passed between this program and others, hand it on, play it again
    Log(log::LogArgs),
    /// Stand between a client and its server, and record what passes
    Tap(tap::TapArgs),
    /// Put the hub into Codex, Claude, VS Code and others, after showing what changes
    Install(install::InstallArgs),
    /// Take the hub out of another program again
    Uninstall(install::UninstallArgs),
    /// Expand the prompt commands of a prompt as a client sends it
    #[command(hide = true)]
    Hook(hook::HookArgs),
    /// Open the console in the browser, logged in
    Open(open::OpenArgs),
    /// Say which hub runs, where it listens and who is connected
    Status(status::StatusArgs),
    /// Find what is wrong here, and say what to do about it
    Doctor(doctor::DoctorArgs),
    /// Start the hub with your session, as a service of systemd or launchd
    Service(service::ServiceArgs),
    /// Print the script that completes commands and options in a shell
    Completions(completions::CompletionsArgs),
    /// Write the manual, one page a command
    Man(man::ManArgs),
    /// Run a command for the hub and end all that it started
    #[command(hide = true)]
    Supervise(supervise::SuperviseArgs),
    /// Serve what the official conformance suite asks for
    #[cfg(feature = "fixture")]
    #[command(hide = true)]
    Fixture(fixture::FixtureArgs),
}

/// Runs one command and returns its exit code: 0 done, 1 failed, 2 wrong usage.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let Cli { common, command } = match usual::parse(&arguments).map_or_else(|| parse(&arguments), Ok) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are errors to clap; it knows their stream and their code.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    if common.quiet {
        output::hush();
    }
    let Some(command) = command else { return ended(welcome::run(common)) };
    ended(match command {
        Command::Serve(args) => serve::run(&args, common),
        Command::Connect(args) => connect::run(args, common),
        Command::Mcp(args) => mcp::run(args, common),
        Command::Prompts(args) => prompts::run(args, common),
        Command::Agents(args) => agents::run(args, common),
        Command::Delegate(args) => delegate::run(args, common),
        Command::Tasks(args) => tasks::run(args, common),
        Command::Ask(args) => ask::run(&args, common),
        Command::Availability(args) => availability::run(&args, common),
        Command::Passphrase(args) => passphrase::run(&args, common),
        Command::Questions(args) => questions::run(args, common),
        Command::Inbox(args) => inbox::run(&args, common),
        Command::Users(args) => users::run(args, common),
        Command::Events(args) => events::run(args, common),
        Command::Notifications(args) => notifications::run(args, common),
        Command::Codex(args) => codex::run(args, common),
        Command::Log(args) => log::run(args, common),
        Command::Tap(args) => tap::run(args, common),
        Command::Install(args) => install::run(&args, common),
        Command::Uninstall(args) => install::remove(&args, common),
        Command::Hook(args) => hook::run(&args, common),
        Command::Open(args) => open::run(&args, common),
        Command::Status(args) => status::run(&args, common),
        Command::Doctor(args) => doctor::run(&args, common),
        Command::Service(args) => service::run(&args, common),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Supervise(args) => supervise::run(&args),
        #[cfg(feature = "fixture")]
        Command::Fixture(args) => fixture::run(&args, common),
    })
}

/// Reads the command line by the whole grammar.
fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = examples::grammar().try_get_matches_from(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut examples::grammar()))
}

fn ended(done: Result<ExitCode, Failure>) -> ExitCode {
    done.unwrap_or_else(|failure| failure.report())
}
