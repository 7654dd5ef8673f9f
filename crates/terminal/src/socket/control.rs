//! The control API: what only the user may do, from a terminal.
//!
//! After a hello that says `user`, both sides speak JSON, one value a line. The client sends a [`Request`], the hub
//! answers with any number of parts and one last line, and then the next request may come. Closing the connection ends
//! a follow. Each toolset has one file here: its requests, their handlers, and the client's calls, which alone know the
//! type of each answer.
//!
//! Before each request the hub checks the client's process (see [`super::principal`]).

pub mod availability;
mod client;
pub mod codex;
mod protocol;
pub mod questions;
pub mod tasks;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::principal::ControlPeer;
use adjutant_app::App;
pub use client::{ControlClient, HangUp};
pub use protocol::{Error, Refusal};
use protocol::{Reply, ResponseWriter};

/// Bytes of a request. A task's text may have a megabyte, each byte of which may be six in JSON.
const MAX_REQUEST_BYTES: u64 = 16 * 1024 * 1024;

/// A request, by toolset.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    Inbox(availability::Request),
    Questions(questions::Request),
    Codex(codex::Request),
    Tasks(tasks::Request),
}

impl Request {
    /// Whether only the user may make this request, and not any program outside of all agents.
    fn decides(&self) -> bool {
        match self {
            Self::Inbox(act) => act.decides(),
            Self::Questions(act) => act.decides(),
            Self::Codex(act) => act.decides(),
            Self::Tasks(_) => false,
        }
    }
}

/// Handles a request and returns its last answer.
async fn answer(peer: &ControlPeer, act: Request, out: &mut ResponseWriter) -> Result<Value, Refusal> {
    let app: &App = &peer.app;
    match act {
        Request::Inbox(act) => availability::answer(peer, act).await,
        Request::Questions(act) => questions::answer(peer, act, out).await,
        Request::Codex(act) => codex::answer(app, act, out).await,
        Request::Tasks(act) => tasks::answer(app, act, out).await,
    }
}

/// Serves a client until it closes the connection.
pub(super) async fn serve(peer: &ControlPeer, mut input: BufReader<OwnedReadHalf>, output: OwnedWriteHalf) {
    let mut out = ResponseWriter::new(output);
    let mut line = Vec::new();
    while !out.broken {
        line.clear();
        let read = (&mut input).take(MAX_REQUEST_BYTES).read_until(b'\n', &mut line).await;
        if !read.is_ok_and(|length| length > 0) {
            return;
        }
        let act = match serde_json::from_slice::<Request>(&line) {
            Ok(act) => act,
            Err(error) => {
                // The rest of a line that is too long, or a request of another version.
                let message = format!("this hub does not know what was asked: {error}");
                let hints = vec!["restart the hub: it may be of another version".to_owned()];
                out.line(&Reply::Refused(Refusal { message, hints })).await;
                return;
            }
        };
        let admitted = if act.decides() { peer.require_user() } else { peer.require_no_agent() };
        if let Err(refusal) = admitted {
            out.line(&Reply::Refused(refusal)).await;
            continue;
        }
        let answered = tokio::select! {
            answered = answer(peer, act, &mut out) => answered,
            () = hung_up(&mut input) => return,
        };
        out.line(&answered.map_or_else(Reply::Refused, Reply::Last)).await;
    }
}

/// Waits for the end of the input. A request that comes early waits for its turn.
async fn hung_up(input: &mut BufReader<OwnedReadHalf>) {
    if input.fill_buf().await.is_ok_and(|bytes| !bytes.is_empty()) {
        std::future::pending::<()>().await;
    }
}
