//! `/calendar`: a user's week with events, notifications and their reasons.

mod week_chart;

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use jiff::civil::{Date, Time};
use jiff::{Timestamp, ToSpan as _};
use minijinja::{Value, context};
use serde::Deserialize;

use crate::csrf;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, SignedForm};
use adjutant_app::App;
use adjutant_app::proposals::Client;
use adjutant_assistant::event::CalendarSource;
use adjutant_assistant::events::{EventOccurrence, Span};
use adjutant_assistant::notification::{Status, Urgency};
use adjutant_assistant::notifications::{Due, ResolvedAs};
use adjutant_assistant::{Error, Notification, NotificationId, Reason, User, UserId, Zone};

/// Days on one page.
const DAYS: i32 = 7;
/// Maximum events of one page.
const MAX_EVENTS: u32 = 500;
/// The form of a day that has no heading.
const DAY: &str = "%a %-d %b";
/// Maximum users to choose from.
pub(super) const MAX_USERS: u32 = 200;
/// The actor in the audit.
pub(super) const ACTOR: &str = "user at the console";

#[derive(Default, Deserialize)]
pub(crate) struct Week {
    /// The user; without one the first user.
    user: Option<String>,
    /// The first day; without one today.
    from: Option<Date>,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Address(week): Address<Week>,
) -> Result<Response, Failure> {
    let users = app.assistant.users(None, MAX_USERS).await.map_err(Failure::internal)?;
    let user = match &week.user {
        Some(name) => Some(find(&app, name).await?),
        None => users.first().cloned(),
    };
    render(&app, &users, user.as_ref(), week.from).await
}

/// Plans the notifications of the coming days.
pub(crate) async fn plan(
    State(app): State<Arc<App>>,
    SignedForm(fields): SignedForm,
) -> Result<Response, Failure> {
    let user = find(&app, fields.get("user")).await?;
    let no_client = Client::default();
    app.plan(&no_client, &app.shutdown, (&user.id, None), false).await.map_err(Failure::internal)?;
    Ok(back(&user))
}

/// Acknowledges, retries or resolves one notification.
pub(crate) async fn notification(
    State(app): State<Arc<App>>,
    SignedForm(fields): SignedForm,
) -> Result<Response, Failure> {
    let user = find(&app, fields.get("user")).await?;
    let unknown = || Failure::BadRequest("There is no such notification.");
    let id = NotificationId::parse(fields.get("id")).ok_or_else(unknown)?;
    let (assistant, now) = (&app.assistant, Timestamp::now());
    let done = match fields.get("act") {
        "acknowledge" => assistant.acknowledge(&id, ACTOR, now).await.map(drop),
        "retry" => assistant.retry(&id, ACTOR, now).await.map(drop),
        "sent" => assistant.resolve(&id, ResolvedAs::Sent, ACTOR, now).await.map(drop),
        "cancelled" => assistant.resolve(&id, ResolvedAs::Cancelled, ACTOR, now).await.map(drop),
        _ => return Err(Failure::BadRequest("The form names an unknown action.")),
    };
    match done {
        Ok(()) => Ok(back(&user)),
        Err(Error::Unknown { .. }) => Err(unknown()),
        Err(Error::WrongStatus { .. }) => {
            Err(Failure::BadRequest("The notification no longer exists. Reload the page."))
        }
        Err(error) => Err(Failure::internal(error)),
    }
}

/// Returns the possible actions on a notification, by the form's words.
fn actions(notification: &Notification) -> Vec<Value> {
    let action = |word: &'static str, label: &'static str| context! { word, label };
    let (retry, cancel) = (action("retry", "Send it again"), action("cancelled", "No longer wanted"));
    match notification.status {
        Status::Failed | Status::Dead => vec![retry, cancel],
        Status::Unknown => vec![action("sent", "It arrived"), retry, cancel],
        Status::Sent | Status::Simulated
            if notification.acknowledged_at.is_none() && notification.urgency == Urgency::Urgent =>
        {
            vec![action("acknowledge", "I have seen it")]
        }
        Status::Planned => vec![cancel],
        Status::Sent
        | Status::Simulated
        | Status::Sending
        | Status::Merged
        | Status::Cancelled
        | Status::Superseded => Vec::new(),
    }
}

