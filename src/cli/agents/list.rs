//! `adjutant agents list`.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::super::output::{self, Failure};
use super::super::{Common, source_files};
use super::Folders;
use adjutant_agents::definition::Agent;
use adjutant_agents::registry::Registry;
use adjutant_base::text::escape_invisible::escape_line;

/// Arguments of `adjutant agents list`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only agents with these words in their name or description
    query: Option<String>,
    /// Show overridden agents too
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    folders: Folders,
}

/// Prints what there is.
pub(super) fn run(args: ListArgs, common: Common) -> Result<ExitCode, Failure> {
    let (definitions, catalogue) = args.folders.load(common)?;
    let words: Vec<String> =
        args.query.iter().flat_map(|query| query.split_whitespace()).map(str::to_lowercase).collect();
    let matches = |agent: &Agent| {
        let text = format!("{} {}", agent.name, agent.description).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let hidden = catalogue.overridden.iter().filter(|_| args.all).map(|agent| (agent, true));
    let all = catalogue.agents.values().map(|agent| (agent, false)).chain(hidden);
    let mut agents: Vec<_> = all.filter(|(agent, _)| matches(agent)).collect();
    agents.sort_by_key(|(agent, hidden)| (&agent.name, *hidden));
    if args.json {
        let problems = source_files::problems_json(&catalogue.problems);
        let agents = agents.iter().map(|(agent, hidden)| entry(agent, *hidden, &definitions));
        output::json(&json!({ "agents": agents.collect::<Vec<_>>(), "problems": problems }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if agents.is_empty() {
        match args.query {
            Some(query) => output::note(format!("no agent matches `{query}`")),
            None => output::note("no agents yet; `adjutant agents new NAME` creates one"),
        }
    } else {
        let rows = agents.iter().map(|(agent, hidden)| {
            let mark = match (hidden, definitions.trusted(agent)) {
                (true, _) => " (hidden)",
                (false, false) => " (not trusted yet)",
                (false, true) => "",
            };
            [
                escape_line(&agent.name),
                escape_line(&agent.description),
                format!("{}{mark}", agent.source.root),
            ]
        });
        output::table(["NAME", "DESCRIPTION", "SOURCE"], 1, &rows.collect::<Vec<_>>())?;
    }
    source_files::note_problems(&catalogue.problems, "adjutant agents lint");
    Ok(ExitCode::SUCCESS)
}

fn entry(agent: &Agent, hidden: bool, definitions: &Registry) -> Value {
    json!({
        "name": agent.name,
        "description": agent.description,
        "model": agent.model,
        "runner": agent.runner,
        "permission": agent.permission.name(),
        "format": agent.program.name(),
        "hidden": hidden,
        "trusted": definitions.trusted(agent),
        "source": source_files::as_json(&agent.source),
    })
}
