//! A client's hook asks for a decision: one call of a tool goes in, one answer comes back, and the connection ends.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::autostart::connect_running;
use super::control::closed;
use super::error::Error;
use super::handshake::{HELLO_TIMEOUT, Hello};
use super::principal::ControlPeer;
use adjutant_app::permissions::{PermissionAnswer, ToolCall};

/// Maximum bytes of a call; a file that is written is an argument of one.
const MAX_CALL_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum bytes of an answer.
const MAX_ANSWER_BYTES: u64 = 256 * 1024;

/// Maximum time that a hook waits for the hub. Clients end it after 600 s.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(595);

/// Time that a hook waits for a hub that takes no call, or that decides by rules alone.
const RULES_TIMEOUT: Duration = Duration::from_secs(5);

/// Asks the running hub of `home` to decide a call; `default_socket` is the configured path. An answer to another call is
/// an error.
pub fn ask_permission(
    home: &Path,
    default_socket: &Path,
    call: &ToolCall,
) -> Result<PermissionAnswer, Error> {
    let mut connection = connect_running(home, default_socket, &Hello::permission())?;
    let stopped = |_: io::Error| Error::Stopped;
    let mut line = serde_json::to_vec(call).map_err(|error| stopped(error.into()))?;
    line.push(b'\n');
    let stream = connection.input.get_mut();
    let limit = if call.rules_only { RULES_TIMEOUT } else { ANSWER_TIMEOUT };
    stream.set_read_timeout(Some(limit)).map_err(stopped)?;
    stream.set_write_timeout(Some(RULES_TIMEOUT)).map_err(stopped)?;
    stream.write_all(&line).map_err(stopped)?;
    line.clear();
    connection.input.take(MAX_ANSWER_BYTES).read_until(b'\n', &mut line).map_err(stopped)?;
    let invalid = |reason: String| Error::InvalidAnswer { reason };
    let answer: PermissionAnswer =
        serde_json::from_slice(&line).map_err(|error| invalid(error.to_string()))?;
    if answer.digest == call.digest() {
        Ok(answer)
    } else {
        Err(invalid("it decides another call".to_owned()))
    }
}

/// Serves the hook that runs as the process of `peer`.
pub(super) async fn serve(
    peer: &ControlPeer,
    mut input: BufReader<OwnedReadHalf>,
    mut output: OwnedWriteHalf,
) {
    let mut line = Vec::new();
    let read = timeout(HELLO_TIMEOUT, (&mut input).take(MAX_CALL_BYTES).read_until(b'\n', &mut line)).await;
    let Ok(Ok(_)) = read else { return };
    let Ok(call) = serde_json::from_slice::<ToolCall>(&line) else { return };
    let answer = if peer.is_of_task() {
        // The permission level of a task decides, and its runner holds it.
        PermissionAnswer { digest: call.digest(), ..PermissionAnswer::default() }
    } else {
        // The process that asks is an agent, so it must not answer.
        let _entry = peer.pid.map(|pid| peer.app.agent_processes.register_relay(pid));
        peer.app.agent_processes.note_question(peer.pid.filter(|_| !call.rules_only));
        let gone = CancellationToken::new();
        let mut decided = std::pin::pin!(peer.app.decide_permission(&call, &gone));
        tokio::select! {
            answer = &mut decided => answer,
            () = closed(&mut input) => {
                gone.cancel();
                decided.await;
                return;
            }
        }
    };
    let Ok(mut line) = serde_json::to_vec(&answer) else { return };
    line.push(b'\n');
    // A hook that has ended leaves the question to its client.
    let _ = timeout(HELLO_TIMEOUT, output.write_all(&line)).await;
}
