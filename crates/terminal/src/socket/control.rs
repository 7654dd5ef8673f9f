//! The control API: what only the user may do, from a terminal.
//!
//! After a hello with `user`, both sides send JSON, one value in a line. The client sends a [`Request`], and the hub answers
//! with any number of parts and one last line. Closing the connection ends a follow. Each toolset has one file here: its
//! requests, their handlers, and the client's calls, which define the type of each answer.
//!
//! Before each request the hub checks the client's process (see [`super::principal`]).

mod client;
pub mod codex;
pub mod hub;
pub mod inbox;
pub mod permissions;
mod protocol;
pub mod questions;
pub mod tasks;
pub mod users;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::principal::ControlPeer;
use adjutant_app::App;
pub use client::{ControlClient, HangUp};
pub use protocol::{Error, Rejection};
use protocol::{Reply, ResponseWriter};

/// Maximum bytes of a request. The text of a task may have a megabyte, and JSON may need six bytes for one.
const MAX_REQUEST_BYTES: u64 = 16 * 1024 * 1024;

/// A request, by toolset.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    Inbox(inbox::Request),
    Questions(questions::Request),
    Codex(codex::Request),
    Tasks(tasks::Request),
    Hub(hub::Request),
    Permissions(permissions::Request),
    Users(users::Request),
}

impl Request {
    /// Returns whether only the user may make this request, and not any program outside of all agents.
    fn decides(&self) -> bool {
        match self {
            Self::Inbox(act) => act.decides(),
            Self::Questions(act) => act.decides(),
            Self::Codex(act) => act.decides(),
            Self::Permissions(act) => act.decides(),
            // A user with a login decides questions.
            Self::Users(_) => true,
            Self::Tasks(_) | Self::Hub(_) => false,
        }
    }
}

/// Handles a request and returns its last answer.
async fn answer(peer: &ControlPeer, request: Request, out: &mut ResponseWriter) -> Result<Value, Rejection> {
    let app: &App = &peer.app;
    match request {
        Request::Inbox(request) => inbox::answer(peer, request).await,
        Request::Questions(request) => questions::answer(peer, request, out).await,
        Request::Codex(request) => codex::answer(app, request, out).await,
        Request::Tasks(request) => tasks::answer(app, request, out).await,
        Request::Hub(request) => hub::answer(app, request).await,
        Request::Permissions(request) => permissions::answer(app, request).await,
        Request::Users(request) => users::answer(app, request).await,
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
        let request = match serde_json::from_slice::<Request>(&line) {
            Ok(request) => request,
            Err(error) => {
                // A line that is too long, or a request of another version.
                let message = format!("this hub does not know the request: {error}");
                let hints = vec!["restart the hub: it may be of another version".to_owned()];
                out.line(&Reply::Rejected(Rejection { message, hints })).await;
                return;
            }
        };
        let admitted = if request.decides() { peer.require_user() } else { peer.require_no_agent() };
        if let Err(refusal) = admitted {
            out.line(&Reply::Rejected(refusal)).await;
            continue;
        }
        let stops = matches!(request, Request::Hub(hub::Request::Stop { .. }));
        let answered = tokio::select! {
            answered = answer(peer, request, &mut out) => answered,
            () = closed(&mut input) => return,
        };
        let stops = stops && answered.is_ok();
        out.line(&answered.map_or_else(Reply::Rejected, Reply::Last)).await;
        if stops {
            // After the answer, which could not be sent later.
            peer.app.shutdown.cancel();
        }
    }
}

/// Waits for the end of the input. An early request stays in the buffer.
pub(super) async fn closed(input: &mut BufReader<OwnedReadHalf>) {
    if input.fill_buf().await.is_ok_and(|bytes| !bytes.is_empty()) {
        std::future::pending::<()>().await;
    }
}
