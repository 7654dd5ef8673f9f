//! The notifications of app-server, of any thread.

use serde_json::Value;

use super::super::json_fields;
use super::items;
use crate::event::{CodexEvent, End, Level, Usage};
use crate::rate_limits::RateLimits;

/// Parses a notification; one without a meaning here has no events.
pub(super) fn of(method: &str, params: &Value) -> Vec<CodexEvent> {
    let turn = json_fields::text(&params["turnId"]).or_else(|| json_fields::text(&params["turn"]["id"]));
    let event = match method {
        "turn/started" => CodexEvent::TurnStarted { turn: turn.unwrap_or_default() },
        "turn/completed" => {
            let turn = &params["turn"];
            let end = End::of_status(turn["status"].as_str());
            let message = json_fields::text(&turn["error"]["message"]);
            CodexEvent::TurnEnded { turn: json_fields::text(&turn["id"]), end, message }
        }
        "turn/plan/updated" => CodexEvent::ItemStarted { item: items::plan(params, turn) },
        "item/started" => CodexEvent::ItemStarted { item: items::item(&params["item"], turn, false) },
        "item/completed" => CodexEvent::ItemEnded { item: items::item(&params["item"], turn, true) },
        "item/agentMessage/delta"
        | "item/plan/delta"
        | "item/reasoning/summaryTextDelta"
        | "item/commandExecution/outputDelta" => CodexEvent::ItemGrew {
            id: json_fields::words(&params["itemId"]),
            text: json_fields::words(&params["delta"]),
        },
        "turn/diff/updated" => CodexEvent::Diff { diff: json_fields::words(&params["diff"]) },
        "thread/tokenUsage/updated" => CodexEvent::Usage(usage(&params["tokenUsage"])),
        "account/rateLimits/updated" => {
            let limits = RateLimits::parse(&params["rateLimits"]);
            if limits.windows.is_empty() {
                return Vec::new();
            }
            CodexEvent::Limits(limits)
        }
        "warning" => return notice(Level::Warning, &params["message"]),
        "deprecationNotice" => return notice(Level::Info, &params["summary"]),
        "error" => return notice(Level::Error, &params["error"]["message"]),
        _ => return Vec::new(),
    };
    vec![event]
}

pub(super) fn notice(level: Level, message: &Value) -> Vec<CodexEvent> {
    vec![CodexEvent::Notice { level, message: json_fields::words(message) }]
}

fn usage(tokens: &Value) -> Usage {
    let count = |member: &str| tokens["total"][member].as_u64().unwrap_or(0);
    Usage {
        input: count("inputTokens"),
        cached: count("cachedInputTokens"),
        output: count("outputTokens"),
        reasoning: count("reasoningOutputTokens"),
        total: count("totalTokens"),
        context: tokens["last"]["totalTokens"].as_u64().unwrap_or(0),
        window: tokens["modelContextWindow"].as_u64().unwrap_or(0),
    }
}
