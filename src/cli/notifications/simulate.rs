//! `adjutant notifications simulate`.

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::list_span::instant;
use super::super::output::{self, Failure};
use adjutant_assistant::simulate::SimulatedPlan;
use adjutant_assistant::{Assistant, Planned, Reason, User, UserId};
use adjutant_base::text::counted::counted;
use adjutant_base::text::escape_invisible::escape_line;

/// Arguments of `adjutant notifications simulate`.
#[derive(Debug, Args)]
pub(in crate::cli) struct SimulateArgs {
    /// User to notify
    user: UserId,
    /// Days to simulate
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(i64).range(1..=90))]
    days: i64,
    /// Start time, such as tomorrow or 2026-11-21T08:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Show the reasons of each notification
    #[arg(long)]
    why: bool,
}

/// Simulates the days and prints their notifications.
pub(super) async fn run(args: &SimulateArgs, assistant: &Assistant) -> Result<(), Failure> {
    let user = assistant.user(&args.user).await?;
    let rules = assistant.rules(&user.id).await?;
    let start = match &args.from {
        Some(text) => instant(text, &user.preferences.zone, false)?.timestamp(),
        None => Timestamp::now(),
    };
    let bar = output::bar("{bar:40} day {pos} of {len}  {msg}");
    bar.set_length(args.days.unsigned_abs());
    let mut plans = Vec::new();
    for day in 0..args.days {
        let at = |days: i64| start.saturating_add(SignedDuration::from_hours(24 * days));
        let (from, until) = (at(day).map_err(Failure::new)?, at(day + 1).map_err(Failure::new)?);
        bar.set_message(user.preferences.zone.civil(from).date().to_string());
        let (found, more) = assistant.simulate(&user, &rules, from, until, start).await?;
        if more {
            output::note(format!("there are more events on {from} than are shown"));
        }
        plans.extend(found);
        bar.inc(1);
    }
    bar.finish_and_clear();
    if output::is_json() {
        let zone = &user.preferences.zone;
        let summary = json!({"user_id": user.id, "time_zone": zone, "days": args.days});
        let events = output::list(plans.iter().map(|one| entry(&user, one)).collect(), "event_id");
        return output::json(&output::with(summary, events));
    }
    as_text(args, &user, &plans)
}

fn as_text(args: &SimulateArgs, user: &User, plans: &[SimulatedPlan]) -> Result<(), Failure> {
    let zone = &user.preferences.zone;
    let mut notifications: Vec<(&Planned, &SimulatedPlan)> =
        plans.iter().flat_map(|one| one.notifications.iter().map(move |planned| (planned, one))).collect();
    notifications.sort_by_key(|(planned, _)| planned.due_at);
    let reasons = |reasons: &[Reason]| {
        reasons.iter().map(|reason| format!("{}: {}", reason.by, reason.why)).collect::<Vec<_>>().join("; ")
    };
    let rows: Vec<[String; 3]> = notifications
        .iter()
        .map(|(planned, one)| {
            let mut title = one.event_occurrence.event.title.clone();
            if args.why {
                title = format!("{title} — {}", reasons(&planned.reasons));
            }
            let when = zone.civil(planned.due_at).strftime("%a %Y-%m-%d %H:%M").to_string();
            [when, escape_line(&title), planned.channel.word().to_owned()]
        })
        .collect();
    output::table(["WHEN", "EVENT", "CHANNEL"], 1, &rows, "no notification would be sent")?;
    let silent: Vec<_> = plans.iter().filter(|one| one.notifications.is_empty()).collect();
    if args.why {
        for one in &silent {
            let when = zone.civil(one.event_occurrence.occurrence.starts_at).strftime("%a %Y-%m-%d %H:%M");
            let why = reasons(&one.reasons);
            output::note(escape_line(&format!(
                "no notification for {} at {when}: {why}",
                one.event_occurrence.event.title
            )));
        }
    }
    output::note(format!(
        "{} in {}: {}, none for {} of the events; times are in {zone}",
        counted(plans.len() as u64, "event"),
        counted(args.days.unsigned_abs(), "day"),
        counted(notifications.len() as u64, "notification"),
        silent.len()
    ));
    Ok(())
}

fn entry(user: &User, one: &SimulatedPlan) -> Value {
    let zone = &user.preferences.zone;
    let at = |at: Timestamp| at.to_zoned(zone.rules().clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    let notifications = one.notifications.iter().map(|planned| {
        json!({
            "channel": planned.channel,
            "due_at": at(planned.due_at),
            "urgency": planned.urgency,
            "subject": planned.wording.subject,
            "reasons": planned.reasons,
        })
    });
    json!({
        "event_id": one.event_occurrence.event.id,
        "title": one.event_occurrence.event.title,
        "starts_at": at(one.event_occurrence.occurrence.starts_at),
        "notifications": notifications.collect::<Vec<_>>(),
        "reasons": one.reasons,
    })
}
