//! `adjutant notifications list`.

use clap::Args;

use crate::cli::list_span::{ListSpan, zone_of};
use crate::cli::one_of;
use crate::cli::output::{self, Failure};
use adjutant_assistant::json;
use adjutant_assistant::notification::Status;
use adjutant_assistant::notifications::Due;
use adjutant_assistant::{Assistant, UserId};
use adjutant_base::config::{Config, Database};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_terminal::socket;

/// Maximum notifications of one list.
const MAX_NOTIFICATIONS: u32 = 10_000;

/// Arguments of `adjutant notifications list`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    /// Only this user, in the user's time zone
    #[arg(long)]
    user: Option<UserId>,
    /// Only this state
    #[arg(long, value_parser = one_of(Status::ALL.iter().map(|status| (status.name(), *status))))]
    status: Option<Status>,
    #[command(flatten)]
    span: ListSpan,
    /// Days to look back
    #[arg(long, value_name = "DAYS", default_value_t = 2)]
    days_back: u32,
    /// Days to look ahead
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    days_forward: u32,
    /// Continue there: `next` of the previous page, as --json prints it
    #[arg(long, value_name = "NEXT", default_value_t = 0, hide_default_value = true)]
    after: u32,
}

/// Prints notifications by the time they are due.
pub(super) async fn run(args: ListArgs, assistant: &Assistant, config: &Config) -> Result<(), Failure> {
    let ListArgs { user, status, span, days_back, days_forward, after } = args;
    let zone = zone_of(assistant, user.as_ref()).await?;
    let (from, until) = span.resolve(&zone, (days_back, days_forward))?;
    let due = Due { user, status, from, until };
    let end = after.saturating_add(MAX_NOTIFICATIONS);
    let (mut found, more) = assistant.notifications(&due, end).await?;
    let total = (!more).then_some(found.len() as u64);
    found.drain(..found.len().min(after as usize));
    if output::is_json() {
        let notifications = found.iter().map(|one| json::notification(one, &zone)).collect();
        let next = more.then_some(i64::from(end));
        return output::json(&output::page(notifications, "notification_id", total, next));
    }
    let rows = found.iter().map(|one| {
        let at = zone.civil(one.due_at).strftime("%a %Y-%m-%d %H:%M").to_string();
        let [status, channel] = [one.status.name(), one.channel.word()].map(str::to_owned);
        [at, status, channel, escape_line(&one.wording.subject), one.id.to_string()]
    });
    let due = format!("DUE ({zone})");
    let head = [due.as_str(), "STATUS", "CHANNEL", "NOTIFICATION", "ID"];
    let empty = "nothing is due in these days; `adjutant notifications plan USER` plans notifications";
    output::table(head, 3, &rows.collect::<Vec<_>>(), empty)?;
    let waits = found.iter().any(|one| one.status == Status::Planned);
    if waits && matches!(config.database, Database::File(_)) && socket::vacant(&config.home) {
        output::note(
            "no hub runs, and only a hub sends them: `adjutant service install`, or `adjutant serve --background`",
        );
    }
    if more {
        output::note(format!("only the first {MAX_NOTIFICATIONS}; ask for fewer days"));
    }
    Ok(())
}
