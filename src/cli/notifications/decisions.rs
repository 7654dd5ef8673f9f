//! `adjutant notifications cancel`, `snooze`, `retry`, `resolve`, `acknowledge` and `test`: a user's decision about one
//! notification.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cli::local_assistant::ACTOR;
use crate::cli::output::{self, Failure};
use adjutant_app::App;
use adjutant_assistant::dispatch::SendOutcome;
use adjutant_assistant::json;
use adjutant_assistant::notification::Channel;
use adjutant_assistant::notifications::ResolvedAs;
use adjutant_assistant::plain_dates::parse_alone;
use adjutant_assistant::planner::quiet_hours;
use adjutant_assistant::{Assistant, Error, NotificationId, UserId};
use adjutant_base::text::escape_invisible::escape_line;

/// Plans a failed or unknown notification again.
pub(super) async fn retry(id: &NotificationId, assistant: &Assistant) -> Result<(), Failure> {
    assistant.retry(id, ACTOR, Timestamp::now()).await?;
    output::changed("planned again; a running hub sends it now", &as_json(id, assistant).await?)
}

/// Sets the outcome of a notification with an unknown state.
pub(super) async fn resolve(
    id: &NotificationId,
    state: ResolvedAs,
    assistant: &Assistant,
) -> Result<(), Failure> {
    let resolved = assistant.resolve(id, state, ACTOR, Timestamp::now()).await?;
    output::changed(format!("resolved: {}", resolved.status.name()), &as_json(id, assistant).await?)
}

/// Cancels a notification, so that it is not sent.
pub(super) async fn cancel(id: &NotificationId, assistant: &Assistant) -> Result<(), Failure> {
    assistant.resolve(id, ResolvedAs::Cancelled, ACTOR, Timestamp::now()).await?;
    output::changed("cancelled", &as_json(id, assistant).await?)
}

/// Plans a notification for a later time, and prints the id of the later one.
pub(super) async fn snooze(id: &NotificationId, until: &str, assistant: &Assistant) -> Result<(), Failure> {
    let user = assistant.notification(id).await?.user;
    let preferences = assistant.user(&user).await?.preferences;
    let (now, zone) = (Timestamp::now(), &preferences.zone);
    let named = parse_alone(until, &now.to_zoned(zone.rules().clone()), None).map_err(Error::Date)?;
    // A day without a time means the morning of that day, after the user's quiet hours.
    let morning = Some(named.start.date()).filter(|_| named.all_day);
    let morning = morning.and_then(|day| quiet_hours::morning(&preferences, day));
    let until = morning.unwrap_or_else(|| named.start.timestamp());
    let later = assistant.snooze(id, until, ACTOR, now).await?;
    if output::is_json() {
        return output::json(&as_json(&later.id, assistant).await?);
    }
    output::note(format!("snoozed until {}", zone.civil(until).strftime("%A, %Y-%m-%d %H:%M")));
    output::data(later.id.as_str())
}

/// Sends a test message through a channel.
pub(super) async fn test(user: &UserId, channel: Channel, app: &Arc<App>) -> Result<(), Failure> {
    if channel == Channel::Popup {
        return Err(Failure::usage("questions are asked by the hub")
            .hint("`adjutant ask --title 'Does it arrive?'` tests the Inbox"));
    }
    let user = app.assistant.user(user).await?;
    let name = channel.name();
    let failed = |why: String| Err(Failure::new(format!("the {name} was not sent: {}", escape_line(&why))));
    match app.test_channel(&user, channel).await? {
        SendOutcome::Sent(answer) => {
            let sent = json!({"id": user.id, "user_id": user.id, "channel": name, "answer": answer});
            output::changed(escape_line(&format!("the {name} was sent: {answer}")), &sent)
        }
        SendOutcome::Simulated(why) => {
            let hint =
                "`adjutant users show USER` shows the addresses, [notifications] in config.toml the senders";
            Err(Failure::new(format!("the {name} was not sent: {why}")).hint(hint))
        }
        SendOutcome::Unknown(why) => {
            let why = escape_line(&why);
            Err(Failure::new(format!("whether the {name} was sent is not known: {why}"))
                .hint("see whether it arrives"))
        }
        SendOutcome::Failed(why) | SendOutcome::Rejected(why) | SendOutcome::Withdrawn(why) => failed(why),
        SendOutcome::Held(_) => failed("it is quiet now".to_owned()),
    }
}

/// Acknowledges a notification, so that it does not escalate.
pub(super) async fn acknowledge(id: &NotificationId, assistant: &Assistant) -> Result<(), Failure> {
    let first = assistant.acknowledge(id, ACTOR, Timestamp::now()).await?;
    let line = if first { "acknowledged" } else { "it was acknowledged before" };
    output::changed(line, &as_json(id, assistant).await?)
}

/// Returns a notification as JSON.
async fn as_json(id: &NotificationId, assistant: &Assistant) -> Result<Value, Failure> {
    let one = assistant.notification(id).await?;
    let zone = assistant.user(&one.user).await?.preferences.zone;
    Ok(output::identified(json::notification(&one, &zone), "notification_id"))
}
