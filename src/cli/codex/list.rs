//! `adjutant codex --list`.

use std::process::ExitCode;

use crate::cli::output::{self, Failure};
use crate::clock;
use crate::socket::person::Person;
use crate::visible::line;

/// Threads of one list.
const MOST: u32 = 100;

/// Prints the threads that hold `text`, the last used first.
pub(super) fn threads(person: &mut Person, text: &str, json: bool) -> Result<ExitCode, Failure> {
    let threads = person.codex_threads(text, MOST)?;
    if json {
        output::json(&threads)?;
    } else if threads.is_empty() {
        output::note("there are no threads yet");
    } else {
        let rows: Vec<[String; 3]> = threads
            .into_iter()
            .map(|thread| {
                let at = clock::stamp(clock::instant(thread.updated_at));
                let end = thread.last_end.map(|end| format!(", {end}")).unwrap_or_default();
                [thread.thread, line(&thread.title), format!("{}{end}  {at}", thread.state)]
            })
            .collect();
        output::table(["THREAD", "PROMPT", "STATE"], 1, &rows)?;
    }
    Ok(ExitCode::SUCCESS)
}
