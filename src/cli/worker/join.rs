//! `adjutant worker join`.

use std::io::Read as _;

use clap::Args;
use serde_json::json;

use super::super::Common;
use super::super::output::{self, Failure};
use adjutant_base::config::{self, Roots};
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_host::machine;
use adjutant_terminal::socket;
use adjutant_workers::{Code, join};

/// Bytes of a code that are read from stdin.
const MAX_CODE_BYTES: u64 = 64 * 1024;

/// Arguments of `adjutant worker join`.
#[derive(Debug, Args)]
pub(in crate::cli) struct JoinArgs {
    /// The code of `adjutant worker invite`, or `-` to read it from stdin
    code: String,
}

/// Gets credentials for this machine and stores them.
pub(super) fn run(args: &JoinArgs, common: Common) -> Result<(), Failure> {
    let config = common.config(Roots::User)?;
    let mut word = args.code.clone();
    if word == "-" {
        word.clear();
        std::io::stdin().take(MAX_CODE_BYTES).read_to_string(&mut word)?;
    }
    let code = Code::from_word(&word).ok_or_else(|| {
        Failure::usage("this is not a valid code")
            .hint("copy the whole word that `adjutant worker invite` printed")
    })?;
    let folder = config::worker(&config.home);
    socket::private_folder(&config.home)?;
    socket::private_folder(&folder)?;
    // A worker that runs would go on with its old credentials.
    let claim = super::claim(&folder)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let joined = runtime.block_on(join(code, &folder, &machine::name()));
    drop(claim);
    let credentials = joined.map_err(Failure::new)?;
    let (id, expires) = (credentials.id().map_err(Failure::new)?, stamp(instant(credentials.expires_at())));
    let value =
        json!({"id": id, "nats": credentials.nats(), "labels": credentials.labels(), "expires_at": expires});
    output::changed(format!("joined as {id}; `adjutant worker` runs tasks now"), &value)
}
