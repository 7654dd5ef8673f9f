//! Text of a question and its outcome, shared by all pages.

use minijinja::{Value, context};
use sha2::{Digest, Sha256};

use crate::{markdown, number_format, timefmt};
use adjutant_base::config::env;
use adjutant_base::text::escape_invisible::count_invisible;
use adjutant_questions::{
    APPROVE, Answer, AuditEntry, Channel, Choice, DecidedBy, Field, FieldValue, Input, Level, Outcome,
    OutcomeKind, Question, State, recommended,
};

/// Maximum events of one question on its page.
const MAX_EVENTS: usize = 40;

/// Maximum bytes of a message on the start page, and maximum options that are buttons there.
const MAX_INLINE_BYTES: usize = 4096;
const MAX_BUTTONS: usize = 6;

/// Number of colours for askers; `static/style.css` has as many.
const HUES: u8 = 9;

/// Returns a question for a list, with the branch of its folder if that is known.
pub(in crate::pages) fn row(question: &Question, branch: Option<&str>) -> Value {
    context! {
        ticket => question.ticket.as_str(),
        title => &question.title,
        asker => asker(question, branch),
        asked => question.asked_at,
        expires => timefmt::left(question.deadline),
        deadline => question.deadline,
        snoozed => question.snoozed_until.filter(|_| question.state == State::Pending).and_then(timefmt::left),
        high => question.level == Level::High,
        approval => !question.denials.is_empty(),
        absence => question.presence.absence_reason(),
        outcome => question.state.outcome().map(|decided| outcome(decided, &question.fields)),
    }
}

/// Returns the message of a question, and the answers that a button can give without the page of the question. A message
/// that is not whole has none, because a user decides by all of it; nor has a question with a passphrase or with several
/// fields.
pub(in crate::pages) fn inline(question: &Question) -> Value {
    let whole = is_whole(question);
    let text = if whole {
        &question.message
    } else {
        &question.message[..question.message.floor_char_boundary(MAX_INLINE_BYTES)]
    };
    let options = if whole && question.level != Level::High { options(question) } else { Vec::new() };
    context! {
        message => Value::from_safe_string(markdown::html(text)),
        whole,
        options,
        other => matches!(&question.fields[..], [Field { input: Input::Choice { other: true, .. }, .. }]),
        calls => question.deliveries,
        hidden_characters => count_invisible(&question.message) + count_invisible(&question.title),
    }
}

/// Returns the options of a question that one button each can answer; none for a question that needs a form.
pub(in crate::pages) fn options(question: &Question) -> Vec<Value> {
    match &question.fields[..] {
        [Field { input: Input::Choice { options, min: 1, max: 1, .. }, .. }]
            if options.len() <= MAX_BUTTONS =>
        {
            let option = |(number, option): (usize, &Choice)| {
                let denies = question.denials.contains(&option.value);
                context! { value => number, denies, approves => !question.denials.is_empty() && option.value == APPROVE, ..label_parts(&option.label) }
            };
            options.iter().enumerate().map(option).collect()
        }
        [Field { input: Input::YesNo, required: true, .. }] => {
            let option = |label: &str| context! { value => label.to_lowercase(), denies => false, approves => false, ..label_parts(label) };
            vec![option("Yes"), option("No")]
        }
        _ => Vec::new(),
    }
}

/// Returns whether the start page has the whole message of a question.
pub(in crate::pages) fn is_whole(question: &Question) -> bool {
    question.message.len() <= MAX_INLINE_BYTES
}

/// Returns the label of an option without the mark by which an agent recommends it, and whether it has the mark.
pub(in crate::pages) fn label_parts(label: &str) -> Value {
    let plain = recommended(label);
    context! { label => plain.unwrap_or(label), recommended => plain.is_some() }
}

/// Returns the asker of a question: the client's name, the workspace with its branch, the folder in which the client
/// runs if that is unrelated, and a colour that depends on the name alone.
pub(in crate::pages) fn asker(question: &Question, branch: Option<&str>) -> Value {
    let digest = Sha256::digest(&question.client);
    context! {
        client => if question.client.is_empty() { "an agent without a name" } else { &question.client },
        workspace => (!question.workspace.is_empty()).then(|| env::with_tilde(question.workspace.as_ref())),
        runs_in => (!question.runs_in.is_empty()).then(|| env::with_tilde(question.runs_in.as_ref())),
        branch,
        hue => digest[0] % HUES,
    }
}

