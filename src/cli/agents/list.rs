//! `adjutant agents list`.

use serde_json::json;

use super::Folders;
use crate::cli::Common;
use crate::cli::output::Failure;
use crate::cli::source_files::{self, ListArgs, Row};
use adjutant_agents::definition::Agent;

/// Prints the agents by their names.
pub(super) fn run(args: &ListArgs<Folders>, common: Common) -> Result<(), Failure> {
    let (registry, catalogue) = args.folders.load(common)?;
    let query = args.query.as_deref().unwrap_or_default().to_lowercase();
    let matches = |agent: &Agent| {
        let text = format!("{} {}", agent.name, agent.description).to_lowercase();
        query.split_whitespace().all(|word| text.contains(word))
    };
    let overridden = catalogue.overridden.iter().filter(|_| args.all).map(|agent| (agent, true));
    let all = catalogue.agents.values().map(|agent| (agent, false)).chain(overridden);
    let mut agents: Vec<_> = all.filter(|(agent, _)| matches(agent)).collect();
    agents.sort_by_key(|(agent, overridden)| (&agent.name, *overridden));
    let rows = agents.into_iter().map(|(agent, overridden)| {
        let trusted = registry.trusted(agent);
        Row {
            name: &agent.name,
            description: &agent.description,
            source: &agent.source,
            mark: match (overridden, trusted) {
                (true, _) => " (overridden)",
                (false, false) => " (not trusted yet)",
                (false, true) => "",
            },
            json: json!({
                "name": agent.name,
                "description": agent.description,
                "model": agent.model,
                "runner": agent.runner,
                "permission": agent.permission.name(),
                "format": agent.program.name(),
                "overridden": overridden,
                "trusted": trusted,
                "source": source_files::as_json(&agent.source),
            }),
        }
    });
    source_files::print_list("agent", args, rows.collect(), &catalogue.problems)
}
