//! `adjutant worker invite`.

use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::json;

use super::super::output::{self, Failure};
use super::super::tasks::parse_duration;
use super::super::{Common, hub_client, workers};
use adjutant_base::config::Roots;
use adjutant_base::text::timefmt::{millis, span, stamp};
use adjutant_workers::Account;

/// Arguments of `adjutant worker invite`.
#[derive(Debug, Args)]
pub(in crate::cli) struct InviteArgs {
    /// The time in which the code can be used
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    expires: Duration,
    /// Let the worker claim tasks that need this label; may be repeated
    #[arg(long = "label", value_name = "LABEL", value_parser = super::parse_label)]
    labels: Vec<String>,
    /// Address of the NATS server as the worker reaches it [default: `nats` in [workers]]
    #[arg(long, value_name = "URL")]
    nats: Option<String>,
}

/// Makes a code and prints it.
pub(super) fn run(args: &InviteArgs, common: Common) -> Result<(), Failure> {
    let config = common.config(Roots::User)?;
    hub_client::check(&config)?;
    let nats = args.nats.clone().or_else(|| config.workers.nats.clone()).ok_or_else(|| {
        Failure::new("no NATS server is configured").hint("set `nats` in [workers] of config.toml")
    })?;
    let account = Account::load(&config.home).map_err(Failure::new)?.ok_or_else(|| {
        Failure::new("the NATS server of this hub does not ask for credentials of this hub")
            .hint("`adjutant worker nats-config` prints the configuration of one that does")
    })?;
    let expires = SystemTime::now() + args.expires;
    let code = account.invite(&nats, expires).map_err(Failure::new)?;
    workers::with_agents(config, async |agents| {
        agents.invite_worker(code.id(), &args.labels, millis(expires)).await.map_err(Failure::new)
    })?;
    let word = code.to_word();
    if output::is_json() {
        return output::json(&json!({
            "id": code.id(), "code": word, "expires_at": stamp(expires), "labels": args.labels, "nats": nats,
        }));
    }
    output::data(&word)?;
    output::note(format!(
        "the code lets one worker join within {}; on the other machine: adjutant worker join CODE",
        span(args.expires)
    ));
    Ok(())
}
