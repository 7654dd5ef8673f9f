//! `adjutant users …`: who has a calendar here, and how they want to be told.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::json;

use super::Common;
use super::assistant::{ACTOR, Place, user, with_app};
use super::output::{self, Failure};
use crate::assistant::notification::Channel;
use crate::assistant::user::{ChannelPreference, QuietHours, RuleKind, WeekendPolicy};
use crate::assistant::{Assistant, Error, Preferences, Rule, RuleId, User, UserId, Zone};
use crate::config::Config;
use crate::mcp::tools::assistant::tell;
use crate::socket;
use crate::visible::line;

/// Users of one list.
const PAGE: u32 = 500;

/// Arguments of `adjutant users`.
#[derive(Debug, Args)]
pub(super) struct UsersArgs {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the users
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a user with preferences, rules and calendars
    Show {
        /// The user, as `adjutant users list` shows them
        #[arg(value_parser = user)]
        id: UserId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a user
    Add {
        /// The full name
        name: String,
        /// The name to be called by here [default: a random one]
        #[arg(long, value_parser = user)]
        id: Option<UserId>,
        #[command(flatten)]
        wishes: Wishes,
    },
    /// Change a user's name, addresses or preferences
    Edit {
        /// The user, as `adjutant users list` shows them
        #[arg(value_parser = user)]
        id: UserId,
        /// The full name
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        wishes: Wishes,
    },
    /// Remove a user with calendars, plans and notifications
    Remove {
        /// The user, as `adjutant users list` shows them
        #[arg(value_parser = user)]
        id: UserId,
    },
    /// Print the address under which calendar programs of this machine read a user's events, with what is planned
    Feed {
        /// The user, as `adjutant users list` shows them
        #[arg(value_parser = user)]
        id: UserId,
        /// Make a new address; the old one is good for nothing then
        #[arg(long, conflicts_with = "off")]
        new: bool,
        /// End the feed
        #[arg(long)]
        off: bool,
    },
    /// Add a rule that goes before the policy, or remove one
    Rule {
        /// The user, as `adjutant users list` shows them
        #[arg(value_parser = user)]
        id: UserId,
        /// What it is about: `vip_organizer`, `internal_meeting`, `travel_buffer` or `quiet_title`
        #[arg(value_parser = kind, required_unless_present = "remove")]
        kind: Option<RuleKind>,
        /// What the kind needs, as NAME=VALUE: organizer=ann, domain=example.org, minutes=30, title=stand-up
        #[arg(value_name = "NAME=VALUE")]
        terms: Vec<String>,
        /// Higher goes first, 0 to 100
        #[arg(long, default_value_t = 50)]
        priority: u32,
        /// Remove the rule of this id instead
        #[arg(long, value_name = "RULE", conflicts_with = "kind")]
        remove: Option<String>,
    },
}

fn kind(text: &str) -> Result<RuleKind, String> {
    word(text, RuleKind::from_name, RuleKind::ALL, RuleKind::name)
}

/// What may be said about a user.
#[derive(Debug, Default, Args)]
struct Wishes {
    /// The mail address; empty for none
    #[arg(long)]
    email: Option<String>,
    /// The phone number with its country, such as +15550100200; empty for none
    #[arg(long)]
    phone: Option<String>,
    /// The time zone, such as Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// The language, such as en or de-CH
    #[arg(long)]
    locale: Option<String>,
    /// The voice of calls
    #[arg(long)]
    voice: Option<String>,
    /// The ways to be told: email, call, both or popup
    #[arg(long, value_parser = |text: &str| word(text, ChannelPreference::from_name, ChannelPreference::ALL, ChannelPreference::name))]
    channels: Option<ChannelPreference>,
    /// When nothing may ring, such as 21:00-07:00, or `none`
    #[arg(long, value_name = "HOURS", value_parser = quiet_hours)]
    quiet_hours: Option<Quiet>,
    /// What may go out at weekends: email, call, both or none
    #[arg(long, value_parser = |text: &str| word(text, WeekendPolicy::from_name, WeekendPolicy::ALL, WeekendPolicy::name))]
    weekend: Option<WeekendPolicy>,
    /// Calls for one occurrence at most, 1 to 10
    #[arg(long, value_name = "N")]
    most_calls: Option<u32>,
    /// So close to its start an event is urgent, in minutes
    #[arg(long, value_name = "MINUTES")]
    escalation: Option<u32>,
    /// Where an urgent notification goes until somebody acknowledges it, such as popup,email,call
    #[arg(long, value_delimiter = ',', value_parser = |text: &str| word(text, Channel::from_name, Channel::ALL, Channel::name))]
    ladder: Option<Vec<Channel>>,
    /// How long each step of the ladder waits, in minutes
    #[arg(long, value_name = "MINUTES")]
    ladder_wait: Option<u32>,
    /// The topic of ntfy; empty for none
    #[arg(long, value_name = "TOPIC")]
    ntfy: Option<String>,
    /// An address that is told by POST; empty for none
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
}

/// Quiet hours, or none.
type Quiet = Option<QuietHours>;

fn quiet_hours(text: &str) -> Result<Quiet, String> {
    if text == "none" {
        return Ok(None);
    }
    let hours = text.split_once('-').and_then(|(start, end)| {
        Some(QuietHours { start: start.trim().parse().ok()?, end: end.trim().parse().ok()? })
    });
    hours.map(Some).ok_or_else(|| "use hours like 21:00-07:00, or none".to_owned())
}

fn word<T: Copy>(
    text: &str,
    read: impl Fn(&str) -> Option<T>,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<T, String> {
    read(text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
        format!("use one of {}", names.join(", "))
    })
}

impl Wishes {
    fn apply(self, user: &mut User) -> Result<(), Failure> {
        let optional = |place: &mut Option<String>, value: Option<String>| {
            if let Some(value) = value {
                *place = Some(value).filter(|value| !value.is_empty());
            }
        };
        optional(&mut user.email, self.email);
        optional(&mut user.phone, self.phone);
        let preferences = &mut user.preferences;
        optional(&mut preferences.ntfy_topic, self.ntfy);
        optional(&mut preferences.webhook_url, self.webhook);
        if let Some(name) = self.time_zone {
            preferences.zone = Zone::named(&name).map_err(Failure::usage)?;
        }
        set(&mut preferences.locale, self.locale);
        set(&mut preferences.voice, self.voice);
        set(&mut preferences.channels, self.channels);
        set(&mut preferences.quiet, self.quiet_hours);
        set(&mut preferences.weekend, self.weekend);
        set(&mut preferences.most_calls, self.most_calls);
        set(&mut preferences.escalation_minutes, self.escalation);
        set(&mut preferences.ladder, self.ladder);
        set(&mut preferences.ladder_minutes, self.ladder_wait);
        Ok(())
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// Runs one of the commands.
pub(super) fn run(args: UsersArgs, common: Common) -> Result<ExitCode, Failure> {
    let UsersArgs { place, command } = args;
    with_app(common, &place, |app| async move {
        let room = app.assistant.clone();
        match command {
            Command::List { json } => list(&room, json).await?,
            Command::Show { id, json } => show(&room, &id, json).await?,
            Command::Add { name, id, wishes } => add(&room, name, id, wishes).await?,
            Command::Edit { id, name, wishes } => {
                let mut user = room.user(&id).await?;
                set(&mut user.name, name);
                wishes.apply(&mut user)?;
                room.put_user(&user, ACTOR, Timestamp::now()).await?;
                output::note(format!("changed; `adjutant notifications plan {id}` plans anew"));
            }
            Command::Remove { id } => {
                room.remove_user(&id, ACTOR, Timestamp::now()).await?;
                output::note(format!("removed `{id}` with all that was theirs"));
            }
            Command::Feed { id, new, off } => feed(&room, &app.config, &id, new, off).await?,
            Command::Rule { id, kind, terms, priority, remove } => match (remove, kind) {
                (Some(rule), _) => {
                    let unknown = || Error::Unknown { what: "rule", id: rule.clone() };
                    room.remove_rule(&id, &RuleId::parse(&rule).ok_or_else(unknown)?).await?;
                    output::note("removed");
                }
                (None, Some(kind)) => add_rule(&room, id, kind, &terms, priority).await?,
                (None, None) => {
                    return Err(Failure::usage("a rule needs what it is about")
                        .hint("adjutant users rule ann vip_organizer organizer=bob, or --remove RULE"));
                }
            },
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn list(room: &Assistant, json: bool) -> Result<(), Failure> {
    let mut users: Vec<User> = Vec::new();
    loop {
        let page = room.users(users.last().map(|user| &user.id), PAGE).await?;
        if page.is_empty() {
            break;
        }
        users.extend(page);
    }
    if json {
        return output::json(&json!({"users": users.iter().map(tell::user).collect::<Vec<_>>()}));
    }
    if users.is_empty() {
        output::note("no users yet; `adjutant users add NAME` adds one");
        return Ok(());
    }
    let rows = users.iter().map(|user| {
        let who = format!("{} <{}>", line(&user.name), user.email.as_deref().unwrap_or("no mail"));
        [user.id.to_string(), who, user.preferences.zone.to_string()]
    });
    output::table(["ID", "USER", "ZONE"], 1, &rows.collect::<Vec<_>>())
}

async fn show(room: &Assistant, id: &UserId, json: bool) -> Result<(), Failure> {
    let (user, rules, calendars) = (room.user(id).await?, room.rules(id).await?, room.calendars(id).await?);
    let mut value = tell::user(&user);
    value["rules"] = rules.iter().map(tell::rule).collect();
    let calendar = |one: &crate::assistant::Calendar| json!({"id": one.id.as_str(), "name": one.name, "source": one.source.name(), "place": one.place});
    value["calendars"] = calendars.iter().map(calendar).collect();
    if json {
        return output::json(&value);
    }
    let mut lines = vec![format!("{}  {}", user.id, line(&user.name))];
    let member = |name: &str, value: &serde_json::Value| match value {
        serde_json::Value::Null => format!("  {name:<21}none"),
        serde_json::Value::String(text) => format!("  {name:<21}{}", line(text)),
        serde_json::Value::Array(all) => {
            let all: Vec<_> = all.iter().filter_map(serde_json::Value::as_str).map(line).collect();
            format!("  {name:<21}{}", all.join(", "))
        }
        other => format!("  {name:<21}{other}"),
    };
    lines.extend(["email", "phone"].iter().map(|name| member(name, &value[name])));
    if let Some(preferences) = value["preferences"].as_object() {
        lines.extend(preferences.iter().map(|(name, value)| member(name, value)));
    }
    for rule in &rules {
        let terms = serde_json::to_string(&rule.terms).unwrap_or_default();
        lines.push(format!("  rule {}  {} {terms} (priority {})", rule.id, rule.kind.name(), rule.priority));
    }
    for one in &calendars {
        lines.push(format!("  calendar {}  {} ({})", line(&one.name), line(&one.place), one.source.name()));
    }
    output::data(&lines.join("\n"))
}

async fn add(room: &Assistant, name: String, id: Option<UserId>, wishes: Wishes) -> Result<(), Failure> {
    let now = Timestamp::now();
    let id = match id {
        Some(id) => {
            if room.user(&id).await.is_ok() {
                return Err(Failure::new(format!("a user `{id}` is there already"))
                    .hint(format!("`adjutant users edit {id}` changes them")));
            }
            id
        }
        None => UserId::new()?,
    };
    let mut user = User {
        id,
        name,
        email: None,
        phone: None,
        preferences: Preferences::default(),
        revision: 1,
        created_at: now,
        updated_at: now,
    };
    wishes.apply(&mut user)?;
    room.put_user(&user, ACTOR, now).await?;
    output::data(user.id.as_str())
}

async fn feed(room: &Assistant, config: &Config, user: &UserId, new: bool, off: bool) -> Result<(), Failure> {
    let now = Timestamp::now();
    if off {
        let ended = room.end_feed(user, ACTOR, now).await?;
        output::note(if ended { "the feed has ended" } else { "there is no feed" });
        return Ok(());
    }
    if !config.http.behind_tls_proxy.is_empty() {
        return Err(Failure::new(
            "a hub behind a proxy serves feeds to nobody: they are for programs of one machine",
        )
        .hint("`adjutant events export USER --to FILE` writes a calendar that you may publish yourself"));
    }
    // Where a hub runs, it knows best where it listens.
    let address = socket::holder(&config.home).and_then(|hub| hub.http).or(config.http.address);
    let address = address.ok_or_else(|| {
        Failure::new("the hub's HTTP door is switched off, so there is no address")
            .hint("set `address` under [http] in config.toml")
    })?;
    let secret = match room.feed(user).await?.filter(|_| !new) {
        Some(secret) => secret,
        None => room.make_feed(user, ACTOR, now).await?,
    };
    output::data(&format!("http://{address}/feeds/{secret}.ics"))?;
    output::note("whoever has the address reads the calendar; `--new` makes another one");
    Ok(())
}

async fn add_rule(
    room: &Assistant,
    user: UserId,
    kind: RuleKind,
    terms: &[String],
    priority: u32,
) -> Result<(), Failure> {
    let term = |text: &String| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("`{text}` has no `=`")).hint("use NAME=VALUE"))?;
        let value = value.parse::<u64>().map_or_else(|_| json!(value), |number| json!(number));
        Ok((name.to_owned(), value))
    };
    let terms = terms.iter().map(term).collect::<Result<_, Failure>>()?;
    let rule = Rule { id: RuleId::new()?, user, kind, terms, enabled: true, priority };
    room.put_rule(&rule).await?;
    output::data(rule.id.as_str())
}
