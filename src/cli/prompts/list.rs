//! `adjutant prompts list`.

use serde_json::json;

use super::Folders;
use crate::cli::Common;
use crate::cli::output::Failure;
use crate::cli::source_files::{self, ListArgs, Row};
use adjutant_prompts::Search;

/// Prints the prompts, the best matches first.
pub(super) fn run(args: &ListArgs<Folders>, common: Common) -> Result<(), Failure> {
    let catalogue = args.folders.load(common)?;
    let search = Search::new(args.query.as_deref().unwrap_or_default());
    let overridden = catalogue.overridden.iter().filter(|_| args.all).map(|prompt| (prompt, true));
    let all = catalogue.prompts.values().map(|prompt| (prompt, false)).chain(overridden);
    let mut found: Vec<_> = all
        .filter_map(|(prompt, overridden)| Some((search.rank(prompt)?, &prompt.name, overridden, prompt)))
        .collect();
    found.sort_by_key(|(rank, name, overridden, _)| (*rank, *name, *overridden));
    let rows = found.into_iter().map(|(_, name, overridden, prompt)| Row {
        name,
        description: &prompt.description,
        source: &prompt.source,
        mark: if overridden { " (overridden)" } else { "" },
        json: json!({
            "name": name,
            "title": prompt.title,
            "description": prompt.description,
            "aliases": prompt.aliases,
            "arguments": prompt.arguments.iter().map(|argument| &argument.name).collect::<Vec<_>>(),
            "overridden": overridden,
            "source": source_files::as_json(&prompt.source),
        }),
    });
    source_files::print_list("prompt", args, rows.collect(), &catalogue.problems)
}
