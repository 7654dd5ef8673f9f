//! `adjutant users show`.

use clap::Args;
use serde_json::json;

use super::super::output::{self, Failure};
use adjutant_assistant::json;
use adjutant_assistant::{Assistant, UserId};
use adjutant_base::text::escape_invisible::escape_line;

/// Arguments of `adjutant users show`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArgs {
    /// The user, as `adjutant users list` shows them
    id: UserId,
}

/// Prints a user with preferences, rules and calendars.
pub(super) async fn run(args: &ShowArgs, assistant: &Assistant) -> Result<(), Failure> {
    let id = &args.id;
    let (user, rules, calendars) =
        (assistant.user(id).await?, assistant.rules(id).await?, assistant.calendars(id).await?);
    let mut value = json::user(&user);
    value["rules"] = rules.iter().map(|rule| output::identified(json::rule(rule), "rule_id")).collect();
    let calendar = |one: &adjutant_assistant::Calendar| {
        output::identified(
            json!({"id": one.id.as_str(), "name": one.name, "source": one.source.name(), "place": one.place}),
            "calendar_id",
        )
    };
    value["calendars"] = calendars.iter().map(calendar).collect();
    if output::is_json() {
        return output::json(&output::identified(value, "user_id"));
    }
    let mut lines = vec![format!("{}  {}", user.id, escape_line(&user.name))];
    let member = |name: &str, value: &serde_json::Value| match value {
        serde_json::Value::Null => format!("  {name:<21}none"),
        serde_json::Value::String(text) => format!("  {name:<21}{}", escape_line(text)),
        serde_json::Value::Array(all) => {
            let all: Vec<_> = all.iter().filter_map(serde_json::Value::as_str).map(escape_line).collect();
            format!("  {name:<21}{}", all.join(", "))
        }
        other => format!("  {name:<21}{other}"),
    };
    lines.extend(["email", "phone"].iter().map(|name| member(name, &value[name])));
    if let Some(preferences) = value["preferences"].as_object() {
        lines.extend(preferences.iter().map(|(name, value)| member(name, value)));
    }
    for rule in &rules {
        let terms = serde_json::to_string(&rule.terms).unwrap_or_default();
        lines.push(format!("  rule {}  {} {terms} (priority {})", rule.id, rule.kind.name(), rule.priority));
    }
    for one in &calendars {
        lines.push(format!(
            "  calendar {}  {} ({})",
            escape_line(&one.name),
            escape_line(&one.place),
            one.source.name()
        ));
    }
    output::data(&lines.join("\n"))
}
