//! Failures of a run: a closed list of classes, decided by structured events first and by documented words second.

use std::time::Duration;

use super::command_line::CommandVariant;
use super::sanitize::display_text;
use adjutant_host::process::Limit;

/// A run that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub class: Class,
    /// One sentence for the user, bounded, without escape sequences; it may hold the runner's own words.
    pub detail: String,
    /// The time until the usage limit ends, where the runner reported it.
    pub(crate) retry_after: Option<Duration>,
    /// The other command line that avoids this failure; set only if the run did nothing yet.
    pub(crate) retry_with: Option<CommandVariant>,
}

/// The kind of a failure. The words are stable, because results and the store hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Quota, rate limit or credit used up: the only class that moves on to the next runner.
    UsageLimit,
    /// Not logged in, or the key was refused.
    Authentication,
    /// The model's name is not known to the runner or its provider.
    ModelUnknown,
    /// The provider could not be reached.
    Network,
    /// The provider answered with an error.
    Provider,
    /// The program is missing, or cannot be started.
    NotInstalled,
    /// A time limit of the hub ended it.
    TimedOut(Limit),
    Cancelled,
    /// The runner or the hub declined: a permission, a folder that is not trusted, a flag that is not known.
    Refused,
    /// It ended by a signal, or with a failure it did not explain.
    Crashed,
    /// It ended well, but its output cannot be read.
    BadOutput,
    /// It ended well, without an answer.
    EmptyAnswer,
    /// The hub went away while it ran.
    HubGone,
    /// The process between the hub and the runner was killed.
    SupervisorGone,
}

impl Class {
    /// Returns the stable word for results, rows and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::UsageLimit => "usage_limit",
            Self::Authentication => "authentication",
            Self::ModelUnknown => "model_unknown",
            Self::Network => "network",
            Self::Provider => "provider",
            Self::NotInstalled => "not_installed",
            Self::TimedOut(Limit::Wall) => "timed_out",
            Self::TimedOut(Limit::Idle) => "timed_out_idle",
            Self::TimedOut(Limit::FirstOutput) => "timed_out_first_output",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
            Self::Crashed => "crashed",
            Self::BadOutput => "bad_output",
            Self::EmptyAnswer => "empty_answer",
            Self::HubGone => "hub_gone",
            Self::SupervisorGone => "supervisor_gone",
        }
    }
}

/// Phrases of each class, one a line, searched in a runner's message about its own failure and never in the model's text.
/// The first class with a hit wins, so the narrow classes come first. They are from recorded messages of the CLIs and from
/// the providers' documented error codes.
const PHRASES: &[(Class, &str)] = &[
    (Class::UsageLimit, include_str!("../../assets/failures/usage_limit.txt")),
    (Class::Authentication, include_str!("../../assets/failures/authentication.txt")),
    (Class::ModelUnknown, include_str!("../../assets/failures/model_unknown.txt")),
    (Class::Refused, include_str!("../../assets/failures/refused.txt")),
    (Class::EmptyAnswer, include_str!("../../assets/failures/empty_answer.txt")),
    (Class::Provider, include_str!("../../assets/failures/provider.txt")),
    (Class::Network, include_str!("../../assets/failures/network.txt")),
];

impl Failure {
    /// Returns a failure of this class with the sanitized `detail`.
    pub fn new(class: Class, detail: impl AsRef<str>) -> Self {
        Self { class, detail: display_text(detail.as_ref()), retry_after: None, retry_with: None }
    }

    /// Classifies a runner's message about its own failure; `default` is the class without a known word.
    pub(super) fn classify(text: &str, default: Class) -> Self {
        let class = class_of(text).unwrap_or(default);
        let retry_after = (class == Class::UsageLimit).then(|| parse_retry_after(text)).flatten();
        Self { retry_after, ..Self::new(class, text) }
    }

    /// Classifies a message with the HTTP status of the provider's answer.
    pub(super) fn from_status(status: u64, text: &str) -> Self {
        let class = match status {
            402 | 429 => Class::UsageLimit,
            401 | 403 => Class::Authentication,
            404 => Class::ModelUnknown,
            408 | 500.. => Class::Provider,
            _ => return Self::classify(text, Class::Provider),
        };
        let retry_after = (class == Class::UsageLimit).then(|| parse_retry_after(text)).flatten();
        Self { retry_after, ..Self::new(class, text) }
    }
}

