//! `adjutant prompts list`.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::super::output::{self, Failure};
use super::super::{Common, source_files};
use super::Folders;
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_prompts::{Prompt, Search};

/// Arguments of `adjutant prompts list`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only prompts with these words in their name, an alias, the title or the description
    query: Option<String>,
    /// Show overridden prompts too
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
    let (_, catalogue) = args.folders.load(common)?;
    let search = Search::new(args.query.as_deref().unwrap_or_default());
    let hidden = catalogue.overridden.iter().filter(|_| args.all).map(|prompt| (prompt, true));
    let all = catalogue.prompts.values().map(|prompt| (prompt, false)).chain(hidden);
    let mut found: Vec<_> = all
        .filter_map(|(prompt, hidden)| Some((search.rank(prompt)?, &prompt.name, hidden, prompt)))
        .collect();
    found.sort_by_key(|(rank, name, hidden, _)| (*rank, *name, *hidden));
    let prompts: Vec<_> = found.into_iter().map(|(_, _, hidden, prompt)| (prompt, hidden)).collect();
    if args.json {
        let problems = source_files::problems_json(&catalogue.problems);
        let prompts = prompts.iter().map(|(prompt, hidden)| entry(prompt, *hidden));
        output::json(&json!({ "prompts": prompts.collect::<Vec<_>>(), "problems": problems }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if prompts.is_empty() {
        match args.query {
            Some(query) => output::note(format!("no prompt matches `{query}`")),
            None => output::note("no prompts yet; `adjutant prompts new NAME` creates one"),
        }
    } else {
        let rows = prompts.iter().map(|(prompt, hidden)| {
            let source =
                if *hidden { format!("{} (hidden)", prompt.source.root) } else { prompt.source.root.clone() };
            [escape_line(&prompt.name), escape_line(&prompt.description), source]
        });
        output::table(["NAME", "DESCRIPTION", "SOURCE"], 1, &rows.collect::<Vec<_>>())?;
    }
    source_files::note_problems(&catalogue.problems, "adjutant prompts lint");
    Ok(ExitCode::SUCCESS)
}

fn entry(prompt: &Prompt, hidden: bool) -> Value {
    json!({
        "name": prompt.name,
        "title": prompt.title,
        "description": prompt.description,
        "aliases": prompt.aliases,
        "arguments": prompt.arguments.iter().map(|argument| &argument.name).collect::<Vec<_>>(),
        "hidden": hidden,
        "source": source_files::as_json(&prompt.source),
    })
}
