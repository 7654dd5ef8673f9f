//! `adjutant users feed`.

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::super::local_assistant::ACTOR;
use super::super::output::{self, Failure};
use adjutant_assistant::{Assistant, UserId};
use adjutant_base::config::Config;
use adjutant_terminal::socket;

/// Arguments of `adjutant users feed`.
#[derive(Debug, Args)]
pub(in crate::cli) struct FeedArgs {
    /// The user, as `adjutant users list` shows them
    id: UserId,
    /// Create a new address, and revoke the old one
    #[arg(long, conflicts_with = "off")]
    new: bool,
    /// End the feed
    #[arg(long)]
    off: bool,
}

/// Prints the address of a user's calendar feed, or revokes it.
pub(super) async fn run(args: &FeedArgs, assistant: &Assistant, config: &Config) -> Result<(), Failure> {
    let FeedArgs { id: user, new, off } = args;
    let now = Timestamp::now();
    if *off {
        let ended = assistant.revoke_feed(user, ACTOR, now).await?;
        let line = if ended { "the feed has ended" } else { "there is no feed" };
        return output::changed(line, &json!({"id": user, "user_id": user, "url": null, "ended": ended}));
    }
    // A running hub may listen on another address than the configured one.
    let running =
        socket::holder(&config.home).filter(|_| !socket::vacant(&config.home)).and_then(|hub| hub.console);
    let console = running.or_else(|| config.http.address.map(|address| config.http.console(address)));
    let console = console.ok_or_else(|| {
        Failure::new("the hub's HTTP listener is off, so the feed has no address")
            .hint("set `address` under [http] in config.toml")
    })?;
    let secret = match assistant.feed(user).await?.filter(|_| !*new) {
        Some(secret) => secret,
        None => assistant.create_feed(user, ACTOR, now).await?,
    };
    let url = format!("{console}/feeds/{secret}.ics");
    if output::is_json() {
        return output::json(&json!({"id": user, "user_id": user, "url": url, "ended": false}));
    }
    output::data(&url)?;
    if socket::vacant(&config.home) {
        output::note(
            "no hub runs, and only a hub serves the address: `adjutant serve --background` starts one",
        );
    }
    output::note("anybody with the address can read the calendar; `--new` replaces the address");
    Ok(())
}
