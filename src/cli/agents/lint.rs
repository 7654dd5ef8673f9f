//! `adjutant agents lint`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::Folders;
use crate::cli::Common;
use crate::cli::output::{self, Failure};
use crate::cli::source_files::{print_finding, relative};
use adjutant_agents::CommandVariant;
use adjutant_agents::definition::{Agent, FieldSupport};
use adjutant_agents::import::{self, Definitions};
use adjutant_agents::lint::{self, AgentReport, Finding, Report};
use adjutant_agents::registry::Registry;
use adjutant_agents::selector::Selector;
use adjutant_base::text::escape_invisible::escape;
use adjutant_host::file_catalogue::Severity;

/// Arguments of `adjutant agents lint`.
#[derive(Debug, Args)]
pub(in crate::cli) struct LintArgs {
    /// Check these files and folders instead of the agents that are served
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    folders: Folders,
}

/// Prints the support of every key, and the findings. The exit code is 1 if a file is not served.
pub(super) fn run(args: &LintArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = args.folders.config(common)?;
    let base = std::env::current_dir()?;
    let selector = Selector::new(&config.runners, None, CommandVariant::Native).map_err(Failure::new)?;
    let registry = Registry::new(&config.agents);
    let (mut found, mut overridden) = (Definitions::default(), Vec::new());
    if args.paths.is_empty() {
        let catalogue = registry.files.load();
        found.agents = catalogue.agents.values().chain(&catalogue.overridden).cloned().collect();
        found.problems.clone_from(&catalogue.problems);
        for agent in &catalogue.overridden {
            if let Some(winner) = catalogue.agents.get(&agent.name) {
                overridden.push((agent.clone(), winner.source.root.clone()));
            }
        }
    }
    for path in &args.paths {
        let mut more = import::find(path, None, true, config.agents.limits())
            .map_err(|error| super::import::failure(&error))?;
        found.agents.append(&mut more.agents);
        found.problems.append(&mut more.problems);
    }
    let untrusted = |agent: &Agent| !registry.trusted(agent);
    let limit = config.agents.limits().file;
    let report = lint::lint(found, &overridden, untrusted, &selector.candidates(), &base, limit);
    if output::is_json() {
        output::json(&as_json(&report))?;
    } else {
        as_text(&report, &base)?;
    }
    Ok(ExitCode::from(u8::from(report.count(Severity::Error) > 0)))
}

fn as_text(report: &Report, base: &Path) -> Result<(), Failure> {
    // A line of a record stays one line, also with line breaks in a file's name or text.
    let print = |text: &str| output::data(&escape(text).replace('\n', " "));
    for AgentReport { agent, runners } in &report.agents {
        let file = agent.source.file.as_deref().unwrap_or_else(|| Path::new(""));
        print(&format!("{}: {} `{}`", relative(file, base), agent.program.label(), agent.name))?;
        let supported = agent.fields.iter().filter(|field| field.support == FieldSupport::Supported);
        let supported: Vec<&str> = supported.map(|field| field.key.as_str()).collect();
        if !supported.is_empty() {
            print(&format!("  {:11}  {}", FieldSupport::Supported.name(), supported.join(", ")))?;
        }
        for field in &agent.fields {
            if let FieldSupport::Mapped(effect) | FieldSupport::Unsupported(effect) = &field.support {
                print(&format!("  {:11}  {}: {effect}", field.support.name(), field.key))?;
            }
        }
        let able = runners.iter().filter(|(_, reason)| reason.is_none()).map(|(name, _)| name.as_str());
        print(&format!("  {:11}  {}", "runs on", able.collect::<Vec<_>>().join(", ")))?;
        for reason in runners.iter().filter_map(|(_, reason)| reason.as_ref()) {
            print(&format!("  {:9}  {reason}", "not on"))?;
        }
    }
    for Finding { rule, file, line, message, hint } in &report.findings {
        let place = format!("{}:{line}", relative(file, base));
        print_finding(&place, (rule.severity, rule.id), message, hint.as_deref())?;
    }
    output::note(Severity::tally(report.files, |severity| report.count(severity)));
    Ok(())
}

fn as_json(report: &Report) -> Value {
    let agents = report.agents.iter().map(|AgentReport { agent, runners }| {
        let fields = agent.fields.iter().map(|field| {
            let effect = match &field.support {
                FieldSupport::Mapped(effect) | FieldSupport::Unsupported(effect) => Some(effect),
                FieldSupport::Supported | FieldSupport::Unknown => None,
            };
            json!({ "key": field.key, "support": field.support.name(), "effect": effect })
        });
        let runners = runners.iter().map(|(name, reason)| json!({ "runner": name, "reason": reason }));
        json!({
            "name": agent.name,
            "format": agent.program.name(),
            "file": agent.source.file,
            "fields": fields.collect::<Vec<_>>(),
            "runners": runners.collect::<Vec<_>>(),
        })
    });
    let findings = report.findings.iter().map(|finding| {
        json!({
            "id": finding.rule.id,
            "rule": finding.rule.name,
            "severity": finding.rule.severity.name(),
            "file": finding.file,
            "line": finding.line,
            "message": finding.message,
            "hint": finding.hint,
        })
    });
    let summary = json!({
        "agents": agents.collect::<Vec<_>>(),
        "files": report.files,
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "notes": report.count(Severity::Note),
    });
    output::with(output::list(findings.collect(), "rule_id"), summary)
}
