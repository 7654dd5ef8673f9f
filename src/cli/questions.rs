//! `adjutant questions …`: questions of agents, pending and decided.

mod list;
pub(super) mod show;

use std::time::SystemTime;

use clap::Subcommand;
use serde_json::{Value, json};

use super::output::{self, Failure};
use super::{Common, hub_client};
use adjutant_base::text::timefmt::{millis, seconds_left, span_millis};
use adjutant_terminal::socket::Start;
use adjutant_terminal::socket::control::questions::QuestionDetails;

/// Characters of a shortened id, as in the Inbox.
pub(super) const SHORT_ID_LEN: usize = 7;

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
    let config = common.hub_config()?;
    let mut client = hub_client::connect(&config, Start::IfNeeded)?;
    match command {
        Command::List(args) => list::run(args, &mut client),
        Command::Show(args) => show::run(&args, &mut client),
    }
}

/// Returns a question as JSON, with its id and its instants as text.
pub(super) fn as_json(details: &QuestionDetails) -> Value {
    let paths =
        ["/held_until", "/question/asked_at", "/question/deadline", "/question/snoozed_until", "/outcome/at"];
    let mut value = output::with_instants(json!(details), &paths);
    value["id"] = json!(details.question.ticket);
    output::identified(value, "ticket")
}

/// Describes the state of a question in a few words.
fn state(details: &QuestionDetails) -> String {
    let now = millis(SystemTime::now());
    let Some(outcome) = &details.outcome else {
        return match details.question.snoozed_until {
            Some(end) => format!("snoozed for {}", span_millis(end - now)),
            None => format!("pending, {} left", span_millis(details.question.deadline - now)),
        };
    };
    let is_lost = outcome.answer.is_some() && outcome.not_applied.is_some();
    let not_applied = if is_lost { ", not applied," } else { "" };
    let kind = format!("{}{not_applied}", outcome.kind.word(outcome.denied));
    match details.held_until.filter(|until| *until > now) {
        Some(until) => format!("{kind}, {} s to undo", seconds_left(until, now)),
        None => format!("{kind} {} ago", span_millis(now - outcome.at)),
    }
}
