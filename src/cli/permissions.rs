//! `adjutant permissions …`: approval rules, and the decisions of permission requests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value, json};

use super::hook::CLIENTS;
use super::output::{self, Failure};
use super::{Common, hub_client, questions};
use adjutant_app::permissions::{PermissionRecord, ToolCall, rule_faults};
use adjutant_base::config::env;
use adjutant_base::config::permissions::ApprovalRule;
use adjutant_base::text::clip;
use adjutant_base::text::escape_invisible::{escape_line, is_invisible};
use adjutant_permissions::{Allowable, Rule, Rules, Verdict};
use adjutant_questions::Question;
use adjutant_terminal::socket::Start;
use adjutant_terminal::socket::control::ControlClient;
use adjutant_terminal::socket::control::questions::{Done, Query, QuestionDetails, Request};

/// Minimum decisions of one kind for the suggestion of a rule.
const MIN_ALIKE: usize = 3;

/// The word for an answer that approves.
const APPROVE: &str = "approve";

/// Maximum characters of the first fact of an approval that was answered.
const MAX_FACT_CHARS: usize = 200;

/// Maximum pending questions that are looked through for approvals.
const MAX_PENDING: u32 = 1_000;

/// Commands of `adjutant permissions`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the rules; deny wins over ask, and ask over allow
    List,
    /// Show how the rules decide a shell line, without asking anybody
    Test {
        /// The line as an agent would run it
        #[arg(value_name = "COMMAND")]
        line: String,
        /// The client that would run it
        #[arg(long, value_name = "CLIENT", default_value = "claude", value_parser = PossibleValuesParser::new(CLIENTS))]
        client: String,
        /// The folder that the client works in, instead of the current one
        #[arg(long, value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Show one of the last 2,000 decisions; without an id, list the newest
    Explain {
        /// The number of the decision
        id: Option<u64>,
    },
    /// Show the pending approvals, each with all that it lets happen
    Pending,
    /// Answer pending approvals together; all others stay pending
    Answer {
        /// `approve` or `deny`, each for its request alone
        #[arg(value_name = "DECISION", value_parser = PossibleValuesParser::new([APPROVE, "deny"]))]
        decision: String,
        /// The ids of the approvals, or enough of their beginnings; `ID:2` for one with two identical requests
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
    /// Show what was asked most, and the rules that would answer it
    Stats,
    /// Remove a rule that was made in the Inbox
    Remove {
        /// The name of the rule
        name: String,
    },
}

/// Runs one of the commands.
pub(super) fn run(command: Command, common: Common) -> Result<(), Failure> {
    let config = common.hub_config()?;
    let mut client = hub_client::connect(&config, Start::IfNeeded)?;
    match command {
        Command::List => list(&mut client, &config.permissions.rules),
        Command::Test { line, client: name, folder } => test(&mut client, &line, name, folder),
        Command::Explain { id: Some(id) } => explain(&mut client, id),
        Command::Explain { id: None } => recent(&mut client),
        Command::Pending => pending(&mut client),
        Command::Answer { decision, ids } => answer(&mut client, decision == APPROVE, &ids),
        Command::Stats => stats(&mut client),
        Command::Remove { name } => {
            client.remove_approval_rule(name.clone())?;
            output::changed("the rule is removed", &json!({"id": name, "name": name, "removed": true}))
        }
    }
}

fn list(client: &mut ControlClient, of_file: &[ApprovalRule]) -> Result<(), Failure> {
    let rules = client.approval_rules()?;
    for fault in rule_faults(of_file) {
        output::note(format!("a rule of config.toml is ignored: {}", escape_line(&fault)));
    }
    if output::is_json() {
        let rules = rules.iter().map(|rule| json!(rule)).collect();
        return output::json(&output::list(rules, "name"));
    }
    let row =
        |rule: &Rule| [escape_line(&rule.name), rule.verdict.name().to_owned(), escape_line(&rule.summary())];
    let default = |(name, verdict, about): (&str, Verdict, &str)| {
        [name.to_owned(), verdict.name().to_owned(), about.to_owned()]
    };
    let rows: Vec<_> = rules.iter().map(row).chain(Rules::defaults().map(default)).collect();
    output::table(["RULE", "DECISION", "WHAT"], 2, &rows, "")
}

fn test(
    client: &mut ControlClient,
    line: &str,
    name: String,
    folder: Option<PathBuf>,
) -> Result<(), Failure> {
    let folder = std::path::absolute(folder.unwrap_or_else(|| PathBuf::from(".")))?;
    let tool = match name.as_str() {
        "claude" | "codex" => "Bash",
        "gemini" => "run_shell_command",
        _ => "bash",
    };
    let decision = client.test_permission(ToolCall {
        client_title: name.clone(),
        client: name,
        session: String::new(),
        folder,
        tool: tool.to_owned(),
        arguments: Map::from_iter([("command".to_owned(), json!(line))]),
        rules_only: true,
        has_run: false,
        allowable: Allowable::All,
    })?;
    if output::is_json() {
        return output::json(&json!({"decision": decision.verdict, "rules": decision.rules}));
    }
    let by = if decision.rules.is_empty() {
        "no rule allows all of it".to_owned()
    } else {
        escape_line(&decision.rules.join(", "))
    };
    output::data(&format!("{} ({by})", decision.verdict.name()))
}

fn pending(client: &mut ControlClient) -> Result<(), Failure> {
    let mut ids = Vec::new();
    let query = Query { decided: false, text: String::new(), limit: MAX_PENDING };
    client.questions(query, |details| {
        let is_pending = details.outcome.is_none() && details.question.approval_answer(true).is_some();
        ids.extend(is_pending.then(|| details.question.ticket.to_string()));
    })?;
    // A list may redact texts, so each question is read whole.
    let approvals: Vec<QuestionDetails> =
        ids.iter().map(|id| client.one_question(id)).collect::<Result<_, _>>()?;
    if output::is_json() {
        return output::json(&output::list(approvals.iter().map(questions::as_json).collect(), "ticket"));
    }
    for approval in &approvals {
        questions::show::lines(approval).iter().try_for_each(|line| output::data(line))?;
        let Question { ticket, deliveries, .. } = &approval.question;
        let requests = if *deliveries > 1 { format!(":{deliveries}") } else { String::new() };
        let short = ticket.as_str().get(..questions::SHORT_ID_LEN).unwrap_or_default();
        output::data(&format!("\nanswer  {short}{requests}\n"))?;
    }
    output::note(match approvals.len() {
        0 => "there are no pending approvals",
        _ => "`adjutant permissions answer approve ID ...` or `... deny ID ...` answers them",
    });
    Ok(())
}

fn answer(client: &mut ControlClient, approves: bool, ids: &[String]) -> Result<(), Failure> {
    let (mut answered, mut missed) = (Vec::new(), Vec::new());
    for id in ids {
        let Question { ticket, title, message, .. } = match answer_one(client, approves, id) {
            Ok(question) => question,
            Err(reason) => {
                missed.push(format!("{id}: {reason}"));
                continue;
            }
        };
        let short = ticket.as_str().get(..questions::SHORT_ID_LEN).unwrap_or_default();
        let done = if approves { "approved" } else { "denied" };
        answered.push(json!({"id": ticket, "ticket": ticket, "decision": done}));
        if !output::is_json() {
            // The first fact of an approval is in the first block of its message.
            let fact = message.lines().skip_while(|line| !line.starts_with("```")).nth(1).unwrap_or_default();
            let fact = clip::chars(fact, MAX_FACT_CHARS);
            output::data(&format!("{short} {done}: {}: {}", escape_line(&title), escape_line(&fact)))?;
        }
    }
    if output::is_json() {
        output::json(&output::list(answered, "ticket"))?;
    }
    if missed.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(missed.join("; ")).hint("`adjutant permissions pending` lists them"))
    }
}

