//! `adjutant serve`: the hub.

mod daemonize;
pub(super) mod demo;
mod hub;
mod wakeups;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use tracing::level_filters::LevelFilter;

use super::output::{self, Failure};
use super::{Common, native_runners, one_of};
use adjutant_base::config::{self, Auth, Config, Database, Overrides, Roots, Switch};
use adjutant_base::logging::Format;
use adjutant_host::process;

/// Arguments of `adjutant serve`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub(super) struct ServeArgs {
    /// Open the console in the browser
    #[arg(long)]
    open: bool,
    /// Start the hub in the background, and return when it runs
    #[arg(long)]
    background: bool,
    /// Add examples to an empty home, and suggest what to try
    #[arg(long)]
    demo: bool,
    /// Listen here for the console and for MCP over HTTP [default: 127.0.0.1:7437]
    #[arg(long, value_name = "ADDR|off")]
    http: Option<String>,
    /// Listen on this Unix socket instead of hub.sock in the home folder
    #[arg(long, value_name = "PATH|off")]
    socket: Option<String>,
    /// Keep tasks here: `sqlite:FILE` or `postgres://USER@HOST/NAME` [default: adjutant.db in the home folder]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Authentication of /mcp and the console: `token` or `none` [default: token]
    #[arg(long, value_name = "AUTH", hide_possible_values = true, value_parser = one_of([("token", Auth::Token), ("none", Auth::None)]))]
    auth: Option<Auth>,
    /// Use any free port if the default port is in use and none is configured
    #[arg(long, hide = true)]
    any_port: bool,
    /// Run as the child of --background
    #[arg(long, hide = true, conflicts_with = "background")]
    detached: bool,
    /// Check the configuration as at a start, and end
    #[arg(long, hide = true)]
    check: bool,
}

/// Runs the hub until a signal stops it, or starts one in the background.
pub(super) fn run(args: &ServeArgs, common: Common) -> Result<ExitCode, Failure> {
    if args.check {
        return check(&config(args, common)?);
    }
    if args.background {
        return daemonize::start(args, &common);
    }
    if !args.detached {
        return serve(args, common, |hub| {
            // Only a program that reads the line needs it.
            let _ = output::changed(hub.banner(), &hub.addresses());
            if args.open {
                match hub.link(process::ancestor(std::process::id())) {
                    Some(link) => open_console(&link, hub.home()),
                    None => output::note("the console is switched off, so there is nothing to open"),
                }
            }
        });
    }
    // The caller did not make this process a group leader, so this succeeds. If it failed, only a terminal's signals
    // would reach the hub.
    let _ = rustix::process::setsid();
    let mut ready = daemonize::Ready::new();
    let served = serve(args, common, |hub| ready.serving(hub));
    if let Err(failure) = &served {
        ready.failed(failure);
    }
    served
}

/// Checks what makes a start fail, but for an address that is in use.
fn check(config: &Config) -> Result<ExitCode, Failure> {
    native_runners(&config.runners)?;
    if let Some(address) = config.http.address {
        adjutant_http::check(address, &config.http).map_err(|error| hub::listen_failure(&error))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn serve(args: &ServeArgs, common: Common, serving: impl FnOnce(&hub::Hub)) -> Result<ExitCode, Failure> {
    common.start_log(LevelFilter::INFO)?;
    let again = args.for_child(&common);
    hub::run(config(args, common)?, args, again, serving)
}

fn open_console(link: &str, home: &Path) {
    if let Err(error) = process::open_browser(link) {
        let command = config::command_prefix(home);
        output::note(format!("cannot open a browser ({error}); `{command} open --print` prints a link"));
    }
}

fn config(args: &ServeArgs, common: Common) -> Result<Config, Failure> {
    let usage = |error| Failure::from(error).with_code(2);
    let http = args.http.as_deref().map(Switch::address).transpose().map_err(usage)?;
    let socket = args.socket.as_deref().map(Switch::path);
    let database = args.database.as_deref().map(Database::named).transpose().map_err(usage)?;
    let overrides = Overrides { home: common.home, http, socket, auth: args.auth, database };
    let config = Config::load(overrides, Roots::User)?;
    if config.http.address.is_none() && config.socket.is_none() {
        return Err(Failure::usage("`--http off` and `--socket off` together make the hub unreachable")
            .hint("leave out --http off or --socket off"));
    }
    Ok(config)
}

impl ServeArgs {
    /// Returns the arguments for the detached child. Paths become absolute, because it runs in another folder.
    fn for_child(&self, common: &Common) -> Vec<OsString> {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut words: Vec<OsString> = vec!["serve".into(), "--detached".into()];
        let mut push = |name: &str, value: OsString| words.extend([name.into(), value]);
        if let Some(home) = &common.home {
            push("--home", absolute(home).into());
        }
        if let Some(http) = &self.http {
            push("--http", http.into());
        }
        match self.socket.as_deref().map(Switch::path) {
            Some(Switch::Off) => push("--socket", "off".into()),
            Some(Switch::On(path)) => push("--socket", absolute(&path).into()),
            None => {}
        }
        if let Some(Ok(database)) = self.database.as_deref().map(Database::named) {
            push("--database", database.url());
        }
        if let Some(auth) = self.auth {
            push("--auth", auth.name().into());
        }
        if let Some(filter) = common.filter() {
            push("--log-level", filter.into());
        }
        push("--log-format", common.log_format.unwrap_or(Format::Text).name().into());
        words.extend(self.demo.then(|| "--demo".into()));
        words.extend(self.any_port.then(|| "--any-port".into()));
        words
    }
}
