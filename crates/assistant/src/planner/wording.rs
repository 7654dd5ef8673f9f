//! Wording of notifications. A model's words are used where they are plain words; times and places are always written
//! by this program.

use super::due_times::{distance, spoken};
use super::proposal::ProposedNotification;
use super::situation::Situation;
use crate::event::{Event, Occurrence};
use crate::notification::{Offset, Wording};
use crate::time_zone::Zone;

const MAX_SUBJECT: usize = 120;
const MAX_TEXT: usize = 600;

/// Why a model's words are not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// They hold a time or a date, which a model gets wrong and a moved event makes wrong.
    Time,
    Markup,
    /// They hold an address, a link or a number that could be called.
    Address,
    Control,
}

impl Unfit {
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Time => "its words name a time of their own",
            Self::Markup => "its words hold markup",
            Self::Address => "its words hold an address, a link or a number",
            Self::Control => "its words hold control characters",
        }
    }
}

/// Returns the words of a step, and why they are not the proposed ones.
pub(super) fn wording(
    situation: &Situation<'_>,
    step: &ProposedNotification,
    offset: Offset,
) -> (Wording, Option<Unfit>) {
    let default = default_wording(situation, offset);
    let proposed = [&step.subject, &step.text, &step.speech];
    if let Some(unfit) = proposed.iter().find_map(|text| unfit(text)) {
        return (default, Some(unfit));
    }
    let choose = |text: &str, limit: usize, other: &str| {
        let text: String = text.trim().chars().take(limit).collect();
        if text.is_empty() { other.to_owned() } else { text }
    };
    let subject = choose(&step.subject.replace('\n', " "), MAX_SUBJECT, &default.subject);
    let text = if step.text.trim().is_empty() {
        default.text
    } else {
        format!("{}\n\n{}", choose(&step.text, MAX_TEXT, ""), facts(situation))
    };
    (Wording { subject, text, speech: choose(&step.speech, MAX_TEXT, &default.speech) }, None)
}

/// Returns the wording that this program makes itself.
pub(super) fn default_wording(situation: &Situation<'_>, offset: Offset) -> Wording {
    let title = title(situation.event);
    let subject = match offset {
        Offset::Minutes(0) => format!("{title} begins now"),
        offset => format!("{title} in {}", distance(offset)),
    };
    let zone = &situation.user.preferences.zone;
    let speech = format!("Reminder: {title}, {}.", spoken(situation.occurrence.starts_at, zone));
    Wording { subject: subject.chars().take(MAX_SUBJECT).collect(), text: facts(situation), speech }
}

/// Returns the title, the time and the place. Nothing else is sent, because a description may be meant for a few.
fn facts(situation: &Situation<'_>) -> String {
    let details = &situation.event.details;
    let when = when(situation.event, situation.occurrence, &situation.user.preferences.zone);
    let mut text = format!("{}\n{when}", title(situation.event));
    if situation.occurrence.adjusted {
        text.push_str("\nThe clocks change around this time.");
    }
    for (name, value) in [("Where", &details.location), ("Call", &details.conference)] {
        if !value.is_empty() {
            let value: String = value.chars().filter(|c| !c.is_control()).take(300).collect();
            text.extend(["\n", name, ": ", &value]);
        }
    }
    text
}

/// Returns the event and its date in one line, for a late notification: the usual subject names the time until the event.
pub(crate) fn dated(event: &Event, occurrence: &Occurrence, zone: &Zone) -> String {
    format!("{}, {}", title(event), when(event, occurrence, zone))
}

fn when(event: &Event, occurrence: &Occurrence, zone: &Zone) -> String {
    if event.details.when.all_day {
        format!("{}, all day", zone.civil(occurrence.starts_at).strftime("%A, %-d %B %Y"))
    } else {
        spoken(occurrence.starts_at, zone)
    }
}

fn title(event: &Event) -> String {
    let title: String = event.title.chars().filter(|c| !c.is_control()).take(80).collect();
    if title.trim().is_empty() { "An event".to_owned() } else { title }
}

/// Returns why a text is not plain words; `None` if it is.
pub(super) fn unfit(text: &str) -> Option<Unfit> {
    if text.chars().any(|c| c.is_control() && c != '\n') {
        return Some(Unfit::Control);
    }
    if text.contains(['<', '>', '`']) || text.contains("](") || text.contains("{{") || text.contains("{%") {
        return Some(Unfit::Markup);
    }
    let lower = text.to_lowercase();
    if lower.contains('@') || lower.contains("://") || lower.contains("www.") || lower.contains("mailto:") {
        return Some(Unfit::Address);
    }
    numbers(&lower)
}

/// Judges the numbers in words: a number to call has seven digits or more, a time has a colon or what follows it.
fn numbers(text: &str) -> Option<Unfit> {
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        if !chars[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let from = at;
        let (mut digits, mut run) = (0, 0);
        let mut shape = String::new();
        while at < chars.len() && (chars[at].is_ascii_digit() || " -./():".contains(chars[at])) {
            if chars[at].is_ascii_digit() {
                digits += 1;
                run += 1;
            } else {
                if run > 0 {
                    shape.push_str(&run.to_string());
                }
                run = 0;
                shape.push(chars[at]);
            }
            at += 1;
        }
        if run > 0 {
            shape.push_str(&run.to_string());
        }
        let shape = shape.trim_end_matches([' ', '.', '-', '(', ')', ':', '/']);
        let follows: String = chars[at..].iter().take(8).collect();
        let clock = ["1:2", "2:2", "1.2", "2.2"].iter().any(|clock| shape.starts_with(clock));
        let date = ["4-2-2", "2.2.4", "1.1.4", "2/2/4", "1/1/4", "2.2.", "1.1."]
            .iter()
            .any(|date| shape.starts_with(date));
        let word = |word: &str| follows.starts_with(word);
        if clock
            || date
            || word("am")
            || word("pm")
            || word("a.m")
            || word("p.m")
            || word("o'clock")
            || word("uhr")
        {
            return Some(Unfit::Time);
        }
        let dialled = digits >= 7 || (digits >= 5 && from > 0 && chars[from - 1] == '+');
        if dialled {
            return Some(Unfit::Address);
        }
    }
    None
}