/// Answers one approval; an error is a sentence fragment.
fn answer_one(client: &mut ControlClient, approves: bool, id: &str) -> Result<Question, String> {
    let (id, shown) = id.split_once(':').unwrap_or((id, "1"));
    let shown = shown.parse().map_err(|_| "a number of requests is expected after `:`")?;
    let question = client.one_question(id).map_err(|error| error.to_string())?.question;
    let answer = question.approval_answer(approves).ok_or("it is not an approval that this can answer")?;
    let ticket = question.ticket.clone();
    let done = client.question(Request::Answer {
        ticket,
        shown,
        answer,
        note: None,
        passphrase: None,
        files: Vec::new(),
    });
    match done.map_err(|error| error.to_string())? {
        Done::Decided { .. } => Ok(question),
        Done::Before(_) => Err("it was decided before".to_owned()),
        Done::Unfit { reason, .. } | Done::Passphrase { reason, is_set: false } => Err(reason),
        Done::Passphrase { reason, is_set: true } => {
            Err(format!("{reason}; `adjutant inbox` takes the passphrase"))
        }
        Done::Noted | Done::Snoozed { .. } | Done::Available(_) => {
            Err("the hub did not decide it".to_owned())
        }
    }
}

fn recent(client: &mut ControlClient) -> Result<(), Failure> {
    let records = client.permission_records()?;
    if output::is_json() {
        let decisions = records.iter().map(as_json).collect();
        return output::json(&output::list(decisions, "decision_id"));
    }
    let row = |record: &PermissionRecord| {
        let [subject, client, outcome] =
            [&record.subject, &record.client, &outcome(record)].map(|text| escape_line(text));
        [record.id.to_string(), subject, client, outcome]
    };
    let rows: Vec<_> = records.iter().rev().take(30).map(row).collect();
    output::table(["ID", "REQUEST", "CLIENT", "DECISION"], 1, &rows, "nothing was decided yet")
}

