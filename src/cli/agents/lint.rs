//! `adjutant agents lint`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::super::Common;
use super::super::output::{self, Failure};
use super::super::source_files::shown;
use super::Folders;
use adjutant_agents::CommandVariant;
use adjutant_agents::definition::{Agent, FieldSupport};
use adjutant_agents::import::{self, Definitions};
use adjutant_agents::lint::{self, AgentReport, Finding, Report};
use adjutant_agents::registry::Registry;
use adjutant_agents::selector::Selector;
use adjutant_base::text::escape_invisible::escape;
use adjutant_host::files::Severity;

/// Arguments of `adjutant agents lint`.
#[derive(Debug, Args)]
pub(super) struct LintArgs {
    /// Check these files and folders instead of the agents that are served
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    folders: Folders,
}

/// Prints what every key means and what may be amiss; a file that is not served makes the exit code 1.
pub(super) fn run(args: LintArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = args.folders.config(common)?;
    let base = std::env::current_dir()?;
    let selector = Selector::new(&config.runners, None, CommandVariant::Native).map_err(Failure::new)?;
    let definitions = Registry::new(&config.agents);
    let (mut found, mut hidden) = (Definitions::default(), Vec::new());
    if args.paths.is_empty() {
        let catalogue = definitions.load();
        found.agents = catalogue.agents.values().chain(&catalogue.overridden).cloned().collect();
        found.problems.clone_from(&catalogue.problems);
        for agent in &catalogue.overridden {
            if let Some(winner) = catalogue.agents.get(&agent.name) {
                hidden.push((agent.clone(), winner.source.root.clone()));
            }
        }
    }
    for path in &args.paths {
        let mut more = import::find(path, None, true, config.agents.limits())
            .map_err(|error| super::import::failure(&error))?;
        found.agents.append(&mut more.agents);
        found.problems.append(&mut more.problems);
    }
    let untrusted = |agent: &Agent| !definitions.trusted(agent);
    let most = config.agents.limits().file;
    let report = lint::lint(found, &hidden, untrusted, selector.candidates(), &base, most);
    if args.json {
        output::json(&as_json(&report))?;
    } else {
        as_text(&report, &base)?;
    }
    Ok(ExitCode::from(u8::from(report.count(Severity::Error) > 0)))
}

fn as_text(report: &Report, base: &Path) -> Result<(), Failure> {
    // A line of a record stays one line, whatever a file's name or text holds.
    let line = |text: &str| output::data(&escape(text).replace('\n', " "));
    for AgentReport { agent, runners } in &report.agents {
        let file = agent.source.file.as_deref().unwrap_or_else(|| Path::new(""));
        line(&format!("{}: {} `{}`", shown(file, base), agent.program.label(), agent.name))?;
        let honoured = agent.fields.iter().filter(|field| field.support == FieldSupport::Supported);
        let honoured: Vec<&str> = honoured.map(|field| field.key.as_str()).collect();
        if !honoured.is_empty() {
            line(&format!("  honoured   {}", honoured.join(", ")))?;
        }
        for field in &agent.fields {
            if let FieldSupport::Mapped(what) | FieldSupport::Unsupported(what) = &field.support {
                line(&format!("  {:9}  {}: {what}", field.support.name(), field.key))?;
            }
        }
        let able = runners.iter().filter(|(_, refusal)| refusal.is_none()).map(|(name, _)| name.as_str());
        line(&format!("  {:9}  {}", "runs on", able.collect::<Vec<_>>().join(", ")))?;
        for (_, refusal) in runners {
            if let Some(refusal) = refusal {
                line(&format!("  {:9}  {refusal}", "not on"))?;
            }
        }
    }
    for Finding { rule, file, line: number, message, hint } in &report.findings {
        let file = shown(file, base);
        line(&format!("{file}:{number}: {}[{}]: {message}", rule.severity.name(), rule.id))?;
        if let Some(hint) = hint {
            line(&format!("  hint: {hint}"))?;
        }
    }
    output::note(Severity::tally(report.files, |severity| report.count(severity)));
    Ok(())
}

fn as_json(report: &Report) -> Value {
    let agents = report.agents.iter().map(|AgentReport { agent, runners }| {
        let fields = agent.fields.iter().map(|field| {
            let what = match &field.support {
                FieldSupport::Mapped(what) | FieldSupport::Unsupported(what) => Some(what),
                FieldSupport::Supported | FieldSupport::Unknown => None,
            };
            json!({ "key": field.key, "fate": field.support.name(), "what": what })
        });
        let runners = runners.iter().map(|(name, refusal)| json!({ "runner": name, "refusal": refusal }));
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
    json!({
        "agents": agents.collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(),
        "files": report.files,
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "notes": report.count(Severity::Note),
    })
}
