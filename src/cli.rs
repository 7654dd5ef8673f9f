//! The command line: the grammar, and one file per command below.

mod agents;
mod ask;
mod availability;
mod codex;
mod completions;
mod connect;
mod delegate;
mod doctor;
mod events;
mod examples;
mod fast_path;
mod file_report;
mod hook;
mod hub_client;
mod inbox;
mod install;
mod licenses;
mod list_span;
mod local_assistant;
mod log;
mod man;
mod mcp;
mod notifications;
mod open;
mod output;
mod overview;
mod passphrase;
mod permissions;
mod prompts;
mod questions;
mod reload;
mod remove_demo;
mod serve;
mod service;
mod shutdown_signal;
mod source_files;
mod status;
mod stop;
mod supervise;
mod tap;
mod tasks;
mod tokens;
mod users;
mod worker;
mod workers;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitCode, Termination};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, FromArgMatches as _, Parser, Subcommand};
use tracing::level_filters::LevelFilter;

use adjutant_agents::{CommandVariant, Selector};
use adjutant_base::config::runners::RunnersConfig;
use adjutant_base::config::{self, Config, Overrides, Roots};
use adjutant_base::logging::{self, Format};
use adjutant_terminal::socket;
use local_assistant::AssistantArgs;
use output::Failure;

/// A local hub for coding agents: prompts, delegation, questions, calendars and Codex over MCP
#[derive(Debug, Parser)]
#[command(name = "adjutant", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Arguments of every command.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Everywhere")]
struct Common {
    /// Home [default: `$ADJUTANT_HOME`, else ~/.adjutant]
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Write only errors to stderr
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Log more to stderr; repeat for more detail
    #[arg(long, short, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Print results and errors as JSON
    #[arg(long, global = true)]
    json: bool,
    /// Format: text, or json, the default of `mcp agents`
    #[arg(long, global = true, value_name = "FORMAT", hide_possible_values = true, value_parser = one_of([("text", Format::Text), ("json", Format::Json)]))]
    log_format: Option<Format>,
    /// Level or filter, such as `info,adjutant_mcp=debug`
    #[arg(long, global = true, value_name = "FILTER")]
    log_level: Option<String>,
}

/// Returns a parser of the names, each with its value.
fn one_of<T>(values: impl IntoIterator<Item = (&'static str, T)>) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let values: Vec<_> = values.into_iter().collect();
    PossibleValuesParser::new(values.iter().map(|(name, _)| *name)).try_map(move |name| {
        let found = values.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.clone()).ok_or("unknown name")
    })
}

/// Returns the runners of the configuration, with their native command lines.
fn native_runners(config: &RunnersConfig) -> Result<Selector, Failure> {
    Selector::new(config, None, CommandVariant::Native).map_err(Failure::new)
}

impl Common {
    /// Starts logging, at the level `default` unless another is configured.
    fn start_log(&self, default: LevelFilter) -> Result<(), Failure> {
        let format = self.log_format.unwrap_or(Format::Text);
        logging::start(format, self.filter().as_deref(), default).map_err(|error| {
            Failure::usage(format!("the log filter cannot be read: {error}"))
                .hint("use a level such as info, or a list like warn,adjutant::relay=debug")
        })
    }

    /// Starts logging warnings at once if a log option or variable is set; else the returned function starts it before the
    /// first line. A relay hardly ever logs, and the logger would be a sixth of its memory.
    fn start_log_late(&self) -> Result<fn(), Failure> {
        if self.log_format.is_some() || self.filter().is_some() || logging::is_configured() {
            self.start_log(LevelFilter::WARN)?;
            return Ok(|| {});
        }
        // Without a filter, this cannot fail.
        Ok(|| drop(logging::start(Format::Text, None, LevelFilter::WARN)))
    }

    /// Returns the log filter of the command line.
    fn filter(&self) -> Option<String> {
        let from_flags = || match (self.quiet, self.verbose) {
            (true, _) => Some("error"),
            (false, 0) => None,
            (false, 1) => Some("info"),
            (false, 2) => Some("debug"),
            (false, _) => Some("trace"),
        };
        self.log_level.clone().or_else(|| from_flags().map(str::to_owned))
    }

