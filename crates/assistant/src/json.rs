//! Users, events and notifications as JSON, the same in tools, resources and the command line. Times are RFC 3339 with
//! an offset; the weekday and the zone are given too, because models get both wrong.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::Offset as ZoneOffset;
use serde::Serialize;
use serde_json::{Value, json};

use crate::event::Attendee;
use crate::events::EventOccurrence;
use crate::notification::Offset;
use crate::plans::{OccurrenceNote, PlanReport};
use crate::{Event, Notification, Occurrence, Preferences, Reason, Rule, User, Zone};

/// Occurrences that one answer names for one reason.
const MAX_NOTES: usize = 100;

/// The note of a list that leaves some out.
pub const MORE: &str = "there are more; ask for fewer days, or for one user";

/// An instant in RFC 3339 with the offset of a zone.
pub fn time(at: Timestamp, zone: &Zone) -> String {
    let offset = zone.rules().to_offset(at);
    if offset == ZoneOffset::UTC {
        format!("{at:.0}")
    } else {
        format!("{:.0}", at.display_with_offset(offset))
    }
}

/// The weekday that an instant has in a zone.
pub fn weekday(at: Timestamp, zone: &Zone) -> String {
    zone.civil(at).strftime("%A").to_string()
}

/// A user as `getUser` returns it.
pub fn user(user: &User) -> Value {
    json!({
        "id": user.id.as_str(),
        "name": user.name,
        "email": user.email,
        "phone": user.phone,
        "preferences": preferences(&user.preferences),
    })
}

fn preferences(preferences: &Preferences) -> Value {
    let mut value = json!({
        "timezone": preferences.zone.name(),
        "locale": preferences.locale,
        "voice": preferences.voice,
        "channel_pref": preferences.channels.name(),
        "quiet_start": preferences.quiet.map(|quiet| quiet.start.strftime("%H:%M").to_string()),
        "quiet_end": preferences.quiet.map(|quiet| quiet.end.strftime("%H:%M").to_string()),
        "weekend_policy": preferences.weekend.name(),
        "max_call_attempts": preferences.max_calls,
        "escalation_threshold": preferences.escalation_minutes,
        "escalation_ladder": preferences.ladder.iter().map(|channel| channel.name()).collect::<Vec<_>>(),
        "escalation_wait": preferences.ladder_minutes,
    });
    if let Some(topic) = &preferences.ntfy_topic {
        value["ntfy_topic"] = Value::from(topic.as_str());
    }
    if let Some(address) = &preferences.webhook_url {
        value["webhook_url"] = Value::from(address.as_str());
    }
    value
}

/// An event as tools return it. It is serialized directly, because a list of hundreds would be a large tree of values.
#[derive(Debug, Serialize)]
pub struct EventJson<'a> {
    id: &'a str,
    user_id: &'a str,
    title: &'a str,
    status: &'static str,
    start_ts: String,
    end_ts: String,
    weekday: String,
    /// Left out in a list, which names the zone once for all its events.
    #[serde(skip_serializing_if = "Option::is_none")]
    time_zone: Option<&'a str>,
    all_day: bool,
    location: &'a str,
    conf_link: &'a str,
    organizer: &'a str,
    attendees: Vec<AttendeeJson<'a>>,
    description: &'a str,
    uid: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_time_zone: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recurrence: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurrence: Option<&'a str>,
    /// Left out where it is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_by_clock_change: Option<bool>,
}

#[derive(Debug, Serialize)]
struct AttendeeJson<'a> {
    name: &'a str,
    email: &'a str,
    answer: &'a str,
}

/// An event, as a whole or at one time that it happens. `zone` is the user's; an event of another zone says so.
pub fn event<'a>(event: &'a Event, occurrence: Option<&'a Occurrence>, zone: &'a Zone) -> EventJson<'a> {
    let details = &event.details;
    let (starts, ends) =
        occurrence.map_or((event.starts_at, event.ends_at), |one| (one.starts_at, one.ends_at));
    let recurrence = details.recurrence.as_ref();
    EventJson {
        id: event.id.as_str(),
        user_id: event.user.as_str(),
        title: &event.title,
        status: event.status.name(),
        start_ts: time(starts, zone),
        end_ts: time(ends, zone),
        weekday: weekday(starts, zone),
        time_zone: Some(zone.name()),
        all_day: details.when.all_day,
        location: &details.location,
        conf_link: &details.conference,
        organizer: &details.organizer,
        attendees: details.attendees.iter().map(attendee).collect(),
        description: &details.description,
        uid: &event.uid,
        event_time_zone: details.when.zone.as_ref().filter(|own| *own != zone).map(Zone::name),
        recurrence: recurrence.map(|recurrence| recurrence.rules.as_slice()),
        occurrence: occurrence.filter(|_| recurrence.is_some()).map(|one| one.key.as_str()),
        moved_by_clock_change: occurrence.is_some_and(|one| one.adjusted).then_some(true),
    }
}

