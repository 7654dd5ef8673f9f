//! `adjutant questions …`: questions of agents, pending and decided.

mod list;
mod show;

use clap::Subcommand;

use super::output::Failure;
use super::{Common, hub_client};
use adjutant_base::config::Roots;
use adjutant_base::text::timefmt::{instant, span};
use adjutant_questions::OutcomeKind;
use adjutant_terminal::socket::Start;
use adjutant_terminal::socket::control::questions::QuestionDetails;

/// Characters of a shortened id, as in the Inbox.
const SHORT_ID_LEN: usize = 7;

/// Commands of `adjutant questions`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List pending questions, the oldest first, or decided questions
    List(list::ListArgs),
    /// Show one question and its outcome
    Show(show::ShowArgs),
}

/// Runs one of the commands.
pub(super) fn run(command: Command, common: Common) -> Result<(), Failure> {
    let config = common.config(Roots::User)?;
    let mut client = hub_client::connect(&config, Start::IfNeeded)?;
    match command {
        Command::List(args) => list::run(args, &mut client),
        Command::Show(args) => show::run(&args, &mut client),
    }
}

/// Describes the state of a question in a few words.
fn state(details: &QuestionDetails) -> String {
    let now = std::time::SystemTime::now();
    let until = |until: i64| span(instant(until).duration_since(now).unwrap_or_default());
    match (&details.outcome, details.question.snoozed_until) {
        (None, Some(end)) => format!("snoozed for {}", until(end)),
        (None, None) => format!("pending, {} left", until(details.question.deadline)),
        (Some(outcome), _) => {
            let kind = match outcome.kind {
                OutcomeKind::Answered => "answered",
                OutcomeKind::Declined => "declined",
                OutcomeKind::Dismissed => "dismissed",
                OutcomeKind::TimedOut => "timed out",
                OutcomeKind::Cancelled => "withdrawn",
                OutcomeKind::ClientGone => "client gone",
            };
            format!("{kind} {} ago", span(now.duration_since(instant(outcome.at)).unwrap_or_default()))
        }
    }
}
