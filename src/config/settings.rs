//! Every setting with its value in force and where that came from: for people who ask why something is as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::assistant::Adviser;
use super::delivery::Mail;
use super::rooms::{Room, RoomsConfig};
use super::{Auth, Config, Database, env};

/// What is not shown: who sees a page of the console need not see a password.
const SECRET: &str = "set, not shown";

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    /// `config.toml`.
    File,
    /// This variable.
    Environment(&'static str),
    /// This flag of the command line.
    Flag(&'static str),
}

/// One setting.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// As `config.toml` spells it, with its section before the dot; `home` stands in no file.
    pub(crate) key: String,
    /// As the file would say it; empty where nothing is set.
    pub(crate) value: String,
    pub(crate) from: Origin,
    pub(crate) about: &'static str,
}

/// What was said, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    /// The keys of the file, as [`Setting::key`], with what it says there.
    pub(super) file: BTreeMap<String, String>,
    /// Keys that a flag set, with the flag.
    pub(super) flags: Vec<(&'static str, &'static str)>,
    /// The variable that named the home folder.
    pub(super) home: Option<&'static str>,
}

impl Said {
    fn origin(&self, key: &str) -> Origin {
        if let Some((_, flag)) = self.flags.iter().find(|(set, _)| *set == key) {
            return Origin::Flag(flag);
        }
        match self.home {
            Some(variable) if key == "home" => Origin::Environment(variable),
            _ if key == "log_filter" && env::log_filter().is_some() => Origin::Environment("ADJUTANT_LOG"),
            _ if self.file.contains_key(key) => Origin::File,
            _ => Origin::Default,
        }
    }
}

/// Returns the keys of a file's text, as [`Setting::key`], with what it says there.
pub(super) fn keys(text: &str) -> BTreeMap<String, String> {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let mut keys = BTreeMap::new();
    for (section, value) in table {
        match value {
            toml::Value::Table(members) => {
                let member =
                    |(key, value): (String, toml::Value)| (format!("{section}.{key}"), value.to_string());
                keys.extend(members.into_iter().map(member));
            }
            value => drop(keys.insert(section, value.to_string())),
        }
    }
    keys
}

/// Returns the keys about which the file now says something else than when `said` was read, and which count only from
/// the next start on: not the switches of rooms, and not what a flag decides.
pub(super) fn waiting(said: &Said, now: &BTreeMap<String, String>) -> Vec<String> {
    let live = |key: &str| key.starts_with("rooms.") || key.starts_with("clients.");
    let overruled = |key: &str| said.flags.iter().any(|(set, _)| *set == key);
    let keys: BTreeSet<&String> = said.file.keys().chain(now.keys()).collect();
    let differ = keys.into_iter().filter(|key| said.file.get(*key) != now.get(*key));
    differ.filter(|key| !live(key) && !overruled(key)).cloned().collect()
}

/// Returns every setting, in the order of the file; `rooms` are the switches as they stand now.
pub(crate) fn list(config: &Config, rooms: &RoomsConfig) -> Vec<Setting> {
    let mut rows = general(config);
    rows.extend(Room::ALL.into_iter().map(|room| {
        let on = !rooms.off.contains(&room);
        (format!("rooms.{}", room.name()), on.to_string(), "whether the server of all rooms has it")
    }));
    rows.extend(rooms.clients.iter().map(|(client, rooms)| {
        let rooms: Vec<String> = rooms.iter().map(|room| quoted(room.name())).collect();
        (
            format!("clients.{client}"),
            format!("[{}]", rooms.join(", ")),
            "the rooms of clients with this name",
        )
    }));
    rows.extend(of_prompts_and_agents(config));
    rows.extend(of_tasks(config));
    rows.extend(of_popups(config));
    rows.extend(of_codex(config));
    rows.extend(of_assistant(config));
    rows.extend(of_log(config));
    rows.extend(of_delivery(config));
    let setting = |(key, value, about): Row| Setting { from: config.said.origin(&key), key, value, about };
    rows.into_iter().map(setting).collect()
}

/// A key, its value, and what it is about.
type Row = (String, String, &'static str);

#[expect(clippy::needless_pass_by_value, reason = "most values are made for this one call")]
fn row(key: &str, value: impl ToString, about: &'static str) -> Row {
    (key.to_owned(), value.to_string(), about)
}

fn quoted(text: impl AsRef<str>) -> String {
    format!("{:?}", text.as_ref())
}

fn text(value: Option<&str>) -> String {
    value.map(quoted).unwrap_or_default()
}

fn secret<T>(value: Option<&T>) -> &'static str {
    if value.is_some() { SECRET } else { "" }
}

