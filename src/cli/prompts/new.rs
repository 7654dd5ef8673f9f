//! `adjutant prompts new`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::super::Common;
use super::super::output::{self, Failure};
use super::super::source_files::{self, place as shown_place};
use super::Folders;
use adjutant_base::text::suggest::to_valid_name;
use adjutant_base::text::yaml::scalar;
use adjutant_host::files::atomic_write;
use adjutant_host::files::atomic_write::Change;
use adjutant_prompts::Prompts;

/// Arguments of `adjutant prompts new`.
#[derive(Debug, Args)]
pub(super) struct NewArgs {
    /// The prompt's name, with `/` for subfolders
    name: String,
    /// What it is for, in one sentence
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Create it for the project around the current folder, in .adjutant/prompts
    #[arg(long, conflicts_with = "prompts_dir")]
    project: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    folders: Folders,
}

/// Creates the file and says where it is.
pub(super) fn run(args: NewArgs, common: Common) -> Result<ExitCode, Failure> {
    let name = args.name.strip_prefix(':').unwrap_or(&args.name);
    let fitting = to_valid_name(name);
    if fitting != name {
        let failure = Failure::usage(format!(
            "`{}` is not a valid name for a prompt: use lower-case letters, digits, `-` and `_`, and `/` for subfolders",
            name.escape_debug()
        ));
        return Err(failure.hint(match fitting.as_str() {
            "" => "one such as `team/standup`".to_owned(),
            fitting => format!("`{fitting}` would do"),
        }));
    }
    let named = args.folders.prompts_dir.first().cloned();
    let config = args.folders.config(common)?;
    let folder = match (named, args.project) {
        (Some(folder), _) => folder,
        (None, true) => source_files::project(&config.home)?.join(".adjutant").join("prompts"),
        (None, false) => config.home.join("prompts"),
    };
    let file = folder.join(format!("{name}.md"));
    let text = template(args.description.as_deref());
    if atomic_write::compare(&file, &text).map_err(Failure::new)? != Change::New {
        return Err(Failure::new(format!("{} is there already", file.display()))
            .hint("edit it, or choose another name"));
    }
    let before = Prompts::new(config.prompts.roots.clone(), config.prompts.limits()).load();
    atomic_write::put(&file, &text).map_err(Failure::new)?;
    if args.json {
        output::json(&json!({ "name": name, "file": file }))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::data(&file.display().to_string())?;
    if let Some(other) = before.prompts.get(name) {
        output::note(format!(
            "note: there is a prompt `{name}` already ({}); `adjutant prompts show {name}` says which is served",
            shown_place(&other.source)
        ));
    }
    output::note(format!(
        "next: edit the file, then try it with `adjutant prompts expand {name} \"some text\"`"
    ));
    Ok(ExitCode::SUCCESS)
}

fn template(description: Option<&str>) -> String {
    let description = description
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|text| !text.is_empty());
    let description =
        description.unwrap_or_else(|| "Say in one sentence what this prompt is for.".to_owned());
    TEMPLATE.replace("DESCRIPTION", &scalar(&description))
}

const TEMPLATE: &str = "\
---
description: DESCRIPTION
# The rest is optional: take away the `#` from what you need.
# title: A name for people
# aliases: [short-name]
# arguments:
#   - name: tone
#     description: How it should sound
#     type: string            # or integer, number, boolean
#     enum: [plain, formal]   # the only values allowed
#     default: plain
#     required: false
# engine: literal             # or args ($ARGUMENTS, $1), or jinja
---

Write here what the agent is to do. The text that you type behind the command stands in
place of the next line; an argument is written the same way, with its name in the braces.

{{input}}
";
