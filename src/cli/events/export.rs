//! `adjutant events export`.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::super::output::{self, Failure};
use adjutant_assistant::{Assistant, UserId};

/// Arguments of `adjutant events export`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ExportArgs {
    /// User who owns the events
    user: UserId,
    /// Write it to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

/// Prints a user's events as iCalendar text, or writes them to a file.
pub(super) async fn run(args: ExportArgs, assistant: &Assistant) -> Result<(), Failure> {
    let text = assistant.export(&args.user, Timestamp::now()).await?;
    match args.to {
        Some(file) => {
            std::fs::write(&file, text).map_err(|error| {
                Failure::new(format!("cannot write {}: {error}", file.display()))
                    .hint("name another file with --to, or leave it out to print")
            })?;
            let user = &args.user;
            let written = json!({"id": user, "user_id": user, "file": file, "calendar": null});
            output::changed(format!("wrote {}", file.display()), &written)
        }
        None if output::is_json() => {
            let user = &args.user;
            output::json(&json!({"id": user, "user_id": user, "file": null, "calendar": text}))
        }
        None => output::data(text.trim_end()),
    }
}
