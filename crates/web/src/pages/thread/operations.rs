//! The operations on a thread of Codex that the forms of its page start.

use crate::page;
use crate::request::Fields;
use adjutant_app::App;
use adjutant_codex::Error;
use adjutant_codex::operations::{Operation, TurnRef};
use adjutant_codex::thread_options::{Act, ReviewTarget, TurnInput};

/// Returns the input of a turn from the form of a reply.
pub(super) fn turn(fields: &Fields) -> TurnInput {
    let lines = |name: &str| fields.get(name).lines().map(str::trim).filter(|line| !line.is_empty());
    TurnInput {
        act: Act::Prompt,
        text: fields.filled("prompt").unwrap_or_default(),
        images: lines("images").map(ToOwned::to_owned).collect(),
        files: lines("files").map(ToOwned::to_owned).collect(),
        model: fields.filled("model"),
        effort: fields.filled("effort"),
    }
}

/// Carries out the operation of the pressed button. Returns the address of the next page; `None` for an unknown button,
/// or if the number of turns is not a positive number.
pub(super) async fn run(app: &App, thread: &str, fields: &Fields) -> Option<Result<String, Error>> {
    let turn = |act| TurnInput { act, ..TurnInput::default() };
    let turns = match fields.filled("turns") {
        Some(turns) => Some(turns.trim().parse().ok().filter(|turns| *turns > 0)?),
        None => None,
    };
    let operation = match fields.get("act").trim() {
        "compact" => return Some(start(app, thread, turn(Act::Compact)).await),
        "review" => {
            let named = |name: &str| fields.filled(name);
            let target = match (named("instructions"), named("base"), named("sha")) {
                (Some(instructions), ..) => ReviewTarget::Custom { instructions },
                (_, Some(branch), _) => ReviewTarget::BaseBranch { branch },
                (.., Some(sha)) => ReviewTarget::Commit { sha, title: None },
                _ => ReviewTarget::UncommittedChanges,
            };
            return Some(start(app, thread, turn(Act::Review(target))).await);
        }
        "commit" => {
            let message = fields.filled("message").unwrap_or_else(|| format!("Codex thread {thread}"));
            return Some(app.codex.commit(thread, &message).await.map(|_| address(thread)));
        }
        "fork" => Operation::Fork { before: turns.map(TurnRef::FromEnd) },
        "revert" => Operation::Revert { before: TurnRef::FromEnd(turns.unwrap_or(1)) },
        "rename" => Operation::Rename { name: fields.filled("name").unwrap_or_default() },
        "archive" => Operation::Archive,
        "unarchive" => Operation::Unarchive,
        "delete" if fields.get("sure") == "yes" => Operation::Delete,
        "end-commands" => Operation::EndCommands,
        _ => return None,
    };
    let is_last = operation == Operation::Delete;
    let done = app.codex.operate(thread, operation).await;
    Some(done.map(|thread| if is_last { "/codex".to_owned() } else { address(&thread) }))
}

async fn start(app: &App, thread: &str, turn: TurnInput) -> Result<String, Error> {
    app.codex.reply(thread, turn).await.map(|started| address(&started.thread))
}

fn address(thread: &str) -> String {
    format!("/codex/{}", page::path(thread))
}
