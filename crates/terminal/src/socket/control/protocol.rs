//! The messages of the control API that all its requests share.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::OwnedWriteHalf;

/// One line of the hub's answer.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// More parts follow.
    Part(Value),
    Last(Value),
    Rejected(Rejection),
}

/// The reason why a request was rejected, for the user.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Rejection {
    pub message: String,
    /// Remedies, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

impl Rejection {
    pub(in crate::socket) fn new(message: impl std::fmt::Display) -> Self {
        Self { message: message.to_string(), hints: Vec::new() }
    }
}

/// The reason why a request failed, for its client.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Hub(#[from] crate::socket::Error),
    #[error("{}", .0.message)]
    Rejected(Rejection),
}

/// The writer of answers.
#[derive(Debug)]
pub(in crate::socket) struct ResponseWriter {
    output: OwnedWriteHalf,
    /// The client no longer reads.
    pub(super) broken: bool,
}

impl ResponseWriter {
    pub(super) fn new(output: OwnedWriteHalf) -> Self {
        Self { output, broken: false }
    }

    /// Sends a part of an answer, and waits while the client does not read.
    pub(super) async fn part(&mut self, part: &impl Serialize) -> Result<(), Rejection> {
        let part = to_json(part)?;
        self.line(&Reply::Part(part)).await;
        Ok(())
    }

    pub(super) async fn line(&mut self, line: &Reply) {
        let Ok(mut bytes) = serde_json::to_vec(line) else { return };
        bytes.push(b'\n');
        self.broken |= self.output.write_all(&bytes).await.is_err();
    }
}

/// Converts a value to an answer.
pub(super) fn to_json(value: &impl Serialize) -> Result<Value, Rejection> {
    serde_json::to_value(value).map_err(|error| {
        tracing::error!(%error, "an answer cannot be written");
        Rejection::new("the hub failed; its log has the error")
    })
}