fn back(user: &User) -> Response {
    page::redirect(&format!("/calendar?user={}", page::path(user.id.as_str())))
}

/// Returns the user of an id.
pub(super) async fn find(app: &App, name: &str) -> Result<User, Failure> {
    let unknown = Failure::BadRequest("There is no such user.");
    let Some(id) = UserId::parse(name) else { return Err(unknown) };
    app.assistant.user(&id).await.map_err(|_| unknown)
}

/// Returns the users to choose from.
pub(super) fn choices(users: &[User], chosen: &User) -> Vec<Value> {
    let choice =
        |one: &User| context! { id => one.id.as_str(), name => &one.name, here => one.id == chosen.id };
    users.iter().map(choice).collect()
}

async fn render(
    app: &App,
    users: &[User],
    user: Option<&User>,
    from: Option<Date>,
) -> Result<Response, Failure> {
    let Some(user) = user else {
        return page::page(app, Place::Section("/calendar"), "calendar.html", context! { user => false })
            .await;
    };
    let now = Timestamp::now();
    let zone = &user.preferences.zone;
    let first = from.unwrap_or_else(|| zone.civil(now).date());
    let days: Vec<Date> = (0..DAYS).filter_map(|day| first.checked_add(day.days()).ok()).collect();
    let midnight =
        |date: Date| zone.rules().to_timestamp(date.to_datetime(Time::midnight())).map_err(Failure::internal);
    let outside = || Failure::BadRequest("That day is outside of the calendar.");
    let after = first.checked_add(DAYS.days()).map_err(|_| outside())?;
    let before = first.checked_sub(DAYS.days()).map_err(|_| outside())?;
    let (start, end) = (midnight(first)?, midnight(after)?);
    let span = Span { user: Some(user.id.clone()), from: start, until: end };
    let (found, more) =
        app.assistant.event_occurrences(&span, MAX_EVENTS).await.map_err(Failure::internal)?;
    let mut event_occurrences =
        app.assistant.running(&user.id, start, MAX_EVENTS).await.map_err(Failure::internal)?;
    event_occurrences.extend(found);
    // Notifications of these events may be due before the first day.
    let early = start.saturating_sub((14 * 24).hours()).map_err(Failure::internal)?;
    let due = Due { user: Some(user.id.clone()), status: None, from: early, until: end };
    let (notifications, _) =
        app.assistant.notifications(&due, 4 * MAX_EVENTS).await.map_err(Failure::internal)?;
    let mut by_occurrence: HashMap<(&str, &str), Vec<&Notification>> = HashMap::new();
    for one in &notifications {
        by_occurrence.entry((one.event.as_str(), one.occurrence.as_str())).or_default().push(one);
    }
    let mut list: Vec<Value> = Vec::new();
    for date in &days {
        let mut rows = Vec::new();
        // Under its first day that is shown.
        let first_shown = |one: &EventOccurrence| zone.civil(one.occurrence.starts_at).date().max(first);
        let of_day = event_occurrences.iter().enumerate().filter(|(_, one)| first_shown(one) == *date);
        for (number, event_occurrence) in of_day {
            let key = (event_occurrence.event.id.as_str(), event_occurrence.occurrence.key.as_str());
            let notifications = by_occurrence.get(&key).map(Vec::as_slice).unwrap_or_default();
            let values = event(app, event_occurrence, notifications, zone, *date).await?;
            rows.push(context! { number, ..values });
        }
        let is_today = zone.civil(now).date() == *date;
        let name = format!("{}{}", if is_today { "Today, " } else { "" }, date.strftime("%A, %-d %B"));
        list.push(context! { name, rows });
    }
    let shown: Vec<_> =
        notifications.iter().filter(|one| one.due_at >= start && is_shown(one.status)).collect();
    let sources = app.assistant.calendars(&user.id).await.map_err(Failure::internal)?;
    let moment = |at: Timestamp| zone.civil(at).strftime("%a %-d %b %Y, %H:%M").to_string();
    let sources = sources
        .iter()
        .filter(|one| one.source != CalendarSource::Local && one.read_at.is_some())
        .map(|one| {
            context! {
                name => &one.name,
                read => one.read_at.map(moment),
                next => one.refresh.as_ref().map(|refresh| moment(refresh.next_at)),
                failure => one.refresh.as_ref().and_then(|refresh| refresh.failure.as_ref()),
            }
        });
    let values = context! {
        csrf => csrf::token()?,
        user => context! { id => user.id.as_str(), name => &user.name, zone => zone.name() },
        users => choices(users, user),
        title => format!("{} – {}", first.strftime("%-d %B"), days.last().unwrap_or(&first).strftime("%-d %B %Y")),
        before => before.to_string(),
        after => after.to_string(),
        picture => week_chart::draw(&days, &event_occurrences, &shown, user, now),
        counts => context! { events => event_occurrences.len(), notifications => shown.len() },
        more,
        days => list,
        sources => sources.collect::<Vec<_>>(),
    };
    page::page(app, Place::Section("/calendar"), "calendar.html", values).await
}

