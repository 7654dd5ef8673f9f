//! Logs: always on stderr, because stdout belongs to the protocol and to data.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::env;

crate::named_enum! {
    /// The format of log lines.
    Format {
        Text = "text",
        Json = "json",
    }
}

/// A part of a filter that cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is neither a level nor like adjutant::relay=debug")]
pub struct BadFilter(String);

/// Starts logging to stderr.
///
/// `filter` is a level or a list like `info,adjutant::prompts=debug`; without one `ADJUTANT_LOG` counts, then
/// `default`. Fails when the filter cannot be parsed.
pub fn start(format: Format, filter: Option<&str>, default: LevelFilter) -> Result<(), BadFilter> {
    let filter = filter.map(str::to_owned).or_else(env::log_filter);
    let targets = match filter {
        Some(text) => targets(&text)?,
        None => Targets::new().with_default(default),
    };
    // The SDK logs whole messages at its lower levels, and messages are user data.
    let targets =
        targets.with_target("rmcp", LevelFilter::ERROR).with_target("rmcp::service", LevelFilter::OFF);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let subscriber = tracing_subscriber::registry();
    // A second start in one process would be a bug, but no reason to stop.
    let _ = match format {
        Format::Json => subscriber.with(layer.json().flatten_event(true).with_filter(targets)).try_init(),
        // Without colours also on a terminal, because these lines hold untrusted text.
        Format::Text => subscriber.with(layer.with_ansi(false).with_filter(targets)).try_init(),
    };
    Ok(())
}

/// Returns whether the environment has a log filter.
pub fn is_configured() -> bool {
    env::log_filter().is_some()
}

fn targets(text: &str) -> Result<Targets, BadFilter> {
    text.split(',').try_fold(Targets::new(), |targets, part| {
        let bad = || BadFilter(part.to_owned());
        match part.split_once('=') {
            Some((target, level)) => {
                Ok(targets.with_target(target, level.parse::<LevelFilter>().map_err(|_| bad())?))
            }
            None => Ok(targets.with_default(part.parse::<LevelFilter>().map_err(|_| bad())?)),
        }
    })
}
