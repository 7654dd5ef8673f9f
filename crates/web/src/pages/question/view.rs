//! A question and its outcome in words, as every page that names one says it.

use std::time::SystemTime;

use minijinja::{Value, context};
use sha2::{Digest, Sha256};

use crate::clock::instant;
use crate::config::env;
use crate::popups::{Answer, By, Field, Given, Happened, Input, Kind, Level, Outcome, Presenter, Question};
use crate::web::when;

/// Events of one question that its page shows.
const HAPPENED: usize = 40;

/// Colours of identity; `static/style.css` has as many.
const HUES: u8 = 12;

/// Returns what a list shows of a question, with the branch that its folder is on where that is known.
pub(in crate::web::pages) fn row(question: &Question, branch: Option<&str>, now: SystemTime) -> Value {
    let snoozed = question.snoozed_until.map(instant).filter(|until| *until > now);
    context! {
        ticket => question.ticket.as_str(),
        title => &question.title,
        who => who(question, branch),
        asked => when::time(instant(question.asked_at), now),
        snoozed => snoozed.map(|until| when::span(now, until)),
        high => question.level == Level::High,
        waits_no_more => question.waits.why_not(),
        outcome => question.state.outcome().map(|decided| outcome(decided, &question.fields, now)),
    }
}

/// Returns who asks: the client's name, its workspace with the branch that the hub sees there, and the colour that name
/// and workspace always have together.
pub(in crate::web::pages) fn who(question: &Question, branch: Option<&str>) -> Value {
    let digest = Sha256::digest(format!("{}\0{}", question.client, question.workspace));
    context! {
        client => if question.client.is_empty() { "an agent without a name" } else { &question.client },
        workspace => (!question.workspace.is_empty()).then(|| env::short(question.workspace.as_ref())),
        branch,
        hue => digest[0] % HUES,
    }
}

/// Returns an outcome: how it ended, where, by whom, and what was answered.
pub(in crate::web::pages) fn outcome(outcome: &Outcome, fields: &[Field], now: SystemTime) -> Value {
    let kind = match outcome.kind {
        Kind::Answered => "Answered",
        Kind::Declined if outcome.ask_differently => "Sent back",
        Kind::Declined => "Declined",
        Kind::Dismissed => "Dismissed",
        Kind::TimedOut => "Timed out",
        Kind::Cancelled => "Withdrawn",
        Kind::ClientGone => "Left behind",
    };
    let how = match (outcome.by, outcome.through) {
        (By::Default, _) => "by its default, since you looked and said nothing",
        (By::Nobody, _) => match outcome.kind {
            Kind::TimedOut => "nobody answered in time",
            Kind::Cancelled => "the agent no longer asks",
            Kind::ClientGone => "its client went away and did not come back",
            Kind::Answered | Kind::Declined | Kind::Dismissed => "",
        },
        (By::Person, Presenter::Browser) => "in the browser",
        (By::Person, Presenter::Terminal) => "in the terminal",
        (By::Person, Presenter::Notification) => "through a notification",
        (By::Person, Presenter::Phone) => "on the phone",
        (By::Person, Presenter::Client) => "in the client itself",
        (By::Person, Presenter::None) => "",
    };
    context! {
        kind,
        state => match outcome.kind {
            Kind::Answered => "succeeded",
            Kind::Declined | Kind::Dismissed | Kind::Cancelled => "queued",
            Kind::TimedOut | Kind::ClientGone => "failed",
        },
        how,
        at => when::time(instant(outcome.at), now),
        note => outcome.note.as_deref(),
        answers => outcome.answer.as_ref().map(|answer| answers(answer, fields)).unwrap_or_default(),
    }
}

/// Returns what happened to a question, the latest of it, in the words of a person.
pub(in crate::web::pages) fn happened(events: &[Happened], now: SystemTime) -> Vec<Value> {
    let shown = &events[events.len().saturating_sub(HAPPENED)..];
    let event = |event: &Happened| {
        let what = match event.kind.as_str() {
            "asked" => "Asked",
            "asked_again" => "Asked again",
            "rung" => "Rang",
            "seen" => "Shown first",
            "snoozed" => "Put off",
            "answered" => "Answered",
            "taken_back" => "Taken back",
            "default" => "Answered by its default",
            "declined" => "Declined",
            "dismissed" => "Dismissed",
            "timed_out" => "Timed out",
            "cancelled" => "Withdrawn",
            "client_gone" => "Left behind",
            "final" => "Final",
            "refused" => "Refused: a wrong passphrase",
            "form_closed" => "The client's form was closed",
            "no_form" => "The client's own forms cannot ask this, so it is asked here",
            "silent" => "Its client stopped asking for it",
            "heard" => "Its client asks for it again",
            "unfit" => "The client's form came back without an answer",
            "link_followed" => "The client opened its page",
            "delivered" => "Told to who asked",
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
        context! { what => format!("{what}{place}"), at => when::time(instant(event.at), now) }
    };
    shown.iter().map(event).collect()
}

/// Returns an answer as pairs of a field's label and what was given, in the person's words and not the program's.
pub(in crate::web::pages) fn answers(answer: &Answer, fields: &[Field]) -> Vec<Value> {
    let given = fields.iter().filter_map(|field| {
        let given = match answer.get(&field.name)? {
            Given::Choices(values) => {
                values.iter().map(|value| label(field, value)).collect::<Vec<_>>().join(", ")
            }
            Given::Other(text) | Given::Text(text) | Given::Date(text) => text.clone(),
            Given::Number(number) => number.to_string(),
            Given::YesNo(yes) => if *yes { "Yes" } else { "No" }.to_owned(),
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