/// Returns whether a page shows a notification. It leaves out cancelled ones and those that a newer plan replaced.
fn is_shown(status: Status) -> bool {
    !matches!(status, Status::Superseded | Status::Cancelled)
}

async fn event(
    app: &App,
    event_occurrence: &EventOccurrence,
    notifications: &[&Notification],
    zone: &Zone,
    date: Date,
) -> Result<Value, Failure> {
    let EventOccurrence { event, occurrence } = event_occurrence;
    let shown = notifications.iter().filter(|one| is_shown(one.status));
    let notifications: Vec<Value> =
        shown.map(|one| notification_row(one, occurrence.starts_at, zone)).collect();
    let mut no_notification = Vec::new();
    if notifications.is_empty() {
        let plan = app.assistant.plan_of(&event.id, &occurrence.key).await.map_err(Failure::internal)?;
        no_notification = plan.map(|plan| reasons(&plan.reasons)).unwrap_or_default();
    }
    Ok(context! {
        title => if event.title.is_empty() { "An event" } else { event.title.as_str() },
        when => when(event_occurrence, zone, date),
        stamp => occurrence.starts_at.to_string(),
        location => &event.details.location,
        status => event.status.name(),
        adjusted => occurrence.adjusted,
        notes => &event.details.notes,
        notifications,
        no_notification,
    })
}

/// Returns the time of an event for its row below the heading of `date`; other days are named.
fn when(EventOccurrence { event, occurrence }: &EventOccurrence, zone: &Zone, date: Date) -> String {
    let last = week_chart::last_day(occurrence, zone);
    if event.details.when.all_day {
        return if last > date {
            format!("all day until {}", last.strftime(DAY))
        } else {
            "all day".to_owned()
        };
    }
    let clock = |at: Timestamp, day: Date| {
        let time = zone.civil(at).strftime("%H:%M");
        if day == date { time.to_string() } else { format!("{} {time}", day.strftime(DAY)) }
    };
    let start = clock(occurrence.starts_at, zone.civil(occurrence.starts_at).date());
    format!("{start}–{}", clock(occurrence.ends_at, last))
}

/// Returns a notification for the row of an event. The heading of the row has the day of the event.
fn notification_row(one: &Notification, starts_at: Timestamp, zone: &Zone) -> Value {
    let shape = week_chart::Shape::of(one.status);
    let due = zone.civil(one.due_at);
    let is_same_day = due.date() == zone.civil(starts_at).date();
    context! {
        id => one.id.as_str(),
        when => due.strftime(if is_same_day { "%H:%M" } else { "%a %-d %b, %H:%M" }).to_string(),
        stamp => one.due_at.to_string(),
        channel => one.channel.word(),
        status => one.status.name(),
        state => shape.name(),
        urgency => one.urgency.name(),
        subject => &one.wording.subject,
        error => &one.error,
        seen => one.acknowledged_at.is_some(),
        reasons => reasons(&one.reasons),
        actions => actions(one),
    }
}

fn reasons(all: &[Reason]) -> Vec<Value> {
    all.iter().map(|reason| context! { by => reason.by.replace('_', " "), why => &reason.why }).collect()
}