fn attendee(attendee: &Attendee) -> AttendeeJson<'_> {
    AttendeeJson { name: &attendee.name, email: &attendee.email, answer: &attendee.answer }
}

/// The occurrences in a window, as `listEvents` returns them.
#[derive(Debug, Serialize)]
pub struct EventListJson<'a> {
    count: usize,
    from: String,
    until: String,
    time_zone: &'a str,
    events: Vec<EventJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<&'static str>,
}

/// The occurrences from one instant to before another; `more` says that some are left out.
pub fn events<'a>(
    found: &'a [EventOccurrence],
    (from, until): (Timestamp, Timestamp),
    zone: &'a Zone,
    more: bool,
) -> EventListJson<'a> {
    EventListJson {
        count: found.len(),
        from: time(from, zone),
        until: time(until, zone),
        time_zone: zone.name(),
        events: found
            .iter()
            .map(|one| EventJson { time_zone: None, ..event(&one.event, Some(&one.occurrence), zone) })
            .collect(),
        more: more.then_some(MORE),
    }
}

/// A notification with its reasons.
pub fn notification(notification: &Notification, zone: &Zone) -> Value {
    let mut value = json!({
        "id": notification.id.as_str(),
        "user_id": notification.user.as_str(),
        "event_id": notification.event.as_str(),
        "occurrence": notification.occurrence,
        "channel": notification.channel.name(),
        "plan_time": time(notification.due_at, zone),
        "weekday": weekday(notification.due_at, zone),
        "time_zone": zone.name(),
        "status": notification.status.name(),
        "urgency": notification.urgency.name(),
        "subject": notification.wording.subject,
        "attempts": notification.attempts,
        "reasons": notification.reasons.iter().map(reason).collect::<Vec<_>>(),
    });
    match notification.offset {
        Offset::Minutes(minutes) => value["offset_minutes"] = Value::from(-i64::from(minutes)),
        Offset::Days(days) => value["offset_days"] = Value::from(-i64::from(days)),
    }
    if let Some(at) = notification.sent_at {
        value["sent_time"] = Value::from(time(at, zone));
    }
    if let Some(at) = notification.acknowledged_at {
        value["acknowledged_time"] = Value::from(time(at, zone));
    }
    if let Some(error) = &notification.error {
        value["error"] = Value::from(error.as_str());
    }
    value
}

fn reason(reason: &Reason) -> Value {
    json!({"by": reason.by, "why": reason.why})
}

/// A rule of a user.
pub fn rule(rule: &Rule) -> Value {
    json!({
        "id": rule.id.as_str(),
        "rule_type": rule.kind.name(),
        "rule": rule.terms,
        "enabled": rule.enabled,
        "priority": rule.priority,
    })
}

/// The result of planning; `coming` are the planned notifications.
pub fn planning(
    planning: &PlanReport,
    now: Timestamp,
    took: Duration,
    zone: &Zone,
    coming: &[Value],
) -> Value {
    let note = |note: &OccurrenceNote| {
        json!({
            "event_id": note.event.as_str(),
            "title": note.title,
            "occurrence": note.occurrence,
            "why": note.why,
        })
    };
    let mut value = json!({
        "notifications_planned": planning.planned,
        "events_processed": planning.processed,
        "plan_time": time(now, zone),
        "took_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "time_zone": zone.name(),
        "kept": planning.kept,
        "superseded": planning.superseded,
        "notifications": coming,
        "skipped": planning.skipped.iter().take(MAX_NOTES).map(note).collect::<Vec<_>>(),
    });
    if !planning.fell_back.is_empty() {
        let fell_back = planning.fell_back.iter().take(MAX_NOTES).map(note);
        value["fell_back"] = fell_back.collect::<Vec<_>>().into();
    }
    if planning.more {
        value["more"] = Value::from("one call does not plan all of them; plan the rest by `event_id`");
    }
    value
}
