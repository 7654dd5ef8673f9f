//! How somebody wants to be told, as a form and back.

use jiff::civil::Time;
use minijinja::{Value, context};

use crate::assistant::user::{ChannelPreference, QuietHours, WeekendPolicy};
use crate::assistant::{User, Zone};

/// Returns what the form shows.
pub(super) fn values(user: &User) -> Value {
    let preferences = &user.preferences;
    let clock = |time: Time| time.strftime("%H:%M").to_string();
    let choice = |word: &'static str, label: &'static str, here: bool| context! { word, label, here };
    let channels = ChannelPreference::ALL.iter().map(|one| {
        let label = match one {
            ChannelPreference::Email => "by mail",
            ChannelPreference::Call => "by a call",
            ChannelPreference::Both => "by mail, and a call when it is close",
            ChannelPreference::Popup => "on this machine",
        };
        choice(one.name(), label, *one == preferences.channels)
    });
    let weekend = WeekendPolicy::ALL.iter().map(|one| {
        let label = match one {
            WeekendPolicy::Email => "mail only",
            WeekendPolicy::Call => "calls only",
            WeekendPolicy::Both => "as on other days",
            WeekendPolicy::None => "nothing",
        };
        choice(one.name(), label, *one == preferences.weekend)
    });
    context! {
        email => user.email.as_deref().unwrap_or_default(),
        phone => user.phone.as_deref().unwrap_or_default(),
        zone => preferences.zone.name(),
        channels => channels.collect::<Vec<_>>(),
        weekend => weekend.collect::<Vec<_>>(),
        quiet_start => preferences.quiet.map(|quiet| clock(quiet.start)).unwrap_or_default(),
        quiet_end => preferences.quiet.map(|quiet| clock(quiet.end)).unwrap_or_default(),
        escalation => preferences.escalation_minutes,
    }
}

/// Takes a form's answers over. The room checks the values again.
///
/// # Errors
/// Says which answer cannot be taken, as a sentence.
pub(super) fn apply(user: &mut User, fields: &[(String, String)]) -> Result<(), String> {
    let field =
        |name: &str| fields.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value.trim());
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    user.email = some(field("email"));
    user.phone = some(field("phone"));
    let preferences = &mut user.preferences;
    preferences.zone = Zone::named(field("zone")).map_err(|error| format!("Zone: {error}."))?;
    preferences.channels =
        ChannelPreference::from_name(field("channels")).ok_or("Channels: choose one of them.")?;
    preferences.weekend = WeekendPolicy::from_name(field("weekend")).ok_or("Weekend: choose one of them.")?;
    let time = |text: &str| {
        text.parse::<Time>().map_err(|_| format!("Quiet hours: `{text}` is no time of the day."))
    };
    preferences.quiet = match (field("quiet_start"), field("quiet_end")) {
        ("", "") => None,
        (start, end) => Some(QuietHours { start: time(start)?, end: time(end)? }),
    };
    if preferences.quiet.is_some_and(|quiet| quiet.start == quiet.end) {
        return Err("Quiet hours: they begin and end at the same time; leave both empty for none.".to_owned());
    }
    let minutes = field("escalation").parse().ok().filter(|minutes| (1..=1440).contains(minutes));
    preferences.escalation_minutes = minutes.ok_or("Told before the start: from 1 to 1440 minutes.")?;
    Ok(())
}
