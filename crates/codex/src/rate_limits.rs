//! The rate limits of an account.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The limits of the account that Codex is logged in with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RateLimits {
    /// The plan of the account, in Codex's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    pub windows: Vec<LimitWindow>,
}

/// A limit on what is used in a span of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitWindow {
    /// `primary` or `secondary`.
    pub name: String,
    pub used_percent: f64,
    /// The length of the span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<i64>,
    /// When the span ends, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<i64>,
}

impl RateLimits {
    /// Parses a snapshot of app-server.
    pub(super) fn parse(snapshot: &Value) -> Self {
        let window = |name: &str| {
            let window = &snapshot[name];
            Some(LimitWindow {
                name: name.to_owned(),
                used_percent: window["usedPercent"].as_f64()?,
                minutes: window["windowDurationMins"].as_i64(),
                resets_at: window["resetsAt"].as_i64().map(|seconds| seconds.saturating_mul(1000)),
            })
        };
        Self {
            plan: snapshot["planType"].as_str().map(ToOwned::to_owned),
            windows: ["primary", "secondary"].into_iter().filter_map(window).collect(),
        }
    }
}

impl LimitWindow {
    /// Returns the limit as words: `34% of 5 hours used`.
    pub fn words(&self) -> String {
        let used = self.used_percent;
        let Some(minutes) = self.minutes else { return format!("{used}% used") };
        let units = [("day", 1440), ("hour", 60), ("minute", 1)];
        let (unit, length) = units.into_iter().find(|(_, length)| minutes % length == 0).unwrap_or(units[2]);
        let plural = if minutes == length { "" } else { "s" };
        format!("{used}% of {} {unit}{plural} used", minutes / length)
    }
}

#[cfg(test)]
mod tests {
    use super::LimitWindow;

    #[test]
    fn a_span_is_said_in_its_longest_unit() {
        let words = |minutes| {
            let name = "primary".to_owned();
            LimitWindow { name, used_percent: 5.5, minutes, resets_at: None }.words()
        };
        let said = [None, Some(1), Some(60), Some(90), Some(300), Some(1440), Some(10_080)].map(words);
        let spans =
            ["", " of 1 minute", " of 1 hour", " of 90 minutes", " of 5 hours", " of 1 day", " of 7 days"];
        assert_eq!(said, spans.map(|span| format!("5.5%{span} used")));
    }
}
