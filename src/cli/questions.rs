//! `adjutant questions …`: what agents asked the person. It is answered in `adjutant inbox` and in the console.

mod list;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use tracing::level_filters::LevelFilter;

use super::output::Failure;
use super::{Common, person};
use crate::clock::{instant, span};
use crate::config::Roots;
use crate::popups::Kind;
use crate::socket::Start;
use crate::socket::person::popups::Looked;

/// Characters of an id that are shown where all of it is not needed, as the inbox shows it.
const SHORT: usize = 7;

/// Arguments of `adjutant questions`.
#[derive(Debug, Args)]
pub(super) struct QuestionsArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the questions that wait, the oldest first, or those that were decided
    List(list::ListArgs),
    /// Show one question: what was asked, and what became of it
    Show(show::ShowArgs),
}

/// Runs one of the commands.
pub(super) fn run(args: QuestionsArgs, common: Common) -> Result<ExitCode, Failure> {
    common.start_log(LevelFilter::WARN)?;
    let config = common.config(Roots::User)?;
    let mut person = person::reach(&config, Start::IfNeeded)?;
    match args.command {
        Command::List(args) => list::run(args, &mut person),
        Command::Show(args) => show::run(&args, &mut person),
    }
}

/// Returns where a question stands, in a few words.
fn state(looked: &Looked) -> String {
    let now = std::time::SystemTime::now();
    let left = |until: i64| span(instant(until).duration_since(now).unwrap_or_default());
    match (&looked.outcome, looked.question.snoozed_until) {
        (None, Some(until)) => format!("put off, back in {}", left(until)),
        (None, None) => format!("waits, {} left", left(looked.question.deadline)),
        (Some(outcome), _) => {
            let what = match outcome.kind {
                Kind::Answered => "answered",
                Kind::Declined => "declined",
                Kind::Dismissed => "dismissed",
                Kind::TimedOut => "timed out",
                Kind::Cancelled => "withdrawn",
                Kind::ClientGone => "left behind",
            };
            format!("{what} {} ago", span(now.duration_since(instant(outcome.at)).unwrap_or_default()))
        }
    }
}
