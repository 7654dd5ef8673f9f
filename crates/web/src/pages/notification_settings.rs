//! `/settings/notifications`: how a user is notified of events.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;
use jiff::civil::Time;
use minijinja::{Value, context};
use serde::Deserialize;

use super::calendar::{ACTOR, MAX_USERS, choices, find};
use crate::csrf;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, Fields, SignedForm};
use adjutant_app::App;
use adjutant_assistant::notification::Channel;
use adjutant_assistant::plans::PlanScope;
use adjutant_assistant::user::{ChannelPreference, QuietHours, WeekendPolicy};
use adjutant_assistant::{User, Zone};

#[derive(Deserialize)]
pub(crate) struct Chosen {
    /// The user; without one the first user.
    user: Option<String>,
    /// Present after a change.
    saved: Option<String>,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Address(chosen): Address<Chosen>,
) -> Result<Response, Failure> {
    let user = match &chosen.user {
        Some(name) => Some(find(&app, name).await?),
        None => None,
    };
    render(&app, user, chosen.saved.is_some(), None).await
}

/// Changes a user's preferences, and plans the notifications that follow from them.
pub(crate) async fn change(
    State(app): State<Arc<App>>,
    SignedForm(fields): SignedForm,
) -> Result<Response, Failure> {
    let mut user = find(&app, fields.get("user")).await?;
    let now = Timestamp::now();
    let changed = match apply(&mut user, &fields) {
        Ok(()) => app.assistant.put_user(&user, ACTOR, now).await.map_err(|error| error.to_string()),
        Err(error) => Err(error),
    };
    if let Err(error) = changed {
        return render(&app, Some(user), false, Some(error)).await;
    }
    app.assistant.plan(&user.id, None, PlanScope::Unplanned, now).await.map_err(Failure::internal)?;
    Ok(page::redirect(&format!("/settings/notifications?user={}&saved", page::path(user.id.as_str()))))
}

async fn render(
    app: &App,
    user: Option<User>,
    is_saved: bool,
    fault: Option<String>,
) -> Result<Response, Failure> {
    let users = app.assistant.users(None, MAX_USERS).await.map_err(Failure::internal)?;
    let values = match user.as_ref().or(users.first()) {
        None => context! { user => false },
        Some(user) => context! {
            csrf => csrf::token()?,
            user => context! { id => user.id.as_str(), name => &user.name },
            users => choices(&users, user),
            preferences => values(user),
            is_saved,
            fault,
        },
    };
    page::page(app, Place::Section("/settings"), "notification_settings.html", values).await
}

/// Returns what the form shows.
fn values(user: &User) -> Value {
    let preferences = &user.preferences;
    let clock = |time: Time| time.strftime("%H:%M").to_string();
    let choice = |word: &'static str, label: &'static str, here: bool| context! { word, label, here };
    let channels = ChannelPreference::ALL.iter().map(|one| {
        let label = match one {
            ChannelPreference::Email => "by mail",
            ChannelPreference::Call => "by a call",
            ChannelPreference::Both => "by mail, and a call when it is close",
            ChannelPreference::Popup => "by a question in the Inbox",
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
        locale => &preferences.locale,
        voice => &preferences.voice,
        most_calls => preferences.max_calls,
        ladder => preferences.ladder.iter().map(|channel| channel.word()).collect::<Vec<_>>().join(", "),
        ladder_ways => Channel::ALL.iter().map(|channel| channel.word()).collect::<Vec<_>>().join(", "),
        ladder_minutes => preferences.ladder_minutes,
        ntfy => preferences.ntfy_topic.as_deref().unwrap_or_default(),
        webhook => preferences.webhook_url.as_deref().unwrap_or_default(),
    }
}

/// Applies a form to a user. The domain validates the values again.
///
/// # Errors
/// A sentence about the invalid value.
fn apply(user: &mut User, fields: &Fields) -> Result<(), String> {
    let field = |name: &str| fields.get(name).trim();
    user.email = fields.filled("email");
    user.phone = fields.filled("phone");
    let preferences = &mut user.preferences;
    preferences.zone = Zone::named(field("zone")).map_err(|error| format!("Zone: {error}."))?;
    preferences.channels =
        ChannelPreference::from_name(field("channels")).ok_or("Channels: choose one of them.")?;
    preferences.weekend = WeekendPolicy::from_name(field("weekend")).ok_or("Weekend: choose one of them.")?;
    let time =
        |text: &str| text.parse::<Time>().map_err(|_| format!("Quiet hours: `{text}` is not a time of day."));
    preferences.quiet = match (field("quiet_start"), field("quiet_end")) {
        ("", "") => None,
        (start, end) => Some(QuietHours { start: time(start)?, end: time(end)? }),
    };
    if preferences.quiet.is_some_and(|quiet| quiet.start == quiet.end) {
        return Err("Quiet hours: the start and the end are the same; leave both empty for none.".to_owned());
    }
    let number = |name: &str, max: u32| field(name).parse().ok().filter(|number| (1..=max).contains(number));
    preferences.escalation_minutes =
        number("escalation", 1440).ok_or("Minutes before the start: from 1 to 1440.")?;
    preferences.max_calls = number("most_calls", 10).ok_or("Maximum calls: from 1 to 10.")?;
    preferences.ladder_minutes = number("ladder_minutes", 1440).ok_or("Minutes to wait: from 1 to 1440.")?;
    let names = field("ladder").split(',').map(str::trim).filter(|name| !name.is_empty());
    let channel = |name: &str| {
        Channel::from_word(name).ok_or_else(|| format!("Escalation channels: `{name}` is not a channel."))
    };
    preferences.ladder = names.map(channel).collect::<Result<_, _>>()?;
    field("locale").clone_into(&mut preferences.locale);
    field("voice").clone_into(&mut preferences.voice);
    preferences.ntfy_topic = fields.filled("ntfy");
    preferences.webhook_url = fields.filled("webhook");
    Ok(())
}
