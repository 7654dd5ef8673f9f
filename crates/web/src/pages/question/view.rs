//! Text of a question and its outcome, shared by all pages.

use std::time::SystemTime;

use minijinja::{Value, context};
use sha2::{Digest, Sha256};

use crate::timefmt;
use adjutant_base::config::env;
use adjutant_base::text::timefmt::instant;
use adjutant_questions::{
    Answer, AuditEntry, Channel, DecidedBy, Field, FieldValue, Input, Level, Outcome, OutcomeKind, Question,
};

/// Events of one question that its page shows.
const HAPPENED: usize = 40;

/// Colours of identity; `static/style.css` has as many.
const HUES: u8 = 12;

/// Returns what a list shows of a question, with the branch that its folder is on where that is known.
pub(in crate::pages) fn row(question: &Question, branch: Option<&str>, now: SystemTime) -> Value {
    let snoozed = question.snoozed_until.map(instant).filter(|until| *until > now);
    context! {
        ticket => question.ticket.as_str(),
        title => &question.title,
        who => who(question, branch),
        asked => timefmt::time(instant(question.asked_at), now),
        snoozed => snoozed.map(|until| timefmt::span(now, until)),
        high => question.level == Level::High,
        waits_no_more => question.presence.absence_reason(),
        outcome => question.state.outcome().map(|decided| outcome(decided, &question.fields, now)),
    }
}

/// Returns who asks: the client's name, its workspace with the branch that the hub sees there, and the colour that name
/// and workspace always have together.
pub(in crate::pages) fn who(question: &Question, branch: Option<&str>) -> Value {
    let digest = Sha256::digest(format!("{}\0{}", question.client, question.workspace));
    context! {
        client => if question.client.is_empty() { "an agent without a name" } else { &question.client },
        workspace => (!question.workspace.is_empty()).then(|| env::abbreviate(question.workspace.as_ref())),
        branch,
        hue => digest[0] % HUES,
    }
}

/// Returns an outcome: how it ended, where, by whom, and what was answered.
pub(in crate::pages) fn outcome(outcome: &Outcome, fields: &[Field], now: SystemTime) -> Value {
    let kind = match outcome.kind {
        OutcomeKind::Answered => "Answered",
        OutcomeKind::Declined if outcome.ask_differently => "Sent back",
        OutcomeKind::Declined => "Declined",
        OutcomeKind::Dismissed => "Dismissed",
        OutcomeKind::TimedOut => "Timed out",
        OutcomeKind::Cancelled => "Withdrawn",
        OutcomeKind::ClientGone => "Client disconnected",
    };
    let how = match (outcome.by, outcome.through) {
        (DecidedBy::Default, _) => "by default, because it was seen and not answered",
        (DecidedBy::Nobody, _) => match outcome.kind {
            OutcomeKind::TimedOut => "the question expired",
            OutcomeKind::Cancelled => "the agent no longer asks",
            OutcomeKind::ClientGone => "its client disconnected and did not come back",
            OutcomeKind::Answered | OutcomeKind::Declined | OutcomeKind::Dismissed => "",
        },
        (DecidedBy::User, Channel::Browser) => "in the browser",
        (DecidedBy::User, Channel::Terminal) => "in the terminal",
        (DecidedBy::User, Channel::Notification) => "through a notification",
        (DecidedBy::User, Channel::Phone) => "on the phone",
        (DecidedBy::User, Channel::Client) => "in the client itself",
        (DecidedBy::User, Channel::None) => "",
    };
    context! {
        kind,
        state => match outcome.kind {
            OutcomeKind::Answered => "succeeded",
            OutcomeKind::Declined | OutcomeKind::Dismissed | OutcomeKind::Cancelled => "queued",
            OutcomeKind::TimedOut | OutcomeKind::ClientGone => "failed",
        },
        how,
        at => timefmt::time(instant(outcome.at), now),
        note => outcome.note.as_deref(),
        answers => outcome.answer.as_ref().map(|answer| answers(answer, fields)).unwrap_or_default(),
    }
}

/// Returns what happened to a question, the latest of it, in the words of a person.
pub(in crate::pages) fn happened(events: &[AuditEntry], now: SystemTime) -> Vec<Value> {
    let shown = &events[events.len().saturating_sub(HAPPENED)..];
    let event = |event: &AuditEntry| {
        let what = match event.kind.as_str() {
            "asked" => "Asked",
            "asked_again" => "Asked again",
            "rung" => "Rang",
            "seen" => "Shown first",
            "snoozed" => "Snoozed",
            "answered" => "Answered",
            "taken_back" => "Undone",
            "default" => "Answered by its default",
            "declined" => "Declined",
            "dismissed" => "Dismissed",
            "timed_out" => "Timed out",
            "cancelled" => "Withdrawn",
            "client_gone" => "Client disconnected",
            "final" => "Final",
            "refused" => "Refused: a wrong passphrase",
            "form_closed" => "The client's form was closed",
            "no_form" => "The client's own forms cannot ask this, so it is asked here",
            "silent" => "Its client stopped asking for it",
            "heard" => "Its client asks for it again",
            "unfit" => "The client's form came back without an answer",
            "link_followed" => "The client opened its page",
            "delivered" => "Sent to the client",
            // An event of a later version.
            other => other,
        };
        let place = match event.who.as_str() {
            "browser" => " in the browser",
            "terminal" => " in the terminal",
            "notification" => " through a notification",
            "phone" => " on the phone",
            // Of its form it is said already, and an asker's name stands above.
            _ => "",
        };
        context! { what => format!("{what}{place}"), at => timefmt::time(instant(event.at), now) }
    };
    shown.iter().map(event).collect()
}

/// Returns an answer as pairs of a field's label and what was given, in the person's words and not the program's.
pub(in crate::pages) fn answers(answer: &Answer, fields: &[Field]) -> Vec<Value> {
    let given = fields.iter().filter_map(|field| {
        let given = match answer.get(&field.name)? {
            FieldValue::Choices(values) => {
                values.iter().map(|value| label(field, value)).collect::<Vec<_>>().join(", ")
            }
            FieldValue::Other(text) | FieldValue::Text(text) | FieldValue::Date(text) => text.clone(),
            FieldValue::Number(number) => number.to_string(),
            FieldValue::YesNo(yes) => if *yes { "Yes" } else { "No" }.to_owned(),
        };
        Some(context! { label => &field.label, given })
    });
    given.collect()
}

fn label(field: &Field, value: &str) -> String {
    let Input::Choice { options, .. } = &field.input else { return value.to_owned() };
    let option = options.iter().find(|option| option.value == value);
    option.map_or_else(|| value.to_owned(), |option| option.label.clone())
}
