//! `adjutant permissions …`: approval rules, and the decisions of permission requests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value, json};

use super::hook::CLIENTS;
use super::output::{self, Failure};
use super::{Common, hub_client};
use adjutant_app::permissions::{PermissionRecord, ToolCall};
use adjutant_base::config::Roots;
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_permissions::{Rule, Rules, Verdict};
use adjutant_terminal::socket::Start;
use adjutant_terminal::socket::control::ControlClient;

/// Decisions of one kind from which on a rule is suggested.
const MIN_ALIKE: usize = 3;

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
    /// Show one decision of this hub; without an id, list the last ones
    Explain {
        /// The number of the decision
        id: Option<u64>,
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
    let config = common.config(Roots::User)?;
    let mut client = hub_client::connect(&config, Start::IfNeeded)?;
    match command {
        Command::List => list(&mut client),
        Command::Test { line, client: name, folder } => test(&mut client, &line, name, folder),
        Command::Explain { id: Some(id) } => explain(&mut client, id),
        Command::Explain { id: None } => recent(&mut client),
        Command::Stats => stats(&mut client),
        Command::Remove { name } => {
            client.remove_approval_rule(name.clone())?;
            output::changed("the rule is removed", &json!({"id": name, "name": name, "removed": true}))
        }
    }
}

fn list(client: &mut ControlClient) -> Result<(), Failure> {
    let rules = client.approval_rules()?;
    if output::is_json() {
        let rules = rules.iter().map(|rule| json!(rule)).collect();
        return output::json(&output::list(rules, "name"));
    }
    let row = |rule: &Rule| [rule.name.clone(), rule.verdict.name().to_owned(), escape_line(&rule.summary())];
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
    })?;
    if output::is_json() {
        return output::json(&json!({"decision": decision.verdict, "rules": decision.rules}));
    }
    let by = if decision.rules.is_empty() {
        "no rule allows all of it".to_owned()
    } else {
        decision.rules.join(", ")
    };
    output::data(&format!("{} ({by})", decision.verdict.name()))
}

fn recent(client: &mut ControlClient) -> Result<(), Failure> {
    let records = client.permission_records()?;
    if output::is_json() {
        let decisions = records.iter().map(as_json).collect();
        return output::json(&output::list(decisions, "decision_id"));
    }
    let row = |record: &PermissionRecord| {
        [record.id.to_string(), escape_line(&record.subject), record.client.clone(), outcome(record)]
    };
    let rows: Vec<_> = records.iter().rev().take(30).map(row).collect();
    output::table(["ID", "REQUEST", "CLIENT", "DECISION"], 1, &rows, "this hub has decided nothing yet")
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
        Failure::new(format!("this hub has no decision {id}"))
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

/// Describes a decision and what made it.
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

fn stats(client: &mut ControlClient) -> Result<(), Failure> {
    let records = client.permission_records()?;
    let asked = records.iter().filter(|record| record.by_user || record.verdict == Verdict::Ask);
    let mut kinds: BTreeMap<String, Vec<&PermissionRecord>> = BTreeMap::new();
    for record in asked {
        let kind = record.rule.as_ref().map_or_else(|| record.subject.clone(), Rule::summary);
        kinds.entry(kind).or_default().push(record);
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, records)| std::cmp::Reverse(records.len()));
    let row = |(kind, records): &(String, Vec<&PermissionRecord>)| {
        let count =
            |verdict| records.iter().filter(|record| record.by_user && record.verdict == verdict).count();
        let (allowed, denied) = (count(Verdict::Allow), count(Verdict::Deny));
        let is_learnable = records.iter().all(|record| record.rule.is_some() && record.rules.is_empty());
        let suggested = match (allowed, denied) {
            (MIN_ALIKE.., 0) if is_learnable => "always allow",
            (0, MIN_ALIKE..) if is_learnable => "never allow",
            _ => "",
        };
        [
            escape_line(kind),
            records.len().to_string(),
            allowed.to_string(),
            denied.to_string(),
            suggested.to_owned(),
        ]
    };
    if output::is_json() {
        let kinds = kinds.iter().map(row).map(|[request, asked, allowed, denied, suggested]| {
            json!({"id": request, "request": request, "asked": asked, "allowed": allowed, "denied": denied, "suggested": suggested})
        });
        return output::json(&output::list(kinds.collect(), "request"));
    }
    let rows: Vec<_> = kinds.iter().take(30).map(row).collect();
    let headings = ["REQUEST", "ASKED", "ALLOWED", "DENIED", "SUGGESTED RULE"];
    output::table(headings, 0, &rows, "this hub has asked nothing yet")?;
    let by_rules = records.iter().filter(|record| !record.by_user && record.verdict != Verdict::Ask).count();
    output::note(format!("rules decided {by_rules} of {} requests", records.len()));
    Ok(())
}
