//! Errors of questions: a rejected question, or a rejected action on a question.

use serde_json::Value;

use super::outcome::{Channel, DecidedBy, OutcomeKind};
use crate::Availability;
use adjutant_store as store;

/// An error, displayed as a sentence fragment for the user or the model. It names only values that they gave.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The question itself is invalid; `path` leads to the fault within the question.
    #[error("{message}")]
    Invalid { message: String, path: Vec<String>, validator: &'static str, expected: Value },
    #[error("{pending} questions are pending, which is the limit{}; wait for an answer first", if *.own { " for one client" } else { "" })]
    TooMany { pending: u32, own: bool },
    /// Another question with this request's id waits for its answer on the same stream.
    #[error("request {request} is still waiting for its answer; use another id")]
    SameRequest { request: String },
    #[error("the call was cancelled before its question was stored")]
    Cancelled,
    #[error("{}; do not ask again now, continue without an answer or finish", .0.sentence())]
    NotNow(Availability),
    /// The question does not exist for this viewer.
    #[error("unknown question `{ticket}`")]
    Unknown { ticket: String },
    /// The viewer sees it and may not decide it.
    #[error("only {} may decide this question", if .addressee.is_empty() { "operators".to_owned() } else { format!("`{addressee}` or an operator") })]
    NotYours { addressee: String },
    /// With `until`, the decision can be undone before that instant.
    #[error("the question was {} before{}", .kind.word(*.denied), place(*.through))]
    AlreadyDecided {
        kind: OutcomeKind,
        denied: bool,
        by: DecidedBy,
        through: Channel,
        until: Option<store::Millis>,
    },
    /// An approval has this number of requests, which is not the number that was shown.
    #[error("another identical request came after it was shown; read all {calls} and answer again")]
    MoreCalls { calls: u32 },
    #[error("the answer can no longer be undone")]
    Final,
    #[error("field `{field}`: {reason}")]
    Answer { field: String, reason: String },
    #[error("the note has {bytes} bytes, over the limit of {limit}, or holds a NUL character")]
    Note { bytes: usize, limit: usize },
    #[error("{count} files are more than {}; send fewer", super::outcome::MAX_FILES)]
    TooManyFiles { count: usize },
    #[error("the file `{name}` has {bytes} bytes, over the limit of {}", super::outcome::MAX_FILE_BYTES)]
    LargeFile { name: String, bytes: usize },
    #[error("the file `{name}` is empty")]
    EmptyFile { name: String },
    #[error("the file `{name}` could not be read whole; add it again")]
    BrokenFile { name: String },
    #[error("an approval takes no files; put what the agent needs into the note")]
    FilesOfApproval,
    #[error("the answer to `{ticket}` has no file {number}")]
    UnknownFile { ticket: String, number: usize },
    #[error("say in a sentence how the question should be asked")]
    EmptyNote,
    #[error("a question can be snoozed for 1 to 60 minutes")]
    Snooze,
    #[error("a secret is not kept in the database; answer it on the machine of the client that asks")]
    SecretElsewhere,
    #[error("this question needs the approval passphrase")]
    NeedsPassphrase,
    #[error("no approval passphrase is set; set one in a terminal with: adjutant passphrase")]
    NoPassphrase,
    #[error("wrong approval passphrase")]
    WrongPassphrase,
    #[error("too many wrong passphrases; try again in {seconds} s")]
    Locked { seconds: u64 },
    #[error("an approval passphrase has between 8 and 1024 characters")]
    WeakPassphrase,
    #[error("the approval passphrase cannot be read or kept: {0}")]
    Passphrase(String),
    #[error("cannot get random numbers from the operating system")]
    Random,
    /// The store did not answer while a call waited for the outcome.
    #[error(
        "the hub's store does not answer, so the outcome of question `{ticket}` is not known yet; the question is stored: \
         ask the same again to join it"
    )]
    OutcomeUnknown { ticket: String },
    /// The source has the details for the log.
    #[error("the hub's store does not answer, and nothing was stored; try again")]
    Store(#[from] store::Error),
}

impl Error {
    /// Returns whether the store did not answer, and may answer later.
    pub fn is_store_away(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_away())
    }
}

fn place(channel: Channel) -> &'static str {
    match channel {
        Channel::Browser => " in the browser",
        Channel::Terminal => " in the terminal",
        Channel::Notification => " through a notification",
        Channel::Phone => " on the phone",
        Channel::Client => " in the client itself",
        Channel::None => "",
    }
}