/// Returns an outcome: its kind, the channel, the decider and the answer.
pub(in crate::pages) fn outcome(outcome: &Outcome, fields: &[Field]) -> Value {
    let kind = match outcome.kind {
        OutcomeKind::Declined if outcome.ask_differently => "sent back",
        kind => kind.word(outcome.denied),
    };
    let how = match (outcome.by, outcome.through) {
        (DecidedBy::Default, _) => "by default, because it was seen and not answered",
        (DecidedBy::Nobody, _) => match outcome.kind {
            OutcomeKind::TimedOut => "the question expired",
            OutcomeKind::Cancelled => "the agent no longer asks",
            OutcomeKind::ClientGone => "its client disconnected and did not reconnect",
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
            OutcomeKind::Answered if outcome.not_applied.is_some() => "failed",
            OutcomeKind::Answered if outcome.denied => "queued",
            OutcomeKind::Answered => "succeeded",
            OutcomeKind::Declined | OutcomeKind::Dismissed | OutcomeKind::Cancelled => "queued",
            OutcomeKind::TimedOut | OutcomeKind::ClientGone => "failed",
        },
        how => match &outcome.user {
            Some(user) => format!("by {user} {how}"),
            None => how.to_owned(),
        },
        at => outcome.at,
        note => outcome.note.as_deref(),
        files => outcome.files.iter().map(|file| {
            context! { name => &file.name, size => number_format::size(file.size), image => file.is_image() }
        }).collect::<Vec<_>>(),
        not_applied => outcome.not_applied.as_deref(),
        answers => outcome.answer.as_ref().map(|answer| answers(answer, fields)).unwrap_or_default(),
    }
}

/// Returns the latest events of a question as text.
pub(in crate::pages) fn audit(events: &[AuditEntry]) -> Vec<Value> {
    let shown = &events[events.len().saturating_sub(MAX_EVENTS)..];
    let event = |event: &AuditEntry| {
        let text = match event.kind.as_str() {
            "asked" => "Asked",
            "asked_again" => "Asked again",
            "rung" => "Rang",
            "seen" => "Shown first",
            "snoozed" => "Snoozed",
            "answered" => "Answered",
            "undone" => "Undone",
            "default" => "Answered by its default",
            "declined" => "Declined",
            "dismissed" => "Dismissed",
            "timed_out" => "Expired",
            "cancelled" => "Cancelled",
            "client_gone" => "Client disconnected",
            "final" => "Final",
            "not_applied" => "Not applied",
            "refused" => "Refused: a wrong passphrase",
            "form_closed" => "The client's form was closed",
            "no_form" => "The client's own forms cannot ask this, so it is asked here",
            "silent" => "Its client stopped asking for it",
            "returned" => "Its client asks for it again",
            "unfit" => "The client returned the form without an answer",
            "link_followed" => "The client opened its page",
            "delivered" => "Sent to the client",
            // An event of a later version.
            other => other,
        };
        // A channel, and after it the user who logged in.
        let (channel, user) = event.who.split_once(' ').unwrap_or((&event.who, ""));
        let place = match channel {
            "browser" => " in the browser",
            "terminal" => " in the terminal",
            "notification" => " through a notification",
            "phone" => " on the phone",
            "email" => " by mail",
            "webhook" => " by webhook",
            // The text names the client's form already, and the page the asker.
            _ => "",
        };
        let preposition = if event.kind == "rung" { "of" } else { "by" };
        let by = if place.is_empty() || user.is_empty() {
            String::new()
        } else {
            format!(" {preposition} {user}")
        };
        context! { text => format!("{text}{place}{by}"), at => event.at }
    };
    shown.iter().map(event).collect()
}

/// Returns an answer as pairs of a field's label and its value as the user saw it.
pub(in crate::pages) fn answers(answer: &Answer, fields: &[Field]) -> Vec<Value> {
    let given = fields.iter().filter_map(|field| {
        let given = match answer.get(&field.name)? {
            FieldValue::Choices(values) => {
                values.iter().map(|value| label(field, value)).collect::<Vec<_>>().join(", ")
            }
            FieldValue::Other(text) | FieldValue::Text(text) | FieldValue::Date(text) => text.clone(),
            FieldValue::Number(number) => number.to_string(),
            FieldValue::YesNo(yes) => if *yes { "Yes" } else { "No" }.to_owned(),
            FieldValue::Secret => "a secret, which is not kept".to_owned(),
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
