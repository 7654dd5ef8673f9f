//! `adjutant users rule`.

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use crate::cli::one_of;
use crate::cli::output::{self, Failure};
use adjutant_assistant::plans::PlanScope;
use adjutant_assistant::user::RuleKind;
use adjutant_assistant::{Assistant, Rule, RuleId, UserId};

/// Arguments of `adjutant users rule`.
#[derive(Debug, Args)]
pub(in crate::cli) struct RuleArgs {
    /// The user, as `adjutant users list` shows them
    id: UserId,
    /// Kind of the rule: `vip_organizer`, `internal_meeting`, `travel_buffer` or `quiet_title`
    #[arg(hide_possible_values = true, value_parser = one_of(RuleKind::ALL.iter().map(|kind| (kind.name(), *kind))), required_unless_present = "remove")]
    kind: Option<RuleKind>,
    /// Values of the rule, as NAME=VALUE: organizer=ann, domain=example.org, minutes=30, title=stand-up
    #[arg(value_name = "NAME=VALUE")]
    terms: Vec<String>,
    /// Priority, 0 to 100; a higher one is applied first
    #[arg(long, default_value_t = 50)]
    priority: u32,
    /// Remove the rule of this id instead
    #[arg(long, value_name = "RULE", conflicts_with = "kind")]
    remove: Option<RuleId>,
}

/// Adds a rule and prints its id, or removes one. Then plans the user's notifications by the new rules.
pub(super) async fn run(args: RuleArgs, assistant: &Assistant) -> Result<(), Failure> {
    let RuleArgs { id, kind, terms, priority, remove } = args;
    match (remove, kind) {
        (Some(rule), _) => {
            assistant.remove_rule(&id, &rule).await?;
            replan(assistant, &id).await?;
            output::changed("removed", &json!({"id": rule, "rule_id": rule, "user_id": id, "removed": true}))
        }
        (None, Some(kind)) => add_rule(assistant, id, kind, &terms, priority).await,
        (None, None) => Err(Failure::usage("the kind of the rule is missing")
            .hint("adjutant users rule ann vip_organizer organizer=bob, or --remove RULE")),
    }
}

async fn add_rule(
    assistant: &Assistant,
    user: UserId,
    kind: RuleKind,
    terms: &[String],
    priority: u32,
) -> Result<(), Failure> {
    let term = |text: &String| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("`{text}` has no `=`")).hint("use NAME=VALUE"))?;
        let number = value.parse::<u64>().ok().filter(|_| name == "minutes");
        let value = number.map_or_else(|| json!(value), |number| json!(number));
        Ok((name.to_owned(), value))
    };
    let terms = terms.iter().map(term).collect::<Result<_, Failure>>()?;
    let rule = Rule { id: RuleId::new()?, user, kind, terms, enabled: true, priority };
    assistant.put_rule(&rule).await?;
    replan(assistant, &rule.user).await?;
    if output::is_json() {
        let mut value = adjutant_assistant::json::rule(&rule);
        value["user_id"] = json!(rule.user);
        value["removed"] = json!(false);
        return output::json(&output::identified(value, "rule_id"));
    }
    output::data(rule.id.as_str())
}

/// Plans a user's notifications by the current rules.
async fn replan(assistant: &Assistant, user: &UserId) -> Result<(), Failure> {
    assistant.plan(user, None, PlanScope::Unplanned, Timestamp::now()).await?;
    Ok(())
}
