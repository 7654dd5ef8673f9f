//! A permission request as a question, and its answer as a decision with a rule.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::ToolCall;
use crate::approvals::{OF_AGENT, fenced};
use adjutant_base::text::{clip, timefmt};
use adjutant_permissions::{Access, Decision, Request, Rule, Verdict};
use adjutant_questions::{APPROVE, Choice, Draft, Field, FieldValue, Input, Outcome};

/// The field of the answer, and the values of its options.
const ANSWER: &str = "answer";
const ALWAYS: &str = "always";
const FOLDER: &str = "folder";
const SESSION: &str = "session";
const DENY: &str = "deny";
const NEVER: &str = "never";

/// Maximum characters of a button and of a tool's name in a title. The message has the whole request.
const MAX_LABEL_CHARS: usize = 200;

/// How long a rule for one session counts at most, because the end of a session is not seen.
const SESSION_RULE_LIFETIME: Duration = Duration::from_hours(24);

/// Turns a request into a question. Its message begins with the facts, so that the words of the agent cannot imitate
/// them.
pub(super) fn draft(call: &ToolCall, request: &Request, decision: &Decision, wait: Duration) -> Draft {
    let what = match request.access {
        Access::Read => "read a file".to_owned(),
        Access::List => "list files".to_owned(),
        Access::Write => "write a file".to_owned(),
        Access::Run => "run a command".to_owned(),
        Access::Fetch => "fetch an address".to_owned(),
        Access::Unknown => format!("use the tool {}", clip::chars(&call.tool, MAX_LABEL_CHARS)),
    };
    let mut message = String::new();
    let mut add = |label: &str, language: &str, text: &str| {
        let _ = write!(message, "{label}:\n\n{}\n", fenced(language, text));
    };
    if let Some(line) = &request.line {
        add("command", "sh", line);
    }
    for path in &request.paths {
        add("path", "", &path.display().to_string());
    }
    if let Some(host) = &request.host {
        add("host", "", host);
    }
    add("folder", "", &request.folder.display().to_string());
    if request.works_in != request.folder {
        add("runs in", "", &request.works_in.display().to_string());
    }
    let text =
        |names: &[&str]| names.iter().find_map(|name| call.arguments.get(*name).and_then(Value::as_str));
    if let (Some(old), Some(new)) =
        (text(&["old_string", "old_str", "oldString"]), text(&["new_string", "new_str", "newString"]))
    {
        let mut change = String::new();
        for (mark, text) in [("-", old), ("+", new)] {
            for line in text.lines() {
                change.extend([mark, line, "\n"]);
            }
        }
        add("change", "diff", &change);
    }
    add(
        &format!("all arguments of {}", call.tool),
        "json",
        &format!("{:#}", Value::from(call.arguments.clone())),
    );
    if !decision.rules.is_empty() {
        add("asked by the rules", "", &decision.rules.join("\n"));
    }
    if let Some(words) = text(&["description"]) {
        add(OF_AGENT, "", words);
    }
    let choice = |(value, label): (&str, String)| Choice {
        label: clip::chars(&label, MAX_LABEL_CHARS).into_owned(),
        value: value.to_owned(),
    };
    let options: Vec<Choice> = options(request, decision).into_iter().map(choice).collect();
    Draft {
        title: format!("{} wants to {what}", call.client_title),
        message,
        workspace: request.folder.display().to_string(),
        fields: vec![Field::new(
            ANSWER,
            Input::Choice { options, min: 1, max: 1, other: false, list: false },
        )],
        timeout: Some(wait),
        denials: [DENY, NEVER].map(str::to_owned).to_vec(),
        ..Draft::default()
    }
}

/// Returns the options. Those that make a rule name it, and are left out where no rule can decide the request.
fn options(request: &Request, decision: &Decision) -> Vec<(&'static str, String)> {
    // The end of a session's rule counts from the answer. Here it would make identical requests differ.
    let rule = |value| rule(request, value).map(|rule| Rule { expires: None, ..rule }.summary());
    // A rule that asks wins over one that allows.
    let may_learn = decision.rules.is_empty();
    let learned = [
        (ALWAYS, "Always allow"),
        (FOLDER, "Always allow here"),
        (SESSION, "Allow for this session, at most 24 hours"),
    ];
    let learned = learned
        .into_iter()
        .filter(|(value, _)| may_learn && (*value != SESSION || !request.session.is_empty()));
    let learned = learned.filter_map(|(value, label)| Some((value, format!("{label}: {}", rule(value)?))));
    let never = rule(NEVER).map(|summary| (NEVER, format!("Never allow: {summary}")));
    let deny = (DENY, "Deny".to_owned());
    std::iter::once((APPROVE, "Approve".to_owned())).chain(learned).chain([deny]).chain(never).collect()
}

/// Returns the rule that an option makes; `None` for an option without one.
fn rule(request: &Request, value: &str) -> Option<Rule> {
    let verdict = if value == NEVER { Verdict::Deny } else { Verdict::Allow };
    let mut rule = Rule::narrowest(request, verdict)?;
    match value {
        ALWAYS | NEVER => {}
        FOLDER => rule.folder = Some(request.works_in.clone()),
        SESSION => {
            rule.client = Some(request.client.clone());
            rule.session = Some(request.session.clone());
            rule.expires = Some(timefmt::millis(SystemTime::now() + SESSION_RULE_LIFETIME));
        }
        _ => return None,
    }
    Some(rule)
}

/// Returns the decision of an answer, with the rule that the user made; `None` for any other outcome.
pub(super) fn decision(request: &Request, outcome: &Outcome) -> Option<(Verdict, Option<Rule>)> {
    let Some(FieldValue::Choices(chosen)) = outcome.answer.as_ref()?.get(ANSWER) else { return None };
    let value = chosen.first()?.as_str();
    let verdict = match value {
        APPROVE | ALWAYS | FOLDER | SESSION => Verdict::Allow,
        DENY | NEVER => Verdict::Deny,
        _ => return None,
    };
    Some((verdict, rule(request, value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identical_requests_at_different_times_are_one_draft() {
        let arguments = [("command".to_owned(), Value::from("make docs"))].into_iter().collect();
        let request = Request::new(("claude", "s1"), "/w".as_ref(), "Bash", arguments, |_, path| path.into());
        let offered = options(&request, &adjutant_permissions::Rules::default().decide(&request, 0));
        let session = offered.iter().find(|(value, _)| *value == SESSION).map(|(_, label)| label.as_str());
        assert_eq!(
            session,
            Some("Allow for this session, at most 24 hours: command make docs, client claude, session s1")
        );
    }
}
