//! `adjutant agents show`.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::super::output::{self, Failure};
use super::super::{Common, source_files};
use super::{Folders, find};
use adjutant_agents::bundled::bundled_text;
use adjutant_agents::catalogue::Catalogue;
use adjutant_agents::definition::{Agent, Isolation, OnHubExit, Program};
use adjutant_base::text::escape_invisible::escape;

/// Arguments of `adjutant agents show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The agent's name
    name: String,
    /// Print the file itself
    #[arg(long, conflicts_with = "json")]
    source: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    folders: Folders,
}

/// Prints one agent.
pub(super) fn run(args: ShowArgs, common: Common) -> Result<ExitCode, Failure> {
    let (definitions, catalogue) = args.folders.load(common)?;
    let agent = find(&catalogue, &args.name)?;
    let trusted = definitions.trusted(agent);
    if args.source {
        let bundled = bundled_text(&agent.source.relative).unwrap_or(&agent.persona);
        output::text(source_files::text(&agent.source, bundled)?.trim_end_matches('\n'))?;
    } else if args.json {
        output::json(&as_json(agent, trusted, &catalogue))?;
    } else {
        output::data(&escape(as_text(agent, trusted, &catalogue).trim_end()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn hides<'a>(agent: &Agent, catalogue: &'a Catalogue) -> Vec<&'a Arc<Agent>> {
    catalogue.overridden.iter().filter(|hidden| hidden.name == agent.name).collect()
}

fn as_text(agent: &Agent, trusted: bool, catalogue: &Catalogue) -> String {
    let mut lines = vec![agent.name.clone(), String::new(), agent.description.clone(), String::new()];
    let mut line = |key: &str, value: &str| lines.push(format!("{key:11} {value}"));
    line("source", &source_files::file(&agent.source));
    for hidden in hides(agent, catalogue) {
        line("hides", &source_files::place(&hidden.source));
    }
    if agent.program != Program::Adjutant {
        line("format", agent.program.label());
    }
    line("model", agent.model.as_deref().unwrap_or("the runner's own choice"));
    line("runner", agent.runner.as_deref().unwrap_or("the first that supports the agent"));
    line("permission", agent.permission.name());
    if let Some(timeout) = agent.timeout {
        line("timeout", &format!("{} s", timeout.as_secs()));
    }
    if agent.on_hub_exit != OnHubExit::default() {
        line("on hub exit", agent.on_hub_exit.name());
    }
    if agent.isolation != Isolation::default() {
        line("isolation", agent.isolation.name());
    }
    for check in &agent.checks {
        line("check", &spelled(check));
    }
    for name in agent.env.keys() {
        line("env", name);
    }
    line("digest", &agent.digest);
    if !trusted {
        line("trust", &format!("not yet; `adjutant agents trust {}` allows to run it", agent.name));
    }
    lines.push(String::new());
    lines.push(agent.persona.clone());
    lines.join("\n")
}

/// Returns a command as a person wrote it.
fn spelled(check: &[String]) -> String {
    match check {
        [shell, flag, line] if shell == "sh" && flag == "-c" => line.clone(),
        words => words.join(" "),
    }
}

fn as_json(agent: &Agent, trusted: bool, catalogue: &Catalogue) -> Value {
    json!({
        "name": agent.name,
        "description": agent.description,
        "model": agent.model,
        "runner": agent.runner,
        "permission": agent.permission.name(),
        "timeout_seconds": agent.timeout.map(|timeout| timeout.as_secs()),
        "on_hub_exit": agent.on_hub_exit.name(),
        "isolation": agent.isolation.name(),
        "checks": agent.checks,
        // Values may be secrets; the file has them.
        "env": agent.env.keys().collect::<Vec<_>>(),
        "format": agent.program.name(),
        "trusted": trusted,
        "digest": agent.digest,
        "source": source_files::as_json(&agent.source),
        "hides": hides(agent, catalogue).iter().map(|hidden| source_files::as_json(&hidden.source)).collect::<Vec<_>>(),
        "persona": agent.persona,
    })
}
