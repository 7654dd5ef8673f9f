//! `adjutant availability`: shows or sets whether agents may ask questions now.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;

use super::output::{self, Failure};
use super::{Common, hub_client};
use adjutant_base::text::timefmt;
use adjutant_questions::Availability;
use adjutant_terminal::socket::Start;

/// Arguments of `adjutant availability`.
#[derive(Debug, Args)]
pub(super) struct AvailabilityArgs {
    /// New state: here, away, or do-not-disturb; without it, the current state is printed
    #[arg(value_name = "STATE", hide_possible_values = true, value_parser = PossibleValuesParser::new(["here", "away", "do-not-disturb"]))]
    state: Option<String>,
    /// Return to `here` after this many minutes
    #[arg(long, value_name = "MINUTES", requires = "state", value_parser = clap::value_parser!(u32).range(1..))]
    minutes: Option<u32>,
}

/// Prints the availability, or sets it.
pub(super) fn run(args: &AvailabilityArgs, common: Common) -> Result<(), Failure> {
    let config = common.hub_config()?;
    let until = |availability: &Availability| {
        availability.until().map(|until| timefmt::stamp(timefmt::instant(until)))
    };
    let as_json = |current: &Availability| json!({"state": current.as_str(), "until": until(current)});
    let Some(state) = &args.state else {
        let availability = hub_client::connect(&config, Start::IfNeeded)?.availability()?;
        if output::is_json() {
            return output::json(&as_json(&availability));
        }
        let until = until(&availability).map(|until| format!(" until {until}")).unwrap_or_default();
        return output::data(&format!("{}{until}", availability.as_str().replace('_', "-")));
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    let end = args.minutes.map(|minutes| now.saturating_add(i64::from(minutes) * 60_000));
    let availability = match state.as_str() {
        "away" => Availability::Away { until: end },
        "do-not-disturb" => Availability::DoNotDisturb { until: end },
        _ => Availability::Here,
    };
    hub_client::connect(&config, Start::IfNeeded)?.set_availability(availability)?;
    output::changed(availability.sentence(), &as_json(&availability))
}
