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
    if !config.http.behind_tls_proxy.is_empty() || config.http.serves_tls() {
        return Err(Failure::new(
            "a hub with a proxy or TLS serves no feeds, because feeds are for programs on the same machine",
        )
        .hint("`adjutant events export USER --to FILE` writes a calendar that you may publish yourself"));
    }
    // A running hub may listen on another address than the configured one.
    let address = socket::holder(&config.home).and_then(|hub| hub.http).or(config.http.address);
    let address = address.ok_or_else(|| {
        Failure::new("the hub's HTTP listener is off, so the feed has no address")
            .hint("set `address` under [http] in config.toml")
    })?;
    let secret = match assistant.feed(user).await?.filter(|_| !*new) {
        Some(secret) => secret,
        None => assistant.create_feed(user, ACTOR, now).await?,
    };
    let url = format!("http://{address}/feeds/{secret}.ics");
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