    /// Reads the configuration, with the home folder as the only override.
    fn config(self, roots: Roots) -> Result<Config, Failure> {
        // A command with another default level has started the log before.
        self.start_log(LevelFilter::WARN)?;
        Ok(Config::load(Overrides { home: self.home, ..Overrides::default() }, roots)?)
    }

    /// Reads the configuration for a command that only needs the hub. A running hub keeps its last settings if the file has
    /// become faulty, and then such a command still reaches it.
    fn hub_config(self) -> Result<Config, Failure> {
        let named = self.home.clone();
        self.config(Roots::User).or_else(|failure| match config::home(named) {
            Ok(home) if !socket::vacant(&home) => {
                output::note(format!("the hub continues with its last settings: {}", failure.message));
                Ok(Config::of_home(home))
            }
            _ => Err(failure),
        })
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the changes, and add the hub to Codex, Claude and others
    Install(install::InstallArgs),
    /// Remove the hub from other programs
    Uninstall(install::UninstallArgs),
    /// Open the console in the browser, logged in
    Open(open::OpenArgs),
    /// Answer the questions of your agents in a terminal
    Inbox(inbox::InboxArgs),
    /// List and show the questions of your agents, pending and decided
    #[command(subcommand)]
    Questions(questions::Command),
    /// Ask a question from a script, and print the answer
    Ask(ask::AskArgs),
    /// Show the approval rules, and how requests were decided
    #[command(subcommand)]
    Permissions(permissions::Command),
    /// Show or set whether agents may ask you questions now
    Availability(availability::AvailabilityArgs),
    /// Set the approval passphrase, or prove with it that you are here
    Passphrase(passphrase::PassphraseArgs),
    /// List, write, check, import and export prompts
    #[command(subcommand)]
    Prompts(prompts::Command),
    /// List, write, check, import and trust agents
    #[command(subcommand)]
    Agents(agents::Command),
    /// Delegate a task to an agent, and show its progress
    Delegate(delegate::DelegateArgs),
    /// List, show, await and cancel delegated tasks
    #[command(subcommand)]
    Tasks(tasks::Command),
    /// Run Codex with a prompt, and show its progress
    Codex(codex::CodexArgs),
    /// Manage users, their preferences and their rules
    Users(AssistantArgs<users::Command>),
    /// List, import and export calendar events
    Events(AssistantArgs<events::Command>),
    /// List, plan and resolve notifications
    Notifications(AssistantArgs<notifications::Command>),
    /// Check the installation, and explain how to repair it
    Doctor(doctor::DoctorArgs),
    /// Show the running hub, its addresses and its clients
    Status,
    /// Run the hub: console, MCP endpoint and the socket for `connect`
    Serve(serve::ServeArgs),
    /// End the hub
    Stop(stop::StopArgs),
    /// End the hub, and start it again
    Restart(stop::StopArgs),
    /// Apply a changed `config.toml` to the running hub
    Reload,
    /// Start the hub with your session, by systemd or launchd
    #[command(subcommand)]
    Service(service::Command),
    /// Remove the example data; what you changed or added stays
    RemoveDemo,
    /// End every login of the console
    Logout,
    /// Manage the tokens of agents that come over HTTP
    #[command(subcommand)]
    Tokens(tokens::Command),
    /// Relay stdin and stdout to the hub, for an agent's configuration
    Connect(connect::ConnectArgs),
    /// Serve one toolset on stdin and stdout, in a separate process
    #[command(subcommand, subcommand_value_name = "TOOLSET", subcommand_help_heading = "Toolsets")]
    Mcp(mcp::Toolset),
    /// Record the messages between a client and its server
    Tap(tap::TapArgs),
    /// Show, export and replay recordings of connections
    #[command(subcommand)]
    Log(log::Command),
    /// Run delegated tasks of hubs on other machines, over NATS
    Worker(worker::WorkerArgs),
    /// List the workers that hubs know, and drain or revoke them
    #[command(subcommand)]
    Workers(workers::Command),
    /// Print the script that completes commands and options in a shell
    Completions(completions::CompletionsArgs),
    /// Write the manual pages, one for each command
    Man(man::ManArgs),
    /// Print the licences of the parts that others wrote
    Licenses,
    /// Expand the prompt commands of a prompt as a client sends it, or decide a permission
    #[command(hide = true)]
    Hook(hook::HookArgs),
    /// Run a command for the hub and end all processes it started
    #[command(hide = true)]
    Supervise(supervise::SuperviseArgs),
}

/// Runs one command and returns its exit code: 0 done, 1 failed, 2 wrong usage.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if completions::answer(&arguments) {
        return ExitCode::SUCCESS;
    }
    let Cli { common, command } = match fast_path::parse(&arguments).map_or_else(|| parse(&arguments), Ok) {
        Ok(cli) => cli,
        Err(error) => return print_clap(&error, &arguments),
    };
    if common.json {
        output::set_json();
    }
    if common.quiet {
        output::set_quiet();
    }
    let Some(command) = command else { return exit_code(overview::run(common)) };
    match command {
        Command::Serve(args) => exit_code(serve::run(&args, common)),
        Command::Connect(args) => exit_code(connect::run(args, common)),
        Command::Mcp(toolset) => exit_code(mcp::run(toolset, common)),
        Command::Prompts(command) => exit_code(prompts::run(command, common)),
        Command::Agents(command) => exit_code(agents::run(command, common)),
        Command::Delegate(args) => exit_code(delegate::run(args, common)),
        Command::Tasks(command) => exit_code(tasks::run(command, common)),
        Command::Ask(args) => exit_code(ask::run(&args, common)),
        Command::Availability(args) => exit_code(availability::run(&args, common)),
        Command::Passphrase(args) => exit_code(passphrase::run(&args, common)),
        Command::Permissions(command) => exit_code(permissions::run(command, common)),
        Command::Questions(command) => exit_code(questions::run(command, common)),
        Command::Inbox(args) => exit_code(inbox::run(&args, common)),
        Command::RemoveDemo => exit_code(remove_demo::run(common)),
        Command::Users(args) => exit_code(users::run(args, common)),
        Command::Events(args) => exit_code(events::run(args, common)),
        Command::Notifications(args) => exit_code(notifications::run(args, common)),
        Command::Codex(args) => exit_code(codex::run(args, common)),
        Command::Log(command) => exit_code(log::run(command, common)),
        Command::Tap(args) => exit_code(tap::run(args, common)),
        Command::Install(args) => exit_code(install::run(&args, common)),
        Command::Uninstall(args) => exit_code(install::remove(&args, common)),
        Command::Hook(args) => exit_code(hook::run(&args, common)),
        Command::Open(args) => exit_code(open::run(&args, common)),
        Command::Logout => exit_code(tokens::log_out(common)),
        Command::Tokens(command) => exit_code(tokens::run(command, common)),
        Command::Status => exit_code(status::run(common)),
        Command::Reload => exit_code(reload::run(common)),
        Command::Stop(args) => exit_code(stop::stop(&args, common)),
        Command::Restart(args) => exit_code(stop::restart(&args, common)),
        Command::Worker(args) => exit_code(worker::run(args, common)),
        Command::Workers(command) => exit_code(workers::run(command, common)),
        Command::Doctor(args) => exit_code(doctor::run(&args, common)),
        Command::Service(command) => exit_code(service::run(&command, common)),
        Command::Completions(args) => exit_code(completions::run(&args)),
        Command::Man(args) => exit_code(man::run(&args)),
        Command::Licenses => exit_code(licenses::run()),
        Command::Supervise(args) => exit_code(supervise::run(&args)),
    }
}

/// Parses the command line with the whole grammar.
fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = examples::grammar().try_get_matches_from(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut examples::grammar()))
}

/// Prints what clap prints instead of running a command: the help, the version, or an error. Returns its exit code.
fn print_clap(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let text = error.render();
    if !error.use_stderr() {
        let text = if output::colour(&io::stdout()) { text.ansi().to_string() } else { text.to_string() };
        return exit_code(output::raw(text.as_bytes()).map(drop));
    }
    if arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json") {
        output::set_json();
        let text = text.to_string();
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let message = lines.next().unwrap_or_default().trim_start_matches("error: ");
        return lines.fold(Failure::usage(message), Failure::hint).report();
    }
    output::usage_error(&if output::colour(&io::stderr()) {
        text.ansi().to_string()
    } else {
        text.to_string()
    });
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Returns the exit code of a command; one that returns nothing has done all it was asked for.
fn exit_code(done: Result<impl Termination, Failure>) -> ExitCode {
    done.map_or_else(|failure| failure.report(), Termination::report)
}
