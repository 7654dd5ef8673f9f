//! `adjutant open`: the console in the browser, logged in by a one-time link.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::output::{self, Failure};
use super::{Common, status};
use adjutant_host::process;
use adjutant_terminal::socket::{self, Hello, Query, Start};

/// Arguments of `adjutant open`.
#[derive(Debug, Args)]
pub(super) struct OpenArgs {
    /// The address of `adjutant mcp questions --http ADDR`, instead of the hub
    #[arg(value_name = "ADDR")]
    address: Option<SocketAddr>,
    /// Only print the link, as --json does
    #[arg(long)]
    print: bool,
}

/// Asks the hub for a link and opens it. Starts the hub if none runs.
pub(super) fn run(args: &OpenArgs, common: Common) -> Result<(), Failure> {
    let mut config = common.hub_config()?;
    if let Some(address) = args.address {
        let socket = console_socket(&config.home, address);
        if !socket::is_listening(&socket) {
            return Err(Failure::new(format!("no console of this home listens on {address}"))
                .hint("`adjutant mcp questions --http` says where it listens; a hub takes no address"));
        }
        config.socket = Some(socket);
    } else {
        let hello = Hello::query(Query::Status);
        socket::connect_or_start(&config.home, config.socket.as_deref(), &hello, Start::IfNeeded)?;
    }
    let link = |query| {
        status::query_hub(&config, query)?.link.ok_or_else(|| {
            Failure::new("the hub gave no link").hint("restart the hub: it may be of another version")
        })
    };
    if output::is_json() {
        output::json(&json!({"link": link(Query::Link)?}))?;
    } else if args.print {
        output::data(&link(Query::Link)?)?;
    } else if let Err(error) = process::open_browser(&link(Query::Browser)?) {
        output::data(&link(Query::Link)?)?;
        return Err(
            Failure::new(format!("cannot open a browser: {error}")).hint("open the link above by hand")
        );
    }
    Ok(())
}

/// Removes the sockets of consoles that were killed.
pub(super) fn remove_stale_sockets(home: &Path) -> io::Result<()> {
    for entry in fs::read_dir(home)? {
        let entry = entry?;
        let is_console = entry.file_name().to_str().is_some_and(|name| {
            name.strip_prefix("questions-").is_some_and(|rest| rest.strip_suffix(".sock").is_some())
        });
        if is_console && entry.file_type()?.is_socket() && !socket::is_listening(&entry.path()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Returns the path of the socket that gives links to the console of `adjutant mcp questions --http`.
pub(super) fn console_socket(home: &Path, address: SocketAddr) -> PathBuf {
    socket::place(&home.join(format!("questions-{}.sock", address.port())))
}
