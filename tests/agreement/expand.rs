//! `expand-calendars`: expands calendar files as an import does, for the comparison with another reader. Each line of stdin
//! is a request, `{"file": …, "zone": …, "windows": [[from, to], …]}`; each line of stdout is its answer, with the
//! occurrences that start in the windows.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{BufRead as _, Write as _};

use jiff::Timestamp;
use serde_json::{Value, json};

use adjutant_assistant::Zone;
use adjutant_assistant::calendar::{Effect, Horizon, parse};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        writeln!(out, "{}", answer(&serde_json::from_str(&line?)?)?)?;
    }
    Ok(())
}

fn answer(request: &Value) -> Result<Value, Box<dyn Error>> {
    let bytes = std::fs::read(request["file"].as_str().ok_or("no file")?)?;
    let text = String::from_utf8_lossy(&bytes);
    let zone = Zone::named(request["zone"].as_str().ok_or("no zone")?)?;
    let (mut occurrences, mut issues) = (BTreeSet::new(), BTreeSet::new());
    for window in request["windows"].as_array().ok_or("no windows")? {
        let at =
            |place: usize| Ok::<Timestamp, Box<dyn Error>>(window[place].as_str().ok_or("no time")?.parse()?);
        let (from, to) = (at(0)?, at(1)?);
        match parse(&text, &zone, Horizon { from, to }) {
            Ok(parsed) => {
                for draft in &parsed.drafts {
                    let found =
                        draft.occurrences.iter().filter(|one| from <= one.starts_at && one.starts_at < to);
                    occurrences.extend(found.map(|one| (one.starts_at, one.ends_at, draft.title.clone())));
                }
                issues.extend(parsed.issues.iter().map(|issue| {
                    let effect = if issue.error.effect() == Effect::LeftOut { "left out" } else { "remark" };
                    format!("{effect}: {}: {}", issue.line, issue.error)
                }));
            }
            Err(error) => _ = issues.insert(format!("left out: {error}")),
        }
    }
    let occurrences =
        occurrences.into_iter().map(|(from, to, title)| json!([from.to_string(), to.to_string(), title]));
    Ok(json!({"occurrences": occurrences.collect::<Vec<_>>(), "issues": issues}))
}
