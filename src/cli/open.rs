//! `adjutant open`: the console in the browser, logged in by a one-time link.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::output::{self, Failure};
use super::{Common, status};
use adjutant_base::config::Roots;
use adjutant_host::process;
use adjutant_terminal::socket::{self, Query};

/// Arguments of `adjutant open`.
#[derive(Debug, Args)]
pub(super) struct OpenArgs {
    /// The address of `adjutant mcp questions --http ADDR`, instead of the hub
    #[arg(value_name = "ADDR")]
    address: Option<SocketAddr>,
    /// Only print the link
    #[arg(long)]
    print: bool,
    /// Only print the link, as JSON
    #[arg(long)]
    json: bool,
}

/// Asks the hub for a link and opens it.
pub(super) fn run(args: &OpenArgs, common: Common) -> Result<(), Failure> {
    let mut config = common.config(Roots::User)?;
    if let Some(address) = args.address {
        let socket = console_socket(&config.home, address);
        if !socket::is_listening(&socket) {
            return Err(Failure::new(format!("no console of this home listens on {address}"))
                .hint("`adjutant mcp questions --http` says where it listens; a hub takes no address"));
        }
        config.socket = Some(socket);
    }
    let link = status::query_hub(&config, Query::Open)?.link.ok_or_else(|| {
        Failure::new("the hub gave no link").hint("restart the hub: it may be of another version")
    })?;
    if args.json {
        output::json(&json!({"link": link}))?;
    } else if args.print {
        output::data(&link)?;
    } else if let Err(error) = process::open_browser(&link) {
        output::data(&link)?;
        return Err(
            Failure::new(format!("cannot open a browser: {error}")).hint("open the link above by hand")
        );
    }
    Ok(())
}

/// Returns the path of the socket that gives links to the console of `adjutant mcp questions --http`.
pub(super) fn console_socket(home: &Path, address: SocketAddr) -> PathBuf {
    socket::place(&home.join(format!("questions-{}.sock", address.port())))
}
