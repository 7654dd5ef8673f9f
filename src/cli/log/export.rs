//! `adjutant log export`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Filter, FilterArgs, content, title};
use crate::cli::one_of;
use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::{escape, escape_line};
use adjutant_host::recorder::format::{Direction, Entry, Header};
use adjutant_host::recorder::{reader, redact};

/// Bytes that are gathered before they are written.
const BUFFER_SIZE: usize = 256 << 10;

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
    /// List what would be redacted, without the values, and export nothing
    #[arg(long)]
    check: bool,
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
    if !args.filter.secrets {
        header.about = redact::text(&header.about).into_owned();
        redact::command(&mut header.command);
    }
    let mut sink = Sink {
        args,
        out: Vec::new(),
        file: None,
        last: (0, 0, 0),
        found: BTreeMap::new(),
        rows: Vec::new(),
        is_closed: false,
        error: None,
    };
    if let Some(path) = args.output.as_deref().filter(|_| !args.check) {
        sink.file = Some(reader::create(path).map_err(|error| failed(path, &error))?);
    }
    match args.format {
        _ if args.check => {}
        Format::Jsonl => sink.json(&header),
        Format::Markdown => sink.out.extend_from_slice(page(&header).as_bytes()),
    }
    Filter::new(&args.filter).read(&found, |entry, rules| {
        sink.entry(entry, rules);
        sink.error.is_none() && !sink.is_closed
    })?;
    let found = std::mem::take(&mut sink.found);
    if !args.filter.secrets && !args.check {
        // The header was written before this was known.
        let redacted = json!({ "redacted": found }).to_string();
        let (seq, at, us) = sink.last;
        let entry = Entry::new(seq + 1, at, us, Direction::Note);
        sink.entry(&Entry { line: Some(redacted.into()), ..entry }, &[]);
    }
    sink.write();
    if let Some(error) = sink.error {
        return Err(error);
    }
    if sink.is_closed {
        return Ok(());
    }
    let rules: Vec<String> = found.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
    let summary = match found.values().sum::<usize>() {
        0 => "no secrets found".to_owned(),
        count => format!("{count} secrets redacted: {}", rules.join(", ")),
    };
    match &args.output {
        _ if args.check && output::is_json() => {
            let total = sink.rows.len();
            output::json(&json!({"items": sink.rows, "total": total, "next": null, "redacted": found}))?;
        }
        Some(path) if !args.check => {
            let written = json!({"file": path, "redacted": found});
            output::changed(format!("{} ({summary})", path.display()), &written)?;
        }
        _ => output::note(summary),
    }
    Ok(())
}

/// The text of an export, on its way to a file or to stdout.
struct Sink<'a> {
    args: &'a ExportArgs,
    out: Vec<u8>,
    file: Option<File>,
    /// The number of replacements by each rule.
    found: BTreeMap<&'static str, usize>,
    /// The rows of `--check --json`.
    rows: Vec<Value>,
    /// Number and times of the last entry.
    last: (u64, i64, u64),
    /// The reader of stdout has closed it.
    is_closed: bool,
    error: Option<Failure>,
}

impl Sink<'_> {
    fn entry(&mut self, entry: &Entry<'_>, rules: &[&'static str]) {
        self.last = (entry.seq, entry.at, entry.us);
        for rule in rules {
            *self.found.entry(rule).or_default() += 1;
        }
        match self.args.format {
            _ if self.args.check && output::is_json() => {
                let row = |rule| json!({"id": entry.seq.to_string(), "entry": entry.seq, "direction": entry.dir.name(), "rule": rule});
                self.rows.extend(rules.iter().map(row));
            }
            _ if self.args.check => {
                for rule in rules {
                    // Writing into a vector cannot fail.
                    let _ = writeln!(self.out, "{:>6}  {:<4}  {rule}", entry.seq, entry.dir.name());
                }
            }
            Format::Jsonl => self.json(entry),
            Format::Markdown => section(&mut self.out, entry),
        }
        if self.out.len() > BUFFER_SIZE {
            self.write();
        }
    }

    fn json(&mut self, value: &impl Serialize) {
        // Writing JSON into a vector cannot fail.
        let _ = serde_json::to_writer(&mut self.out, value);
        self.out.push(b'\n');
    }

    fn write(&mut self) {
        let written = match (&mut self.file, &self.args.output) {
            (Some(file), Some(path)) => file.write_all(&self.out).map_err(|error| failed(path, &error)),
            _ => output::raw(&self.out).map(|has_reader| self.is_closed |= !has_reader),
        };
        self.out.clear();
        self.error = self.error.take().or(written.err());
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display())).hint("name another file with --output")
}

fn page(header: &Header) -> String {
    let mut page = format!("# Recording {}\n\n", escape_line(&header.session));
    let command = header.command.join(" ");
    let rows = [
        ("connection", header.connection.name()),
        ("about", &header.about),
        ("command", &command),
        ("started", &header.started),
        ("recorded by", &format!("adjutant {}", header.adjutant)),
    ];
    page.push_str("| | |\n|---|---|\n");
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(page, "| {name} | {} |", escape_line(value).replace('|', "\\|"));
    }
    page
}

/// Writes an entry as a section: a heading, and its text in a fence that is longer than any in the text.
fn section(page: &mut Vec<u8>, entry: &Entry<'_>) {
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