/// Returns the class of a runner's own error message, where it has a known word.
pub(super) fn class_of(text: &str) -> Option<Class> {
    let text = text.to_lowercase();
    let hit = |(_, phrases): &&(Class, &str)| phrases.lines().any(|phrase| text.contains(phrase));
    PHRASES.iter().find(hit).map(|(class, _)| *class)
}

/// Parses the wait in `try again in 3 hours 20 minutes`, `retry after 30 seconds`, `Retry-After: 30`, `retry in 12.5s`.
pub(super) fn parse_retry_after(text: &str) -> Option<Duration> {
    const PREFIXES: &[&str] = &["again in ", "retry in ", "retry after ", "retry-after: ", "resets in "];
    /// The longest usage limit of a provider: 31 days.
    const MAX_SECONDS: f64 = 31.0 * 24.0 * 3600.0;
    let text = text.to_lowercase();
    let rest = PREFIXES.iter().find_map(|prefix| text.split_once(prefix)).map(|(_, rest)| rest)?;
    let mut seconds = 0.0;
    let mut found = false;
    let mut rest = rest;
    loop {
        rest = rest.trim_start_matches([' ', ',']).trim_start_matches("and ");
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..end].trim_end_matches('.').parse::<f64>() else { break };
        rest = rest[end..].trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (unit, after) = rest.split_at(end);
        let factor = match unit {
            "ms" => 0.001,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            // A first number without a known unit counts as seconds; a later one is not part of the wait.
            _ if !found => 1.0,
            _ => break,
        };
        seconds += number * factor;
        found = true;
        rest = after;
    }
    (found && seconds > 0.0).then(|| Duration::from_secs_f64(seconds.min(MAX_SECONDS)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::{any, proptest};

    use super::{Class, Failure, class_of, parse_retry_after};

    #[test]
    fn recorded_messages_have_their_class() {
        for (text, class) in [
            ("exceeded retry limit, last status: 429 Too Many Requests", Class::UsageLimit),
            ("You've hit your usage limit. Try again in 2 hours 5 minutes.", Class::UsageLimit),
            ("unexpected status 401 Unauthorized: no key, url: http://127.0.0.1:1/v1", Class::Authentication),
            ("Error: No authentication information found.", Class::Authentication),
            ("Not inside a trusted directory and --skip-git-repo-check was not specified.", Class::Refused),
            ("--dangerously-skip-permissions cannot be used with root/sudo privileges", Class::Refused),
            ("We’re currently experiencing high demand, which may cause temporary errors.", Class::Provider),
            ("stream disconnected before completion: rate limit reached for gpt-5", Class::UsageLimit),
            (
                "stream disconnected before completion: stream closed before response.completed",
                Class::Network,
            ),
            ("The model `gpt-9` does not exist or you do not have access to it.", Class::ModelUnknown),
        ] {
            assert_eq!(class_of(text), Some(class), "{text}");
        }
        assert_eq!(class_of("it went wrong on line 429"), None);
    }

    #[test]
    fn statuses_have_their_class() {
        for (status, class) in [
            (429, Class::UsageLimit),
            (401, Class::Authentication),
            (404, Class::ModelUnknown),
            (529, Class::Provider),
            (400, Class::Provider),
        ] {
            assert_eq!(Failure::from_status(status, "boom").class, class);
        }
    }

    #[test]
    fn waits_are_read() {
        for (text, seconds) in [
            ("Try again in 3 hours 20 minutes.", Some(12_000.0)),
            ("try again in 2 days, 1 hour and 5 minutes", Some(176_700.0)),
            ("retry after 30", Some(30.0)),
            ("Retry-After: 7\r\n", Some(7.0)),
            ("Please retry in 12.5s.", Some(12.5)),
            ("retry in 45.", Some(45.0)),
            ("try again later", None),
            ("try again in a while", None),
            ("retry after 99999999999999999999", Some(31.0 * 86_400.0)),
        ] {
            assert_eq!(parse_retry_after(text), seconds.map(Duration::from_secs_f64), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reading(text in any::<String>()) {
            Failure::classify(&format!("usage limit, try again in {text}"), Class::Crashed);
        }
    }
}
