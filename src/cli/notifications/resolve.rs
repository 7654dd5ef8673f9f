//! `adjutant notifications resolve`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::Timestamp;

use super::super::local_assistant::ACTOR;
use super::super::output::{self, Failure};
use super::id::id;
use adjutant_assistant::notifications::ResolvedAs;
use adjutant_assistant::{Assistant, NotificationId};

/// Arguments of `adjutant notifications resolve`.
#[derive(Debug, Args)]
pub(super) struct ResolveArgs {
    /// The notification, as `adjutant notifications list` shows it
    #[arg(value_parser = id)]
    id: NotificationId,
    /// `sent` if it arrived, `cancelled` if it is no longer wanted
    #[arg(value_parser = resolved_as())]
    resolved_as: ResolvedAs,
}

fn resolved_as() -> impl TypedValueParser<Value = ResolvedAs> {
    PossibleValuesParser::new(["sent", "cancelled"])
        .map(|word| if word == "sent" { ResolvedAs::Sent } else { ResolvedAs::Cancelled })
}

/// Sets the outcome of a notification whose state is unknown.
pub(super) async fn run(args: &ResolveArgs, assistant: &Assistant) -> Result<(), Failure> {
    let settled = assistant.resolve(&args.id, args.resolved_as, ACTOR, Timestamp::now()).await?;
    output::note(format!("settled: {}", settled.status.name()));
    Ok(())
}
