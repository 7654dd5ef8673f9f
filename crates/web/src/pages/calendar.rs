//! `/calendar`: a user's week with events, notifications and their reasons, and the user's preferences.

mod preferences;
mod week_chart;

use std::collections::HashMap;
use std::sync::Arc;

use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use jiff::civil::{Date, Time};
use jiff::{Timestamp, ToSpan as _};
use minijinja::{Value, context};
use serde::Deserialize;

use crate::csrf;
use crate::error::Failure;
use crate::page::{self, Place};
use adjutant_app::App;
use adjutant_app::proposals::Client;
use adjutant_assistant::events::{EventOccurrence, Span};
use adjutant_assistant::notification::{Status, Urgency};
use adjutant_assistant::notifications::{Due, ResolvedAs};
use adjutant_assistant::{Error, Notification, NotificationId, Reason, User, UserId, Zone};

/// Days on one page.
const DAYS: i32 = 7;
/// Events, and notifications, of one page at most.
const MOST: u32 = 500;
/// Users to choose from.
const USERS: u32 = 200;
/// Who acts, for the audit.
const ACTOR: &str = "user at the console";

#[derive(Default, Deserialize)]
pub(crate) struct Week {
    /// Whose week; the first user's where nobody is named.
    user: Option<String>,
    /// The first day; today where there is none.
    from: Option<Date>,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    week: Result<Query<Week>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(week) = week.map_err(|_| Failure::BadRequest("The day in the address cannot be read."))?;
    let users = app.assistant.users(None, USERS).await.map_err(Failure::internal)?;
    let user = match &week.user {
        Some(name) => Some(find(&app, name).await?),
        None => users.first().cloned(),
    };
    render(&app, &users, user.as_ref(), week.from, None).await
}