fn seconds(value: Option<Duration>) -> u64 {
    value.unwrap_or_default().as_secs()
}

fn general(config: &Config) -> Vec<Row> {
    let http = &config.http;
    let address = http.address.map_or("off".to_owned(), |address| address.to_string());
    let socket = config.socket.as_deref().map_or("off".to_owned(), env::short);
    let database = match &config.database {
        Database::Memory => "sqlite::memory:".to_owned(),
        Database::File(file) => format!("sqlite:{}", env::short(file)),
        Database::Postgres(_) => "postgres (its address is not shown)".to_owned(),
    };
    let auth = match http.auth {
        Auth::Token => "token",
        Auth::None => "none",
    };
    vec![
        row("home", quoted(env::short(&config.home)), "the folder of the hub's files"),
        row(
            "log_filter",
            text(env::log_filter().as_deref()),
            "what is logged, in the language of tracing filters",
        ),
        row("grace_seconds", config.grace.as_secs(), "how long requests may go on after a stop signal"),
        row("socket", quoted(socket), "where agents reach the hub"),
        row("database", quoted(database), "where rows are kept"),
        row(
            "runner_cooldown_minutes",
            config.runners.runner_cooldown_minutes.map_or(String::new(), |m| m.to_string()),
            "how long a runner rests after its usage limit",
        ),
        row(
            "runners",
            config.runners.runners.len(),
            "runners that the file describes; none means the usual ones",
        ),
        row("http.address", quoted(address), "the console and MCP over HTTP"),
        row("http.auth", quoted(auth), "who may use both"),
        row(
            "http.behind_tls_proxy",
            format!("{:?}", http.behind_tls_proxy),
            "names under which a proxy serves this",
        ),
        row("http.body_limit_bytes", http.body_limit, "of one request"),
        row("http.sessions", http.sessions, "sessions at once"),
        row(
            "http.session_idle_seconds",
            http.session_idle.as_secs(),
            "until a session without a request ends",
        ),
    ]
}

fn of_prompts_and_agents(config: &Config) -> Vec<Row> {
    let (prompts, agents) = (&config.prompts, &config.agents);
    let folders = |labels: Vec<&str>| format!("{labels:?}");
    vec![
        row(
            "prompts.folders",
            folders(prompts.roots.iter().map(|root| root.label.as_str()).collect()),
            "where prompts come from, the first one wins",
        ),
        row("prompts.largest_file_bytes", prompts.limits.file, "of one prompt"),
        row("prompts.largest_expansion_bytes", prompts.limits.expansion, "of one expanded prompt"),
        row("prompts.most_files", prompts.limits.files, "in one folder"),
        row(
            "agents.folders",
            folders(agents.roots.iter().map(|root| root.root.label.as_str()).collect()),
            "where agents come from, the first one wins",
        ),
        row("agents.foreign", agents.foreign, "whether definitions of other programs are read"),
        row("agents.largest_file_bytes", agents.limits.file, "of one agent"),
        row("agents.most_files", agents.limits.files, "in one folder"),
    ]
}

