//! Why a question, or what was done with one, was refused.

use serde_json::Value;

use super::outcome::{By, Kind, Presenter};
use crate::popups::Availability;
use crate::store;

/// A sentence fragment for the person or the model; it names nothing but what they gave.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A fault of the question itself; `path` leads to it within the question.
    #[error("{message}")]
    Invalid { message: String, path: Vec<String>, validator: &'static str, expected: Value },
    #[error("{pending} questions wait already, which is the limit{}; wait for an answer first", if *.own { " for one client" } else { "" })]
    TooMany { pending: u32, own: bool },
    /// Another question with this request's id waits for its answer on the same stream.
    #[error("request {request} is still waiting for its answer; use another id")]
    SameRequest { request: String },
    #[error("{}; do not ask again now, go on without an answer or finish", .0.sentence())]
    NotNow(Availability),
    /// There is none for this viewer.
    #[error("unknown question `{ticket}`")]
    Unknown { ticket: String },
    #[error("the question was {} before{}", .kind.as_str(), place(*.through))]
    AlreadyDecided { kind: Kind, by: By, through: Presenter },
    #[error("the answer can no longer be taken back")]
    Final,
    #[error("field `{field}`: {reason}")]
    Answer { field: String, reason: String },
    #[error("the note has {bytes} bytes, over the limit of {limit}, or holds a NUL character")]
    Note { bytes: usize, limit: usize },
    #[error("say in a sentence how the question should be asked")]
    EmptyNote,
    #[error("a question can be put off for 1 to 60 minutes")]
    Snooze,
    #[error("this question needs the desk passphrase")]
    NeedsPassphrase,
    #[error("no desk passphrase is set; set one in a terminal with: adjutant passphrase")]
    NoPassphrase,
    #[error("that is not the desk passphrase")]
    WrongPassphrase,
    #[error("too many wrong passphrases; try again in {seconds} s")]
    Locked { seconds: u64 },
    #[error("a desk passphrase has between 8 and 1024 characters")]
    WeakPassphrase,
    #[error("the desk passphrase cannot be read or kept: {0}")]
    Passphrase(String),
    #[error("the system gives no random numbers")]
    Random,
    /// What the log must know is the source.
    #[error("the hub's store does not answer; nothing was kept")]
    Store(#[from] store::Error),
}

fn place(presenter: Presenter) -> &'static str {
    match presenter {
        Presenter::Browser => " in the browser",
        Presenter::Terminal => " in the terminal",
        Presenter::Notification => " through a notification",
        Presenter::Phone => " on the phone",
        Presenter::Client => " in the client itself",
        Presenter::None => "",
    }
}
