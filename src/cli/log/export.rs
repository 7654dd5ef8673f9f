//! `adjutant log export`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{Filter, FilterArgs, content, title};
use crate::cli::one_of;
use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::{escape, escape_line};
use adjutant_host::recorder::format::{Entry, Header};
use adjutant_host::recorder::{reader, redact};

/// Arguments of `adjutant log export`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ExportArgs {
    /// A file, a name or a part of one, or a thread's id [default: the last used]
    #[arg(value_name = "RECORDING")]
    recording: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// jsonl, which `show` and `replay` read again, or markdown [default: jsonl]
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = one_of([("jsonl", Format::Jsonl), ("markdown", Format::Markdown)]), hide_default_value = true)]
    format: Format,
    /// Write to this new file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Jsonl,
    Markdown,
}

/// Writes a recording as one text.
pub(super) fn run(args: &ExportArgs, folder: &Path) -> Result<(), Failure> {
    let found = reader::find(folder, args.recording.as_deref())?;
    let mut header = reader::header(&found)?;
    let mut filter = Filter::new(&args.filter);
    let mut body = String::new();
    let mut redacted_lines = 0;
    reader::entries(&found, |mut entry| {
        if let Some(redacted) = filter.select(&mut entry) {
            redacted_lines += usize::from(redacted);
            match args.format {
                Format::Jsonl => {
                    body.push_str(&serde_json::to_string(&entry).unwrap_or_default());
                    body.push('\n');
                }
                Format::Markdown => section(&mut body, &entry),
            }
        }
        true
    })?;
    if !args.filter.secrets {
        header.redacted = Some(header.redacted.unwrap_or(0) + redacted_lines);
        header.about = redact::text(&header.about).into_owned();
        for word in &mut header.command {
            *word = redact::text(word).into_owned();
        }
    }
    let head = match args.format {
        Format::Jsonl => serde_json::to_string(&header).map_err(Failure::new)? + "\n",
        Format::Markdown => page(&header),
    };
    let text = head + &body;
    match &args.output {
        None => {
            output::raw(text.as_bytes())?;
        }
        Some(file) => {
            let written = reader::create(file).and_then(|mut made| made.write_all(text.as_bytes()));
            written.map_err(|error| {
                Failure::new(format!("{}: {error}", file.display())).hint("name another file with --output")
            })?;
            output::note(format!("{} ({redacted_lines} lines with secrets redacted)", file.display()));
        }
    }
    Ok(())
}

fn page(header: &Header) -> String {
    let mut page = format!("# Recording {}\n\n", escape_line(&header.session));
    let redacted = header.redacted.map(|lines| format!("{lines} lines")).unwrap_or_default();
    let command = header.command.join(" ");
    let rows = [
        ("connection", header.connection.name()),
        ("about", &header.about),
        ("command", &command),
        ("started", &header.started),
        ("recorded by", &format!("adjutant {}", header.adjutant)),
        ("secrets redacted in", &redacted),
    ];
    page.push_str("| | |\n|---|---|\n");
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(page, "| {name} | {} |", escape_line(value).replace('|', "\\|"));
    }
    page
}

/// Writes an entry as a section: a heading, and its text in a fence that is longer than any in the text.
fn section(page: &mut String, entry: &Entry<'_>) {
    let message = entry.message();
    let title = message.as_ref().map(title).unwrap_or_default().replace(['`', '<', '*', '#'], " ");
    let (seconds, micros) = (entry.us / 1_000_000, entry.us % 1_000_000);
    let _ = write!(page, "\n## {} · {} · +{seconds}.{micros:06} s", entry.seq, entry.dir.name());
    let _ = writeln!(page, "{}{}\n", if title.is_empty() { "" } else { " · " }, title.trim());
    let (language, text) = match &message {
        Some(message) => ("json", serde_json::to_string_pretty(message).unwrap_or_default()),
        None => ("text", content(entry)),
    };
    let text = escape(&text);
    let max_run = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(max_run.max(2) + 1);
    let _ = writeln!(page, "{fence}{language}\n{text}\n{fence}");
}