/// Changes how somebody wants to be told, and shows the week with it.
pub(crate) async fn change(
    State(app): State<Arc<App>>,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Response, Failure> {
    let fields = page::fields(form)?;
    csrf::check(&fields)?;
    let name = fields.iter().find(|(name, _)| name == "user").map_or("", |(_, value)| value);
    let mut user = find(&app, name).await?;
    let refused = match preferences::apply(&mut user, &fields) {
        Ok(()) => {
            app.assistant.put_user(&user, ACTOR, Timestamp::now()).await.err().map(|error| error.to_string())
        }
        Err(why) => Some(why),
    };
    if let Some(why) = refused {
        let users = app.assistant.users(None, USERS).await.map_err(Failure::internal)?;
        return render(&app, &users, Some(&user), None, Some(why)).await;
    }
    Ok(back(&user))
}

/// Plans what somebody is told about the coming days.
pub(crate) async fn plan(
    State(app): State<Arc<App>>,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Response, Failure> {
    let fields = page::fields(form)?;
    csrf::check(&fields)?;
    let name = fields.iter().find(|(name, _)| name == "user").map_or("", |(_, value)| value);
    let user = find(&app, name).await?;
    let nobody = Client::default();
    app.plan(&nobody, &app.shutdown, (&user.id, None), false).await.map_err(Failure::internal)?;
    Ok(back(&user))
}

/// What a person says about one notification: seen, or how it goes on with one that was not sent.
pub(crate) async fn notification(
    State(app): State<Arc<App>>,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Response, Failure> {
    let fields = page::fields(form)?;
    csrf::check(&fields)?;
    let field =
        |name: &str| fields.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value.as_str());
    let user = find(&app, field("user")).await?;
    let unknown = || Failure::BadRequest("There is no such notification.");
    let id = NotificationId::parse(field("id")).ok_or_else(unknown)?;
    let (room, now) = (&app.assistant, Timestamp::now());
    let done = match field("act") {
        "acknowledge" => room.acknowledge(&id, ACTOR, now).await.map(drop),
        "retry" => room.retry(&id, ACTOR, now).await.map(drop),
        "sent" => room.resolve(&id, ResolvedAs::Sent, ACTOR, now).await.map(drop),
        "cancelled" => room.resolve(&id, ResolvedAs::Cancelled, ACTOR, now).await.map(drop),
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

/// What a person may say about a notification, as the form's words.
fn acts(one: &Notification) -> Vec<Value> {
    let act = |word: &'static str, label: &'static str| context! { word, label };
    let (again, unwanted) = (act("retry", "Send it again"), act("cancelled", "Not wanted any more"));
    match one.status {
        Status::Failed | Status::Dead => vec![again, unwanted],
        Status::Unknown => vec![act("sent", "It arrived"), again, unwanted],
        Status::Sent | Status::Simulated
            if one.acknowledged_at.is_none() && one.urgency == Urgency::Urgent =>
        {
            vec![act("acknowledge", "I have seen it")]
        }
        Status::Planned => vec![unwanted],
        Status::Sent
        | Status::Simulated
        | Status::Sending
        | Status::Merged
        | Status::Cancelled
        | Status::Superseded => Vec::new(),
    }
}

fn back(user: &User) -> Response {
    let place = format!("/calendar?user={}", page::path(user.id.as_str()));
    (page::headers(), Redirect::to(&place)).into_response()
}

async fn find(app: &App, name: &str) -> Result<User, Failure> {
    let unknown = Failure::BadRequest("There is no such user.");
    let Some(id) = UserId::parse(name) else { return Err(unknown) };
    app.assistant.user(&id).await.map_err(|_| unknown)
}

async fn render(
    app: &App,
    users: &[User],
    user: Option<&User>,
    from: Option<Date>,
    fault: Option<String>,
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
    let (event_occurrences, more) =
        app.assistant.event_occurrences(&span, MOST).await.map_err(Failure::internal)?;
    // What is told about these events may be due before the first of the days.
    let early = start.saturating_sub((14 * 24).hours()).map_err(Failure::internal)?;
    let due = Due { user: Some(user.id.clone()), status: None, from: early, until: end };
    let (notifications, _) = app.assistant.notifications(&due, 4 * MOST).await.map_err(Failure::internal)?;
    let mut told: HashMap<(&str, &str), Vec<&Notification>> = HashMap::new();
    for one in &notifications {
        told.entry((one.event.as_str(), one.occurrence.as_str())).or_default().push(one);
    }
    let mut list: Vec<Value> = Vec::new();
    for date in &days {
        let mut rows = Vec::new();
        for event_occurrence in
            event_occurrences.iter().filter(|one| zone.civil(one.occurrence.starts_at).date() == *date)
        {
            let key = (event_occurrence.event.id.as_str(), event_occurrence.occurrence.key.as_str());
            let told = told.get(&key).map(Vec::as_slice).unwrap_or_default();
            rows.push(event(app, event_occurrence, told, zone).await?);
        }
        list.push(context! { name => date.strftime("%A, %-d %B").to_string(), rows });
    }
    let shown: Vec<_> =
        notifications.iter().filter(|one| one.due_at >= start && is_shown(one.status)).collect();
    let values = context! {
        csrf => csrf::token()?,
        user => context! { id => user.id.as_str(), name => &user.name, zone => zone.name() },
        users => users.iter().map(|one| context! {
            id => one.id.as_str(), name => &one.name, here => one.id == user.id,
        }).collect::<Vec<_>>(),
        title => format!("{} – {}", first.strftime("%-d %B"), days.last().unwrap_or(&first).strftime("%-d %B %Y")),
        before => before.to_string(),
        after => after.to_string(),
        picture => week_chart::draw(&days, &event_occurrences, &shown, user, now),
        counts => context! { events => event_occurrences.len(), told => shown.len() },
        more,
        days => list,
        wishes => preferences::values(user),
        fault,
    };
    page::page(app, Place::Section("/calendar"), "calendar.html", values).await
}

/// Whether a notification is, or was, to be told; one that a newer plan replaced is not.
fn is_shown(status: Status) -> bool {
    !matches!(status, Status::Superseded | Status::Cancelled)
}

async fn event(
    app: &App,
    event_occurrence: &EventOccurrence,
    told: &[&Notification],
    zone: &Zone,
) -> Result<Value, Failure> {
    let EventOccurrence { event, occurrence } = event_occurrence;
    let clock = |at: Timestamp| zone.civil(at).strftime("%H:%M").to_string();
    let told: Vec<Value> =
        told.iter().filter(|one| is_shown(one.status)).map(|one| told_as(one, zone)).collect();
    let mut silence = Vec::new();
    if told.is_empty() {
        let plan = app.assistant.plan_of(&event.id, &occurrence.key).await.map_err(Failure::internal)?;
        silence = plan.map(|plan| reasons(&plan.reasons)).unwrap_or_default();
    }
    Ok(context! {
        title => if event.title.is_empty() { "An event" } else { event.title.as_str() },
        when => if event.details.when.all_day {
            "all day".to_owned()
        } else {
            format!("{}–{}", clock(occurrence.starts_at), clock(occurrence.ends_at))
        },
        stamp => occurrence.starts_at.to_string(),
        location => &event.details.location,
        status => event.status.name(),
        adjusted => occurrence.adjusted,
        notes => &event.details.notes,
        told,
        silence,
    })
}

fn told_as(one: &Notification, zone: &Zone) -> Value {
    let shape = week_chart::Shape::of(one.status);
    context! {
        id => one.id.as_str(),
        when => zone.civil(one.due_at).strftime("%a %-d %b, %H:%M").to_string(),
        stamp => one.due_at.to_string(),
        channel => one.channel.name(),
        status => one.status.name(),
        state => shape.state(),
        urgency => one.urgency.name(),
        subject => &one.wording.subject,
        error => &one.error,
        seen => one.acknowledged_at.is_some(),
        reasons => reasons(&one.reasons),
        acts => acts(one),
    }
}

fn reasons(all: &[Reason]) -> Vec<Value> {
    all.iter().map(|reason| context! { by => reason.by.replace('_', " "), why => &reason.why }).collect()
}
