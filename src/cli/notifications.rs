//! `adjutant notifications …`: what is planned, what went out, and what a person says about it.

mod everybody;
mod simulate;

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Common;
use super::assistant::{ACTOR, Place, asks_runners, user, with_app};
use super::output::{self, Failure};
use super::status::many;
use crate::app::App;
use crate::app::planning::{self, Asking, Client, Planned};
use crate::assistant::notices::{Due, Verdict};
use crate::assistant::notification::Status;
use crate::assistant::{Assistant, Error, EventId, NotificationId, UserId, Zone};
use crate::mcp::tools::assistant::tell;
use crate::visible::line;

/// Notifications of one list.
const MOST: u32 = 10_000;

/// Between two pictures of a spinner.
const TICK: Duration = Duration::from_millis(120);

/// Arguments of `adjutant notifications`.
#[derive(Debug, Args)]
pub(super) struct NotificationsArgs {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List notifications by the time they are due
    List {
        /// Of this user alone, in their zone
        #[arg(long, value_parser = user)]
        user: Option<UserId>,
        /// In this state alone
        #[arg(long, value_parser = status())]
        status: Option<Status>,
        /// Days to look back
        #[arg(long, value_name = "DAYS", default_value_t = 2)]
        days_back: u32,
        /// Days to look ahead
        #[arg(long, value_name = "DAYS", default_value_t = 7)]
        days_forward: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a notification: why it is, why then, and every try to send it
    Show {
        /// The notification, as `adjutant notifications list` shows it
        #[arg(value_parser = id)]
        id: NotificationId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Plan what a user is told about the coming 30 days
    Plan {
        /// Who is told
        #[arg(value_parser = user, required_unless_present = "all")]
        user: Option<UserId>,
        /// Everybody instead
        #[arg(long, conflicts_with_all = ["user", "event"])]
        all: bool,
        /// About this event alone
        #[arg(long, value_name = "ID")]
        event: Option<String>,
        /// Decide anew what is planned already
        #[arg(long)]
        force: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Play the days to come on a virtual clock: what would be told when, and why. Nothing is sent or kept
    Simulate(simulate::SimulateArgs),
    /// Send a notification again that failed, or of which nobody knows whether it was sent
    Retry {
        /// The notification, as `adjutant notifications list` shows it
        #[arg(value_parser = id)]
        id: NotificationId,
    },
    /// Settle a notification of which nobody knows whether it was sent
    Resolve {
        /// The notification, as `adjutant notifications list` shows it
        #[arg(value_parser = id)]
        id: NotificationId,
        /// `sent` if it arrived, `cancelled` if it is not wanted any more
        #[arg(value_parser = verdict())]
        verdict: Verdict,
    },
    /// Note that a notification was seen, so that nothing about it escalates
    Acknowledge {
        /// The notification, as `adjutant notifications list` shows it
        #[arg(value_parser = id)]
        id: NotificationId,
    },
}

fn id(text: &str) -> Result<NotificationId, String> {
    NotificationId::parse(text).ok_or_else(|| "an id has 1 to 200 bytes and no control characters".to_owned())
}

fn status() -> impl TypedValueParser<Value = Status> {
    let words: Vec<&'static str> = Status::ALL.iter().map(|status| status.name()).collect();
    PossibleValuesParser::new(words).try_map(|word| Status::from_name(&word).ok_or("no such state"))
}

fn verdict() -> impl TypedValueParser<Value = Verdict> {
    PossibleValuesParser::new(["sent", "cancelled"])
        .map(|word| if word == "sent" { Verdict::Sent } else { Verdict::Cancelled })
}

/// Runs one of the commands.
pub(super) fn run(args: NotificationsArgs, common: Common) -> Result<ExitCode, Failure> {
    let NotificationsArgs { place, command } = args;
    with_app(common, &place, |app| async move {
        let room = app.assistant.clone();
        match command {
            Command::List { user, status, days_back, days_forward, json } => {
                list(&room, user, status, (days_back, days_forward), json).await?;
            }
            Command::Show { id, json } => show(&room, &id, json).await?,
            Command::Plan { user: Some(user), event, force, json, .. } => {
                with_runners(&app, plan(&app, &user, event, force, json)).await?;
            }
            Command::Plan { user: None, force, json, .. } => {
                with_runners(&app, everybody::plan(&app, force, json)).await?;
            }
            Command::Simulate(args) => simulate::run(&args, &room).await?,
            Command::Retry { id } => {
                room.retry(&id, ACTOR, Timestamp::now()).await?;
                output::note("planned again; a hub that runs sends it within half a minute");
            }
            Command::Resolve { id, verdict } => {
                let settled = room.resolve(&id, verdict, ACTOR, Timestamp::now()).await?;
                output::note(format!("settled: {}", settled.status.name()));
            }
            Command::Acknowledge { id } => {
                let first = room.acknowledge(&id, ACTOR, Timestamp::now()).await?;
                output::note(if first { "acknowledged" } else { "it was acknowledged before" });
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn list(
    room: &Assistant,
    user: Option<UserId>,
    status: Option<Status>,
    (back, forward): (u32, u32),
    json: bool,
) -> Result<(), Failure> {
    let zone = match &user {
        Some(id) => room.user(id).await?.preferences.zone,
        None => Zone::utc(),
    };
    let now = Timestamp::now();
    let days = |days: u32| SignedDuration::from_hours(i64::from(days) * 24);
    let due = Due {
        user,
        status,
        from: now.saturating_sub(days(back)).unwrap_or(Timestamp::MIN),
        until: now.saturating_add(days(forward)).unwrap_or(Timestamp::MAX),
    };
    let (found, more) = room.notifications(&due, MOST).await?;
    if json {
        let told: Vec<Value> = found.iter().map(|one| tell::notification(one, &zone)).collect();
        return output::json(&json!({"count": told.len(), "notifications": told, "more": more}));
    }
    if found.is_empty() {
        output::note("nothing is due in these days; `adjutant notifications plan USER` plans");
        return Ok(());
    }
    let rows = found.iter().map(|one| {
        let at = zone.civil(one.due_at).strftime("%a %Y-%m-%d %H:%M").to_string();
        let [status, by] = [one.status.name(), one.channel.name()].map(str::to_owned);
        [at, status, by, line(&one.wording.subject), one.id.to_string()]
    });
    let due = format!("DUE ({zone})");
    output::table([due.as_str(), "STATUS", "BY", "NOTIFICATION", "ID"], 3, &rows.collect::<Vec<_>>())?;
    if more {
        output::note(format!("only the first {MOST}; ask for fewer days"));
    }
    Ok(())
}

async fn show(room: &Assistant, id: &NotificationId, json: bool) -> Result<(), Failure> {
    let one = room.notification(id).await?;
    let zone = room.user(&one.user).await?.preferences.zone;
    let attempts = room.attempts(id).await?;
    let mut value = tell::notification(&one, &zone);
    value["text"] = Value::from(one.wording.text.as_str());
    value["tries"] = attempts
        .iter()
        .map(|attempt| {
            json!({
                "number": attempt.number,
                "started": tell::time(attempt.started_at, &zone),
                "ended": attempt.ended_at.map(|at| tell::time(at, &zone)),
                "outcome": attempt.outcome,
                "detail": attempt.detail,
            })
        })
        .collect();
    let plan = room.plan_of(&one.event, &one.occurrence).await?;
    value["plan"] = json!(plan.map(|plan| json!({"source": plan.source.name(), "reasons": plan.reasons})));
    if json {
        return output::json(&value);
    }
    let at = zone.civil(one.due_at).strftime("%A, %Y-%m-%d %H:%M");
    let mut lines = vec![
        format!("{}  {}", one.id, line(&one.wording.subject)),
        format!("  {} by {}, due {at} ({zone})", one.status.name(), one.channel.name()),
    ];
    lines.extend(one.error.iter().map(|error| format!("  {}", line(error))));
    lines.extend(one.reasons.iter().map(|reason| format!("  {}: {}", reason.by, line(&reason.why))));
    for attempt in &attempts {
        let outcome = attempt.outcome.as_deref().unwrap_or("goes on");
        let detail = line(attempt.detail.as_deref().unwrap_or_default());
        lines.push(format!(
            "  try {} at {}: {outcome} {detail}",
            attempt.number,
            tell::time(attempt.started_at, &zone)
        ));
    }
    output::data(&lines.join("\n"))
}

/// Does `planning` while tasks are run, where runners are asked. Every run has ended when this returns; when this
/// process is killed its runs end with it.
async fn with_runners<T>(app: &Arc<App>, planning: impl Future<Output = T>) -> T {
    if !asks_runners(&app.config) {
        return planning.await;
    }
    let (agents, stop) = (app.agents.clone(), app.shutdown.clone());
    let work = tokio::spawn(async move { agents.work(stop).await });
    let planned = planning.await;
    app.shutdown.cancel();
    // It ends by itself; nothing is left to be done for one that could not.
    let _ = work.await;
    planned
}

/// Asks in the configured order. Nobody stands behind this process who could be asked for the client.
async fn planned_for(
    app: &App,
    user: &UserId,
    event: Option<&EventId>,
    force: bool,
    now: Timestamp,
) -> Result<Planned, Error> {
    let client = Client::default();
    let asking = Asking {
        config: &app.config.assistant,
        agents: Some(&app.agents),
        client: &client,
        cancelled: &app.shutdown,
    };
    Ok(planning::plan(&app.assistant, asking, (user, event), force, now).await?.unwrap_or_default())
}

async fn plan(
    app: &App,
    user: &UserId,
    event: Option<String>,
    force: bool,
    json: bool,
) -> Result<(), Failure> {
    let unknown = |id: String| {
        Failure::new(format!("unknown event `{id}`"))
            .hint("`adjutant events list --user USER` shows which there are")
    };
    let event = event.map(|id| EventId::parse(&id).ok_or_else(|| unknown(id))).transpose()?;
    let (now, started) = (Timestamp::now(), std::time::Instant::now());
    let room = &app.assistant;
    // Whoever is asked may take its time. Drawn on a terminal alone.
    let bar = ProgressBar::new_spinner().with_message("planning");
    bar.enable_steady_tick(TICK);
    let planned = planned_for(app, user, event.as_ref(), force, now).await;
    bar.finish_and_clear();
    let planned = planned?;
    let planning = &planned.planning;
    let zone = room.user(user).await?.preferences.zone;
    if json {
        let mut told = tell::planning(planning, now, started.elapsed(), &zone, &[]);
        told["unasked"] = Value::from(planned.unasked);
        return output::json(&told);
    }
    output::data(&format!(
        "{} planned, {} as before, {} withdrawn, for {}",
        planning.planned,
        planning.kept,
        planning.superseded,
        many(planning.processed, "event")
    ))?;
    for skipped in &planning.skipped {
        output::note(format!("  nothing new for {}: {}", line(&skipped.title), line(&skipped.why)));
    }
    for other in &planning.fell_back {
        output::note(format!("  planned by the policy: {}: {}", line(&other.title), line(&other.why)));
    }
    if planned.unasked > 0 {
        let why = "one planning asks about so many, plan again for the next";
        output::note(format!("  planned by the policy: {} more events: {why}", planned.unasked));
    }
    Ok(())
}
