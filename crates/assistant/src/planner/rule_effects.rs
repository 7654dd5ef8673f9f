//! Effects of a user's rules on one event. Terms that do not fit their kind have no effect.

use super::situation::Situation;
use crate::notification::Reason;
use crate::user::{Rule, RuleKind};

/// Effects of the rules, each with its reason.
#[derive(Debug, Default)]
pub(super) struct RuleEffects {
    /// Nothing is sent.
    pub(super) silent: Option<Reason>,
    /// Everything is urgent.
    pub(super) urgent: Option<Reason>,
    /// Nobody is called.
    pub(super) no_call: Option<Reason>,
    /// Everything is sent so many minutes earlier.
    pub(super) earlier: Option<(u32, Reason)>,
}

/// Reads the rules that are about this event; of several of a kind the first one counts.
pub(super) fn rule_effects(situation: &Situation<'_>) -> RuleEffects {
    let mut effects = RuleEffects::default();
    for rule in situation.rules.iter().filter(|rule| rule.enabled) {
        let because = |why: String| Reason { by: "rule".to_owned(), why };
        match rule.kind {
            RuleKind::QuietTitle => {
                if let Some(text) =
                    text_term(rule, "title").filter(|text| contains(&situation.event.title, text))
                {
                    let why = format!("no notifications about events whose title contains `{text}`");
                    effects.silent.get_or_insert(because(why));
                }
            }
            RuleKind::VipOrganizer => {
                let organizer = &situation.event.details.organizer;
                if let Some(text) = text_term(rule, "organizer").filter(|text| contains(organizer, text)) {
                    let why = format!("events that `{text}` organizes are urgent");
                    effects.urgent.get_or_insert(because(why));
                }
            }
            RuleKind::InternalMeeting => {
                if let Some(domain) = text_term(rule, "domain").filter(|domain| internal(situation, domain)) {
                    let why = format!("all participants are of {domain}, so nobody is called");
                    effects.no_call.get_or_insert(because(why));
                }
            }
            RuleKind::TravelBuffer => {
                let minutes = rule.terms.get("minutes").and_then(serde_json::Value::as_u64);
                let minutes =
                    minutes.and_then(|minutes| u32::try_from(minutes).ok()).map(|minutes| minutes.min(1440));
                if let Some(minutes) = minutes.filter(|_| !situation.event.details.location.is_empty()) {
                    let why = format!("the event has a location, so it is sent {minutes} minutes earlier");
                    effects.earlier.get_or_insert((minutes, because(why)));
                }
            }
        }
    }
    effects
}

fn text_term<'a>(rule: &'a Rule, term: &str) -> Option<&'a str> {
    rule.terms.get(term).and_then(serde_json::Value::as_str).filter(|text| !text.trim().is_empty())
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

/// Returns whether there are attendees, all of them of a domain.
fn internal(situation: &Situation<'_>, domain: &str) -> bool {
    let attendees = &situation.event.details.attendees;
    let of_domain =
        |email: &str| email.rsplit_once('@').is_some_and(|(_, host)| host.eq_ignore_ascii_case(domain));
    !attendees.is_empty() && attendees.iter().all(|attendee| of_domain(&attendee.email))
}