fn of_tasks(config: &Config) -> Vec<Row> {
    let tasks = &config.delegation;
    let days = |length: Duration| length.as_secs() / (24 * 60 * 60);
    vec![
        row("tasks.max_running", tasks.max_running, "runs at once"),
        row("tasks.max_running_per_runner", tasks.max_running_per_runner, "on one runner"),
        row("tasks.per_runner", format!("{:?}", tasks.per_runner), "on the runners named"),
        row("tasks.patience_seconds", tasks.patience.as_secs(), "until a call is answered with a task id"),
        row("tasks.max_waiting", tasks.max_waiting, "tasks that may wait"),
        row("tasks.max_waiting_per_caller", tasks.max_waiting_per_caller, "of one caller"),
        row("tasks.largest_task_bytes", tasks.largest_task, "of a task's text"),
        row("tasks.timeout_seconds", tasks.timeout.as_secs(), "of a run, unless somebody says otherwise"),
        row("tasks.longest_timeout_seconds", tasks.longest_timeout.as_secs(), "that anybody may ask for"),
        row(
            "tasks.idle_timeout_seconds",
            seconds(tasks.idle_timeout),
            "that a runner may be silent; 0 is no limit",
        ),
        row(
            "tasks.first_output_timeout_seconds",
            seconds(tasks.first_output_timeout),
            "to its first output; 0 is no limit",
        ),
        row("tasks.check_timeout_seconds", tasks.check_timeout.as_secs(), "of one check"),
        row("tasks.max_checks", tasks.max_checks, "checks of one task"),
        row("tasks.max_depth", tasks.max_depth, "delegations within delegations"),
        row("tasks.max_descendants", tasks.max_descendants, "tasks below one of a client"),
        row("tasks.spool_bytes", tasks.spool_cap, "of each stream of a run that are kept"),
        row("tasks.largest_patch_bytes", tasks.largest_patch, "of a patch in a receipt"),
        row("tasks.keep_worktrees", tasks.keep_worktrees, "whether changed worktrees stay"),
        row("tasks.keep_fetched_days", days(tasks.keep_delivered), "that a fetched result stays"),
        row("tasks.keep_unfetched_days", days(tasks.keep_undelivered), "that an unfetched one stays"),
        row("tasks.keep_count", tasks.keep_count, "ended tasks that stay"),
    ]
}

fn of_popups(config: &Config) -> Vec<Row> {
    let popups = &config.popups;
    let minutes = |length: Duration| length.as_secs() / 60;
    let of: Vec<String> = popups
        .patience_of
        .iter()
        .map(|(client, patience)| format!("{client} = {}", patience.as_secs()))
        .collect();
    vec![
        row("popups.largest_message_bytes", popups.largest_message, "of a question's text"),
        row("popups.most_options", popups.most_options, "of one question"),
        row("popups.pending_per_client", popups.pending_per_client, "questions of one client that may wait"),
        row("popups.pending", popups.pending, "questions of all that may wait"),
        row("popups.timeout_minutes", minutes(popups.timeout), "that a question waits"),
        row("popups.longest_timeout_minutes", minutes(popups.longest_timeout), "that it may ask for"),
        row("popups.keep_days", popups.keep.as_secs() / (24 * 60 * 60), "that a decided question stays"),
        row("popups.undo_milliseconds", popups.undo.as_millis(), "for which an answer may be taken back"),
        row("popups.gone_grace_seconds", popups.gone_grace.as_secs(), "that a question outlives its client"),
        row(
            "popups.silent_seconds",
            popups.silent.as_secs(),
            "until a client without a session that asks no more is shown as waiting no more",
        ),
        row("popups.patience_seconds", popups.patience.as_secs(), "until a call is answered with a ticket"),
        row(
            "popups.ask_in_client",
            format!("{:?}", popups.in_client),
            "clients that show questions themselves, too",
        ),
        row("popups.patience_seconds_of", format!("{{{}}}", of.join(", ")), "the same by the client's name"),
    ]
}

fn of_codex(config: &Config) -> Vec<Row> {
    let codex = &config.codex;
    let backend = match codex.backend {
        super::codex::Backend::Auto => "auto",
        super::codex::Backend::AppServer => "app-server",
        super::codex::Backend::McpServer => "mcp-server",
    };
    vec![
        row("codex.program", text(codex.program.as_deref()), "its program; codex where nothing is set"),
        row("codex.backend", quoted(backend), "which of its protocols is spoken"),
        row(
            "codex.approval_timeout_seconds",
            codex.approval_timeout.as_secs(),
            "until an approval counts as denied",
        ),
        row("codex.idle_seconds", codex.idle.as_secs(), "that a thread without a turn keeps its process"),
        row("codex.max_sessions", codex.most_sessions, "threads with a process at once"),
    ]
}

fn of_assistant(config: &Config) -> Vec<Row> {
    let assistant = &config.assistant;
    let advisers: Vec<&str> = assistant
        .advisers
        .iter()
        .map(|adviser| match adviser {
            Adviser::Endpoint => "endpoint",
            Adviser::Runner => "runner",
            Adviser::Client => "client",
            Adviser::Sampling => "sampling",
        })
        .collect();
    let endpoint = assistant.endpoint.as_ref();
    vec![
        row("assistant.planner", format!("{advisers:?}"), "who is asked what to tell, in this order"),
        row("assistant.call_timeout_seconds", assistant.call_timeout.as_secs(), "of a call of its tools"),
        row(
            "assistant.planning_seconds",
            assistant.planning.as_secs(),
            "that one planning may wait for all asked",
        ),
        row("assistant.questions", assistant.questions, "events that one planning asks about"),
        row(
            "assistant.endpoint",
            endpoint.map_or(String::new(), |one| quoted(format!("{} at {}", one.model, one.base_url))),
            "the model that is asked; its key is not shown",
        ),
        row("assistant.runner", text(assistant.runner.name.as_deref()), "the runner that is asked"),
    ]
}

