//! `adjutant worker nats-config`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::super::output::{self, Failure};
use super::super::{Common, hub_client};
use adjutant_base::config::Roots;
use adjutant_terminal::socket;
use adjutant_workers::Account;

/// Arguments of `adjutant worker nats-config`.
#[derive(Debug, Args)]
pub(in crate::cli) struct NatsConfigArgs {
    /// The address that the NATS server listens on
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:4222")]
    listen: String,
    /// The folder in which the NATS server keeps tickets
    #[arg(long, value_name = "DIR", default_value = "/var/lib/nats")]
    store_dir: PathBuf,
}

/// Makes the account of this hub's workers if there is none, and prints the configuration.
pub(super) fn run(args: &NatsConfigArgs, common: Common) -> Result<(), Failure> {
    let config = common.config(Roots::User)?;
    hub_client::check(&config)?;
    socket::private_folder(&config.home)?;
    let is_new = Account::load(&config.home).map_err(Failure::new)?.is_none();
    let account = Account::load_or_create(&config.home).map_err(Failure::new)?;
    let configuration = format!(
        "listen: {}\njetstream {{ store_dir: {:?} }}\n{}",
        args.listen,
        args.store_dir.display().to_string(),
        account.server_configuration()
    );
    let path = Account::path(&config.home);
    if output::is_json() {
        return output::json(&json!({"configuration": configuration, "account_file": path}));
    }
    output::data(configuration.trim_end())?;
    if is_new {
        output::note(format!(
            "{} makes credentials, so keep it secret; restart the hub to use it",
            path.display()
        ));
    }
    Ok(())
}
