//! The person's door: what a human may do and an agent may not, from a terminal of theirs.
//!
//! Behind a hello that says `person`, both sides speak JSON, one value a line. The client sends an [`Act`], the hub
//! answers with any number of parts and one last line, and then the next act may come. Hanging up ends what is
//! followed. A room has one file here: its acts, how the hub does them with plain calls, and the client's calls,
//! which alone know what type answers which act.
//!
//! Whoever asks is looked up in the table of processes before each act (see [`super::relays`]).

mod client;
pub(crate) mod codex;
pub(crate) mod desk;
pub(crate) mod popups;
pub(crate) mod tasks;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::app::App;
pub(crate) use client::{HangUp, Person};

/// Most bytes of an act. A task's text may have a megabyte, each byte of which may be six in JSON.
const LONGEST_ACT: u64 = 16 * 1024 * 1024;

/// What a person wants, by room.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    Desk(desk::Act),
    Popups(popups::Act),
    Codex(codex::Act),
    Tasks(tasks::Act),
}

/// One line of the hub's answer.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// There is more to come.
    Part(Value),
    Last(Value),
    Refused(Refusal),
}

/// Why an act was not done, for the person to read.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    /// What to do about it, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) hints: Vec<String>,
}

impl Refusal {
    fn new(message: impl std::fmt::Display) -> Self {
        Self { message: message.to_string(), hints: Vec::new() }
    }
}

/// Why an act was not done, as its client has it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Hub(#[from] super::Error),
    #[error("{}", .0.message)]
    Refused(Refusal),
}

/// Does an act and returns its last answer.
async fn answer(app: &App, act: Act, out: &mut Out) -> Result<Value, Refusal> {
    match act {
        Act::Desk(act) => desk::answer(app, act).await,
        Act::Popups(act) => popups::answer(app, act, out).await,
        Act::Codex(act) => codex::answer(app, act, out).await,
        Act::Tasks(act) => tasks::answer(app, act, out).await,
    }
}

/// Where answers go.
#[derive(Debug)]
pub(super) struct Out {
    output: OwnedWriteHalf,
    /// Nobody reads any more.
    broken: bool,
}

impl Out {
    /// Sends a part of an answer, and waits while the client does not read.
    async fn part(&mut self, part: &impl Serialize) -> Result<(), Refusal> {
        let part = written(part)?;
        self.line(&Line::Part(part)).await;
        Ok(())
    }

    async fn line(&mut self, line: &Line) {
        let Ok(mut bytes) = serde_json::to_vec(line) else { return };
        bytes.push(b'\n');
        self.broken |= self.output.write_all(&bytes).await.is_err();
    }
}

/// Makes an answer of a room's value.
fn written(value: &impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(value).map_err(|error| {
        tracing::error!(%error, "an answer cannot be written");
        Refusal::new("the hub made a mistake; its log says more")
    })
}

/// Serves a person's program until it hangs up. `admit` says before each act whether it is still a person's.
pub(super) async fn serve(
    app: &App,
    mut input: BufReader<OwnedReadHalf>,
    output: OwnedWriteHalf,
    admit: impl Fn() -> Result<(), String>,
) {
    let mut out = Out { output, broken: false };
    let mut line = Vec::new();
    while !out.broken {
        line.clear();
        let read = (&mut input).take(LONGEST_ACT).read_until(b'\n', &mut line).await;
        if !read.is_ok_and(|length| length > 0) {
            return;
        }
        let act = match serde_json::from_slice::<Act>(&line) {
            Ok(act) => act,
            Err(error) => {
                // The rest of a line that is too long, or of another version's act, is no act either.
                let message = format!("this hub does not know what was asked: {error}");
                let hints = vec!["restart the hub: it may be of another version".to_owned()];
                out.line(&Line::Refused(Refusal { message, hints })).await;
                return;
            }
        };
        if let Err(message) = admit() {
            out.line(&Line::Refused(Refusal::new(message))).await;
            return;
        }
        let answered = tokio::select! {
            answered = answer(app, act, &mut out) => answered,
            () = hung_up(&mut input) => return,
        };
        out.line(&answered.map_or_else(Line::Refused, Line::Last)).await;
    }
}

/// Waits for the end of the input. Another act that comes early waits for its turn.
async fn hung_up(input: &mut BufReader<OwnedReadHalf>) {
    if input.fill_buf().await.is_ok_and(|bytes| !bytes.is_empty()) {
        std::future::pending::<()>().await;
    }
}