fn of_log(config: &Config) -> Vec<Row> {
    let log = &config.log;
    let edges: Vec<&str> = log.record.iter().map(|edge| edge.as_str()).collect();
    vec![
        row("log.record", format!("{edges:?}"), "between whom every line is kept"),
        row("log.largest_recording_bytes", log.largest, "of one recording"),
        row("log.keep_bytes", log.keep_bytes, "of all recordings"),
        row("log.keep_count", log.keep_count, "recordings that stay"),
        row("log.keep_days", log.keep_for.as_secs() / (24 * 60 * 60), "that a recording stays"),
    ]
}

fn of_delivery(config: &Config) -> Vec<Row> {
    let (delivery, channels) = (&config.delivery, &config.channels);
    let mail = match &delivery.mail {
        Some(Mail::Server(_)) => SECRET.to_owned(),
        Some(Mail::Folder(folder)) => quoted(format!("folder:{}", env::short(folder))),
        None => String::new(),
    };
    let phone = channels.phone.as_ref();
    vec![
        row("notifications.mail", mail, "the server or folder that mails go to"),
        row("notifications.mail_from", text(delivery.mail_from.as_deref()), "their sender"),
        row("notifications.phone", secret(delivery.phone.as_ref()), "the provider of calls"),
        row("notifications.speech", format!("{:?}", delivery.speech), "the program that speaks"),
        row("notify.desktop", channels.desktop, "whether the desktop shows that something waits"),
        row("phone.server", text(phone.map(|phone| phone.server.as_str())), "the ntfy server"),
        row("phone.topic", secret(phone), "where notices go"),
        row(
            "phone.reply_topic",
            secret(phone.and_then(|phone| phone.reply_topic.as_ref())),
            "where its buttons answer",
        ),
        row("phone.token", secret(phone.and_then(|phone| phone.token.as_ref())), "of the server"),
        row(
            "phone.body",
            phone.is_some_and(|phone| phone.body),
            "whether a question's text leaves this machine",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::config::file::File;
    use crate::config::{Overrides, Roots};

    /// The keys that a section takes, as its reader names them when it meets one that it does not know.
    fn known(section: &str) -> Vec<String> {
        let text =
            if section.is_empty() { "nothing = 1".to_owned() } else { format!("[{section}]\nnothing = 1") };
        let error = toml::from_str::<File>(&text).unwrap_err().to_string();
        let names = error.split("expected ").nth(1).unwrap_or_else(|| panic!("{error}"));
        names.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
    }

    /// The tables that only people fill, as the file writes them, with their keys; what has to be said is marked.
    const TABLES: [(&str, &[(&str, &str)]); 5] = [
        (
            "[clients.NAME]",
            &[("rooms", "the only rooms for clients whose own name begins with NAME; required")],
        ),
        (
            "[[runners]]",
            &[
                ("name", "`codex`, `copilot`, `claude`, `gemini`, `opencode`, or a name of yours; required"),
                ("priority", "lower goes first"),
                ("models", "that it runs; none means every model"),
                ("program", "where it is, when it is not on the PATH"),
                ("command", "of a runner of yours: program and arguments, with placeholders"),
                ("stdin", "of a runner of yours: `prompt` or `empty`"),
                ("final_message", "of a runner of yours: `stdout`, `file`, or `json:` and a dotted path"),
                ("env", "variables that it gets"),
                ("pass_env", "variables that are passed on to it"),
                ("levels", "that its command line really holds: `read-only`, `workspace-write`, `full`"),
                ("usage_limit", "words in a failed run's output that tell a usage limit"),
                ("authentication", "words in a failed run's output that tell a missing login"),
            ],
        ),
        (
            "[assistant.endpoint]",
            &[
                ("base_url", "what stands before `/chat/completions`; required"),
                ("model", "required"),
                ("key_env", "the variable that holds its key"),
                ("key_file", "the file that holds its key"),
                ("timeout_seconds", "for one answer"),
            ],
        ),
        (
            "[assistant.runner]",
            &[
                ("name", "as below `[[runners]]`; without it the priorities decide"),
                ("model", "the runner's own choice without it"),
                ("timeout_seconds", "for one answer"),
            ],
        ),
        (
            "[notifications.phone]",
            &[
                ("base_url", "whoever speaks Twilio's language; required"),
                ("account", "required"),
                ("token", "required"),
                ("from", "the number that calls; required"),
            ],
        ),
    ];

    #[test]
    fn every_key_of_a_table_is_described() {
        for (table, keys) in TABLES {
            let section = table.strip_prefix('[').and_then(|table| table.strip_suffix(']')).unwrap();
            let described: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
            assert_eq!(known(section), described, "{table}");
        }
    }

    #[test]
    fn every_key_of_the_file_is_listed() {
        let listed: BTreeSet<String> = list(&Config::default(), &RoomsConfig::default())
            .into_iter()
            .map(|setting| setting.key)
            .collect();
        let mut missing = Vec::new();
        for top in known("") {
            // A table whose keys are names that people choose.
            if top == "clients" || listed.contains(&top) {
                continue;
            }
            for key in known(&top) {
                let key = format!("{top}.{key}");
                if !listed.contains(&key) {
                    missing.push(key);
                }
            }
        }
        assert!(
            missing.is_empty(),
            "add these to config/settings.rs, or /settings does not show them: {missing:?}"
        );
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the switch that writes the page is this test's")]
    fn the_reference_is_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join(".adjutant");
        let overrides = Overrides { home: Some(home), ..Overrides::default() };
        let config = Config::load(overrides, Roots::User).unwrap();
        let mut page = String::from(
            "# Configuration\n\n`config.toml` in `~/.adjutant` (or in `$ADJUTANT_HOME`); every key may be missing, and \
             one that is not known is an error with\nits line. `/settings` in the console shows what is in force, and \
             where each value came from. A test writes this page: change\n`src/config/settings.rs`, then run it with \
             `INSTA_UPDATE=always`.\n",
        );
        let mut section = None;
        for setting in list(&config, &config.rooms) {
            let (of, key) = setting.key.split_once('.').unwrap_or(("", &setting.key));
            if section.as_deref() != Some(of) {
                let title = if of.is_empty() { "At the top".to_owned() } else { format!("`[{of}]`") };
                write!(page, "\n## {title}\n\n| key | unless said | what it is |\n|---|---|---|\n").unwrap();
                section = Some(of.to_owned());
            }
            // As in a home: wherever this one lies, it is shown by its last name or below the person's own.
            let value = setting.value.replace(&env::short(&config.home), "~/.adjutant");
            let value =
                value.replace(&format!("{}/", env::short(folder.path())), "~/").replace("…/", "~/.adjutant/");
            let value = match (setting.key.as_str(), value.as_str()) {
                // Where those lie is said by variables of theirs.
                ("agents.folders", _) => "yours, those of other programs, the bundled ones".to_owned(),
                (_, "") => "—".to_owned(),
                (_, value) => format!("`{}`", value.replace('|', "\\|")),
            };
            writeln!(page, "| `{key}` | {value} | {} |", setting.about.replace('|', "\\|")).unwrap();
        }
        for (table, keys) in TABLES {
            write!(page, "\n## `{table}`\n\n| key | what it is |\n|---|---|\n").unwrap();
            for (key, about) in keys {
                writeln!(page, "| `{key}` | {about} |").unwrap();
            }
        }
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
        if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            std::fs::write(&file, &page).unwrap();
        }
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            written == page,
            "docs/configuration.md is out of date: run this test with INSTA_UPDATE=always"
        );
    }

    #[test]
    fn what_was_said_is_told_apart_from_what_was_not() {
        let said = Said {
            file: keys(
                "grace_seconds = 1\n[http]\nsessions = 2\naddress = \"off\"\n[clients.x]\nrooms = []\n[[runners]]\n",
            ),
            flags: vec![("http.address", "--http")],
            home: Some("HOME"),
        };
        assert_eq!(said.origin("http.address"), Origin::Flag("--http"));
        assert_eq!(said.origin("http.sessions"), Origin::File);
        assert_eq!(said.origin("runners"), Origin::File);
        assert_eq!(said.origin("clients.x"), Origin::File);
        assert_eq!(said.origin("http.auth"), Origin::Default);
        assert_eq!(said.origin("home"), Origin::Environment("HOME"));
    }
}
