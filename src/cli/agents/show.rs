//! `adjutant agents show`.

use std::time::Instant;

use serde_json::{Value, json};

use super::{Folders, find};
use crate::cli::output::Failure;
use crate::cli::source_files::{self, ShowArgs};
use crate::cli::{Common, native_runners};
use adjutant_agents::bundled::bundled_text;
use adjutant_agents::definition::{Agent, Isolation, OnHubExit, Program};
use adjutant_agents::registry::Registry;
use adjutant_agents::sandbox::Sandbox;
use adjutant_base::config::Config;
use adjutant_base::config::network::Network;
use adjutant_host::file_catalogue::Source;

/// Prints one agent.
pub(super) fn run(args: &ShowArgs<Folders>, common: Common) -> Result<(), Failure> {
    let config = args.folders.config(common)?;
    let registry = Registry::new(&config.agents);
    let catalogue = registry.files.load();
    let agent = find(&catalogue, &args.name)?;
    let trusted = registry.trusted(agent);
    let overridden = catalogue.overridden.iter().filter(|other| other.name == agent.name);
    let overridden: Vec<&Source> = overridden.map(|other| &other.source).collect();
    let bundled = bundled_text(&agent.source.relative).unwrap_or(&agent.persona);
    let held = held_by(agent, &config)?;
    let json = as_json(agent, trusted, &held, &overridden);
    let text = as_text(agent, trusted, &held, &overridden);
    source_files::print_entry(args, &agent.source, bundled, json, &text)
}

/// Returns the mechanism that would enforce the agent's permission now, on the runner that it names or the first that
/// runs it.
fn held_by(agent: &Agent, config: &Config) -> Result<String, Failure> {
    let selector = native_runners(&config.runners)?;
    let named = agent.runner.as_deref();
    let candidates = selector.candidates();
    let mut candidates = candidates.iter().map(|candidate| candidate.runner.clone());
    let plan = || selector.plan(agent.model.as_deref(), named, agent.permission, Instant::now());
    let first = || plan().choices.into_iter().next();
    let runner = candidates
        .find(|runner| Some(runner.name()) == named)
        .or_else(|| first().map(|choice| choice.runner));
    let Some(runner) = runner else { return Ok("unknown, because no runner can be tried".to_owned()) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let sandbox = Sandbox::new(&config.delegation);
    Ok(
        match runtime.block_on(sandbox.holder(
            &runner,
            agent.permission,
            std::slice::from_ref(&agent.network),
        )) {
            Ok(Some(holder)) => holder.name().to_owned(),
            Ok(None) => "nothing".to_owned(),
            Err(reason) => format!("nothing, so it is refused: {reason}"),
        },
    )
}

fn as_text(agent: &Agent, trusted: bool, held: &str, overridden: &[&Source]) -> String {
    let mut lines = vec![agent.name.clone(), String::new(), agent.description.clone(), String::new()];
    let mut line = |key: &str, value: &str| lines.push(format!("{key:11} {value}"));
    line("source", &source_files::file(&agent.source));
    for other in overridden {
        line("overrides", &source_files::label(other));
    }
    if agent.program != Program::Adjutant {
        line("format", agent.program.label());
    }
    line("model", agent.model.as_deref().unwrap_or("the runner's default"));
    line("runner", agent.runner.as_deref().unwrap_or("the first that supports the agent"));
    line("permission", agent.permission.name());
    line("held by", held);
    if agent.network != Network::All {
        line("network", &serde_json::Value::from(agent.network.clone()).to_string());
    }
    if let Some(timeout) = agent.timeout {
        line("timeout", &format!("{} s", timeout.as_secs()));
    }
    if agent.on_hub_exit != OnHubExit::default() {
        line("on hub exit", agent.on_hub_exit.name());
    }
    if agent.isolation != Isolation::default() {
        line("isolation", agent.isolation.name());
    }
    for (key, commands) in [("setup", &agent.setup), ("check", &agent.checks)] {
        for command in commands {
            line(key, &command_line(command));
        }
    }
    if agent.checks_may_fail {
        line("checks", "need not pass");
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

/// Returns a command line as the file has it.
fn command_line(check: &[String]) -> String {
    match check {
        [shell, flag, line] if shell == "sh" && flag == "-c" => line.clone(),
        words => words.join(" "),
    }
}

fn as_json(agent: &Agent, trusted: bool, held: &str, overridden: &[&Source]) -> Value {
    json!({
        "name": agent.name,
        "description": agent.description,
        "model": agent.model,
        "runner": agent.runner,
        "permission": agent.permission.name(),
        "held_by": held,
        "network": agent.network,
        "timeout_seconds": agent.timeout.map(|timeout| timeout.as_secs()),
        "on_hub_exit": agent.on_hub_exit.name(),
        "isolation": agent.isolation.name(),
        "setup": agent.setup,
        "checks": agent.checks,
        "checks_must_pass": !agent.checks_may_fail,
        // Values may be secrets; the file has them.
        "env": agent.env.keys().collect::<Vec<_>>(),
        "format": agent.program.name(),
        "trusted": trusted,
        "digest": agent.digest,
        "source": source_files::as_json(&agent.source),
        "overrides": overridden.iter().map(|other| source_files::as_json(other)).collect::<Vec<_>>(),
        "persona": agent.persona,
    })
}