/// Returns a decision as JSON, with its id as text.
fn as_json(record: &PermissionRecord) -> Value {
    let mut value = json!(record);
    value["id"] = record.id.to_string().into();
    output::identified(value, "decision_id")
}

fn explain(client: &mut ControlClient, id: u64) -> Result<(), Failure> {
    let records = client.permission_records()?;
    let record = records.into_iter().find(|record| record.id == id);
    let record = record.ok_or_else(|| {
        Failure::new(format!("no recent decision has the id {id}"))
            .hint("`adjutant permissions explain` lists them")
    })?;
    if output::is_json() {
        return output::json(&as_json(&record));
    }
    for (name, value) in [
        ("request", record.subject.clone()),
        ("tool", record.tool.clone()),
        ("client", record.client.clone()),
        ("session", record.session.clone()),
        ("folder", record.folder.display().to_string()),
        ("decision", outcome(&record)),
    ] {
        output::data(&format!("{name}: {}", escape_line(&value)))?;
    }
    Ok(())
}

/// Describes a decision and its decider: the user, or rules.
fn outcome(record: &PermissionRecord) -> String {
    let verdict = match record.verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "left to the client",
        Verdict::Deny => "denied",
    };
    match (record.by_user, record.rules.is_empty()) {
        (true, _) => format!("{verdict} by you"),
        (false, true) => verdict.to_owned(),
        (false, false) => format!("{verdict} by {}", record.rules.join(", ")),
    }
}

/// Requests that one rule would decide.
struct Kind<'a> {
    request: String,
    records: Vec<&'a PermissionRecord>,
}

impl Kind<'_> {
    /// Returns the number of requests that the user allowed, and of those that the user denied.
    fn answers(&self) -> (usize, usize) {
        let count = |verdict| {
            self.records.iter().filter(|record| record.by_user && record.verdict == verdict).count()
        };
        (count(Verdict::Allow), count(Verdict::Deny))
    }

    /// Returns the rule for requests that the user always answered alike.
    fn suggestion(&self) -> Option<Rule> {
        let verdict = match self.answers() {
            (MIN_ALIKE.., 0) => Verdict::Allow,
            (0, MIN_ALIKE..) => Verdict::Deny,
            _ => return None,
        };
        let is_learnable = self.records.iter().all(|record| record.rules.is_empty());
        let rule = wider(self.records.first().filter(|_| is_learnable)?)?;
        Some(Rule { name: self.request.clone(), verdict, ..rule })
    }
}

/// Returns the rule for requests like this one. For a file in the folder that the agent works in, the rule is for that
/// folder. `None` for a hidden file, which may be run by other programs, and for a rule that would be for `/` or the
/// user's home.
fn wider(record: &PermissionRecord) -> Option<Rule> {
    let home = env::user_home();
    let is_wide =
        |path: &Path| home.as_ref().is_some_and(|home| home.starts_with(path)) || path.parent().is_none();
    let mut rule = record.rule.clone()?;
    if let Some(path) = &rule.path
        && let Ok(inside) = path.strip_prefix(&record.folder)
    {
        if inside.iter().any(|part| part.as_encoded_bytes().starts_with(b".")) {
            return None;
        }
        rule.path = Some(record.folder.clone());
    }
    Some(rule).filter(|rule| ![&rule.path, &rule.folder].into_iter().flatten().any(|path| is_wide(path)))
}

