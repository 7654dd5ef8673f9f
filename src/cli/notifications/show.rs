//! `adjutant notifications show`.

use clap::Args;
use serde_json::{Value, json};

use super::super::output::{self, Failure};
use adjutant_assistant::json;
use adjutant_assistant::{Assistant, NotificationId};
use adjutant_base::text::escape_invisible::escape_line;

/// Arguments of `adjutant notifications show`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArgs {
    /// The notification, as `adjutant notifications list` shows it
    id: NotificationId,
}

/// Prints a notification with its reasons and attempts.
pub(super) async fn run(args: &ShowArgs, assistant: &Assistant) -> Result<(), Failure> {
    let id = &args.id;
    let one = assistant.notification(id).await?;
    let zone = assistant.user(&one.user).await?.preferences.zone;
    let attempts = assistant.attempts(id).await?;
    let mut value = json::notification(&one, &zone);
    value["text"] = Value::from(one.wording.text.as_str());
    value["attempts"] = attempts
        .iter()
        .map(|attempt| {
            json!({
                "number": attempt.number,
                "started": json::time(attempt.started_at, &zone),
                "ended": attempt.ended_at.map(|at| json::time(at, &zone)),
                "outcome": attempt.outcome,
                "detail": attempt.detail,
            })
        })
        .collect();
    let plan = assistant.plan_of(&one.event, &one.occurrence).await?;
    value["plan"] = json!(plan.map(|plan| json!({"source": plan.source.name(), "reasons": plan.reasons})));
    if output::is_json() {
        return output::json(&output::identified(value, "notification_id"));
    }
    let at = zone.civil(one.due_at).strftime("%A, %Y-%m-%d %H:%M");
    let mut lines = vec![
        format!("{}  {}", one.id, escape_line(&one.wording.subject)),
        format!("  {} by {}, due {at} ({zone})", one.status.name(), one.channel.word()),
    ];
    lines.extend(one.error.iter().map(|error| format!("  {}", escape_line(error))));
    lines.extend(one.reasons.iter().map(|reason| format!("  {}: {}", reason.by, escape_line(&reason.why))));
    for attempt in &attempts {
        let outcome = attempt.outcome.as_deref().unwrap_or("running");
        let detail = escape_line(attempt.detail.as_deref().unwrap_or_default());
        lines.push(format!(
            "  attempt {} at {}: {outcome} {detail}",
            attempt.number,
            json::time(attempt.started_at, &zone)
        ));
    }
    output::data(&lines.join("\n"))
}
