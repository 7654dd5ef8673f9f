//! `adjutant agents new`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::super::Common;
use super::super::output::{self, Failure};
use super::super::source_files::{self, place as shown_place};
use super::Folders;
use adjutant_agents::registry::Registry;
use adjutant_base::text::suggest::to_valid_name;
use adjutant_base::text::yaml::scalar;
use adjutant_host::files::atomic_write;
use adjutant_host::files::atomic_write::Change;

/// Arguments of `adjutant agents new`.
#[derive(Debug, Args)]
pub(super) struct NewArgs {
    /// The agent's name, with `/` for subfolders
    name: String,
    /// What it is for, in one sentence
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Create it for the project around the current folder, in .adjutant/agents
    #[arg(long, conflicts_with = "agents_dir")]
    project: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    folders: Folders,
}

/// Creates the file and says where it is.
pub(super) fn run(args: NewArgs, common: Common) -> Result<ExitCode, Failure> {
    let name = &args.name;
    let fitting = to_valid_name(name);
    if fitting != *name {
        let failure = Failure::usage(format!(
            "`{}` is not a valid name for an agent: use lower-case letters, digits, `-` and `_`, and `/` for subfolders",
            name.escape_debug()
        ));
        return Err(failure.hint(match fitting.as_str() {
            "" => "one such as `reviewer`".to_owned(),
            fitting => format!("`{fitting}` would do"),
        }));
    }
    let named = args.folders.agents_dir.first().cloned();
    let config = args.folders.config(common)?;
    let folder = match (named, args.project) {
        (Some(folder), _) => folder,
        (None, true) => source_files::project(&config.home)?.join(".adjutant").join("agents"),
        (None, false) => config.home.join("agents"),
    };
    let file = folder.join(format!("{name}.yaml"));
    let text = template(args.description.as_deref());
    if atomic_write::compare(&file, &text).map_err(Failure::new)? != Change::New {
        return Err(Failure::new(format!("{} is there already", file.display()))
            .hint("edit it, or choose another name"));
    }
    let before = Registry::new(&config.agents).load();
    atomic_write::put(&file, &text).map_err(Failure::new)?;
    if args.json {
        output::json(&json!({ "name": name, "file": file }))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::data(&file.display().to_string())?;
    if let Some(other) = before.agents.get(name) {
        output::note(format!(
            "note: there is an agent `{name}` already ({}); `adjutant agents show {name}` says which is used",
            shown_place(&other.source)
        ));
    }
    output::note(format!("next: edit the file, then look at it with `adjutant agents show {name}`"));
    Ok(ExitCode::SUCCESS)
}

fn template(description: Option<&str>) -> String {
    let description = description
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|text| !text.is_empty());
    let description =
        description.unwrap_or_else(|| "Say in one sentence what this agent is good for.".to_owned());
    TEMPLATE.replace("DESCRIPTION", &scalar(&description))
}

const TEMPLATE: &str = "\
description: DESCRIPTION
persona: |
  Say here who the agent is and how it works: what it looks at first, what it may change,
  how its answer is to look. The task that is delegated to it follows behind this text.

# The rest is optional: take away the `#` from what you need.
# model: gpt-5                # as the runner's program spells it
# runner: codex               # or copilot, claude, gemini, opencode, or one of config.toml
# permission: read-only       # or workspace-write, full
# timeout: 20m
# isolation: none             # or worktree: a copy of the repository for every task
# on_hub_exit: kill           # or keep: go on when the hub is gone
# checks:                     # what the hub runs when the agent is done
#   - cargo test
# env:
#   CI: \"1\"
";