/// Returns a rule as lines of config.toml; `None` if its command has no plain text, or if a value is not visible.
fn as_toml(rule: &Rule) -> Option<String> {
    let quoted = |word: &String| {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:,@%+".contains(letter);
        match word {
            word if !word.is_empty() && word.chars().all(is_plain) => Some(word.clone()),
            word if word.contains(['\'', '\\']) => None,
            word => Some(format!("'{word}'")),
        }
    };
    let words: Option<Vec<String>> = rule.command.iter().flatten().map(quoted).collect();
    let command = words?.join(" ");
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let values = [
        ("name", Some(rule.name.clone())),
        ("decision", Some(rule.verdict.name().to_owned())),
        ("command", rule.command.as_ref().map(|_| command)),
        ("tool", rule.tool.clone()),
        ("host", rule.host.clone()),
        ("path", path(&rule.path)),
        ("client", rule.client.clone()),
        ("folder", path(&rule.folder)),
    ];
    if values.iter().flat_map(|(_, value)| value).any(|value| value.contains(is_invisible)) {
        return None;
    }
    // A string of JSON is one of TOML.
    let lines = values.into_iter().filter_map(|(key, value)| Some(format!("\n{key} = {}", json!(value?))));
    Some(format!("[[approval_rules]]{}", lines.collect::<String>()))
}

fn stats(client: &mut ControlClient) -> Result<(), Failure> {
    let records = client.permission_records()?;
    let asked = records.iter().filter(|record| record.by_user || record.verdict == Verdict::Ask);
    let mut kinds: BTreeMap<String, Vec<&PermissionRecord>> = BTreeMap::new();
    for record in asked {
        let kind = wider(record).map_or_else(|| record.subject.clone(), |rule| rule.summary());
        kinds.entry(kind).or_default().push(record);
    }
    let mut kinds: Vec<Kind<'_>> =
        kinds.into_iter().map(|(request, records)| Kind { request, records }).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.records.len()));
    let row = |kind: &Kind<'_>| {
        let (allowed, denied) = kind.answers();
        let suggested = match kind.suggestion().map(|rule| rule.verdict) {
            Some(Verdict::Allow) => "always allow",
            Some(Verdict::Deny) => "never allow",
            Some(Verdict::Ask) | None => "",
        };
        [
            escape_line(&kind.request),
            kind.records.len().to_string(),
            allowed.to_string(),
            denied.to_string(),
            suggested.to_owned(),
        ]
    };
    let rule = |kind: &Kind<'_>| as_toml(&kind.suggestion()?);
    if output::is_json() {
        let kinds = kinds.iter().map(|kind| {
            let [request, asked, allowed, denied, suggested] = row(kind);
            json!({
                "id": request, "request": request, "asked": asked, "allowed": allowed, "denied": denied,
                "suggested": suggested, "rule": rule(kind),
            })
        });
        return output::json(&output::list(kinds.collect(), "request"));
    }
    let rows: Vec<_> = kinds.iter().take(30).map(row).collect();
    let headings = ["REQUEST", "ASKED", "ALLOWED", "DENIED", "SUGGESTED RULE"];
    output::table(headings, 0, &rows, "nothing was asked yet")?;
    let rules: Vec<String> = kinds.iter().take(30).filter_map(rule).collect();
    if !rules.is_empty() {
        output::note("the suggested rules for config.toml:");
        output::data(&rules.join("\n\n"))?;
    }
    let by_rules = records.iter().filter(|record| !record.by_user && record.verdict != Verdict::Ask).count();
    output::note(format!("rules decided {by_rules} of {} requests", records.len()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rule_is_suggested_for_hidden_files_wide_folders_and_invisible_words() {
        let home = env::user_home().unwrap();
        let above = home.parent().unwrap();
        let project = home.join("tides");
        for (folder, path, expected) in [
            (project.as_path(), project.join("src/a.rs"), Some(project.clone())),
            (project.as_path(), project.join(".git/hooks/pre-push"), None),
            (project.as_path(), "/etc/hosts".into(), Some("/etc/hosts".into())),
            (project.as_path(), home.clone(), None),
            (home.as_path(), project.join("a.rs"), None),
            (above, project.join("a.rs"), None),
            (Path::new("/"), project.join("a.rs"), None),
        ] {
            let rule = Rule { path: Some(path.clone()), ..Rule::new("", Verdict::Allow) };
            let record = PermissionRecord {
                id: 1,
                at: 0,
                client: "claude".to_owned(),
                session: String::new(),
                folder: folder.to_owned(),
                tool: "Edit".to_owned(),
                subject: String::new(),
                verdict: Verdict::Allow,
                rules: Vec::new(),
                by_user: true,
                rule: Some(rule),
            };
            assert_eq!(wider(&record).and_then(|rule| rule.path), expected, "{folder:?} {path:?}");
        }
        let rule =
            |word: &str| Rule { command: Some(vec![word.to_owned()]), ..Rule::new("a", Verdict::Allow) };
        assert!(as_toml(&rule("make all")).unwrap().ends_with("command = \"'make all'\""));
        for hidden in ["make\u{9b}2J", "make\u{202e}", "make\u{1b}"] {
            assert_eq!(as_toml(&rule(hidden)), None, "{hidden:?}");
        }
    }
}
