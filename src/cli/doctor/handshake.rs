//! Handshakes with the server over stdio, socket and HTTP, with an old and a new protocol version.

mod http;

use std::ffi::OsString;
use std::io::{BufRead as _, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::check::CheckResult;
use super::{DoctorContext, blocking};
use adjutant_app::client_registry::CHECK;
use adjutant_base::config::{Auth, env};
use adjutant_host::process;
use adjutant_mcp::AgentSession;
use adjutant_terminal::socket::{self, Hello, Start};

/// The newest revision that begins with a handshake, and the one that has none.
const WITH_HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// The requests of [`conversation`] that are answered.
const ASKED: [u64; 4] = [1, 2, 3, 4];

/// How long a program may take for the whole conversation, and the hub for each answer.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(15);
/// Most bytes of what is said on the way: four answers, each below a hundred kilobytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Returns `_meta` as a stateless request carries it.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": CHECK, "version": env!("CARGO_PKG_VERSION")},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": WITH_HANDSHAKE,
        "capabilities": {},
        "clientInfo": {"name": CHECK, "version": env!("CARGO_PKG_VERSION")},
    }})
}

fn discover() -> Value {
    json!({"jsonrpc": "2.0", "id": 3, "method": "server/discover", "params": {"_meta": meta()}})
}

/// Returns what a client of each era says, one message a line.
fn conversation() -> String {
    let messages = [
        initialize(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        discover(),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": {"_meta": meta()}}),
    ];
    messages.iter().fold(String::new(), |text, message| text + &message.to_string() + "\n")
}

/// Says what is wrong with the answers to [`conversation`]; `None` when each has its result.
fn fault(answers: &[Value]) -> Option<String> {
    let result = |id: u64| {
        let answer = answers.iter().find(|answer| answer["id"] == id && answer.get("method").is_none());
        let answer = answer.ok_or_else(|| format!("request {id} was not answered"))?;
        answer
            .get("result")
            .ok_or_else(|| format!("request {id} was refused: {}", answer["error"]["message"]))
    };
    let seen = || -> Result<(), String> {
        let agreed = &result(1)?["protocolVersion"];
        if agreed != WITH_HANDSHAKE {
            return Err(format!("it speaks {agreed} where {WITH_HANDSHAKE} was asked for"));
        }
        if !result(3)?["supportedVersions"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == STATELESS))
        {
            return Err(format!("it does not know revision {STATELESS}"));
        }
        for id in [2, 4] {
            if result(id)?["tools"].as_array().is_none_or(Vec::is_empty) {
                return Err("it lists no tools".to_owned());
            }
        }
        Ok(())
    };
    seen().err()
}

const REMEDY: &str =
    "start it by hand and look: `adjutant mcp prompts`; a hub of another version has to be restarted";

/// Has the program speak both eras on its stdin and stdout, the way a client starts it.
pub(super) async fn stdio(context: Arc<DoctorContext>) -> CheckResult {
    // Where a hub runs, clients reach it through the relay.
    let words: &[&str] = if context.hub.is_some() { &["connect", "--no-start"] } else { &["mcp", "prompts"] };
    let shown = format!("adjutant {}", words.join(" "));
    let output = match converse(&context, words, &[]).await {
        Ok(output) => output,
        Err(error) => return CheckResult::fail(format!("`{shown}`: {error}"), REMEDY),
    };
    let answers: Vec<Value> = output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    match fault(&answers) {
        None => CheckResult::ok(format!("`{shown}` speaks {WITH_HANDSHAKE} and {STATELESS}")),
        Some(fault) => CheckResult::fail(format!("`{shown}`: {fault}"), REMEDY),
    }
}

/// Looks whether anything but the protocol comes out of stdout while the program logs all it can.
pub(super) async fn purity(context: Arc<DoctorContext>) -> CheckResult {
    let remedy = "only the server may write to stdout: look at the wrapper or the shell's start \
                  files that the client runs it through";
    match converse(&context, &["mcp", "prompts"], &["--log-level", "trace"]).await {
        Err(error) => CheckResult::fail(error, remedy),
        Ok(output) => {
            let stranger = output.lines().find(|line| {
                !serde_json::from_str::<Value>(line).is_ok_and(|message| message["jsonrpc"] == "2.0")
            });
            match stranger {
                None => CheckResult::ok("stdout holds the protocol and nothing else"),
                Some(line) => {
                    let begin: String = line.chars().take(60).collect();
                    CheckResult::fail(
                        format!("stdout contains a line that is not a message: {begin:?}"),
                        remedy,
                    )
                }
            }
        }
    }
}

/// Starts the program, says everything, and returns its whole stdout.
async fn converse(context: &DoctorContext, words: &[&str], more: &[&str]) -> Result<String, String> {
    let mut argv: Vec<OsString> = vec![context.program.clone().into()];
    argv.extend(words.iter().chain(more).map(OsString::from));
    argv.extend(["--home".into(), context.config.home.clone().into()]);
    let input = conversation();
    let told = process::output_with_input(
        &argv,
        Path::new("/"),
        &env::snapshot(),
        input.as_bytes(),
        MAX_BYTES,
        HANDSHAKE_TIMEOUT,
    )
    .await?;
    match told.code {
        Some(0) => Ok(String::from_utf8_lossy(&told.stdout).into_owned()),
        code => {
            let code = code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
            let complaint = String::from_utf8_lossy(&told.stderr);
            let first = complaint.lines().next().unwrap_or_default();
            Err(format!("it ended with {code}: {first}"))
        }
    }
}

/// Speaks both eras on the hub's socket.
pub(super) async fn socket(context: Arc<DoctorContext>) -> CheckResult {
    if context.hub.is_none() {
        return CheckResult::skipped("no hub runs");
    }
    blocking(move || {
        let answers = || -> Result<Vec<Value>, String> {
            let config = &context.config;
            // Whoever starts a relay is an agent from then on, and we were started from a person's shell.
            let hello = Hello::script("all", AgentSession::default());
            let connection =
                socket::connect_or_start(&config.home, config.socket.as_deref(), &hello, Start::Never);
            let mut hub = connection.map_err(|error| error.to_string())?.input;
            let broken = |error: std::io::Error| format!("the hub does not answer: {error}");
            hub.get_ref().set_read_timeout(Some(HANDSHAKE_TIMEOUT)).map_err(broken)?;
            hub.get_mut().write_all(conversation().as_bytes()).map_err(broken)?;
            let mut hub = hub.take(MAX_BYTES);
            let mut answers: Vec<Value> = Vec::new();
            let missing =
                |answers: &[Value]| ASKED.iter().any(|id| !answers.iter().any(|one| one["id"] == *id));
            while missing(&answers) {
                let mut line = String::new();
                if hub.read_line(&mut line).map_err(broken)? == 0 {
                    break;
                }
                answers.extend(serde_json::from_str(&line).ok());
            }
            Ok(answers)
        };
        match answers().map(|answers| fault(&answers)) {
            Ok(None) => CheckResult::ok(format!("the hub speaks {WITH_HANDSHAKE} and {STATELESS}")),
            Ok(Some(fault)) | Err(fault) => CheckResult::fail(fault, REMEDY),
        }
    })
    .await
}

/// Speaks both eras over HTTP, with the hub's token.
pub(super) async fn http(context: Arc<DoctorContext>) -> CheckResult {
    let Some(address) = context.hub.as_ref().and_then(|hub| hub.status.as_ref()?.http) else {
        return CheckResult::skipped(if context.hub.is_some() {
            "the HTTP listener is off"
        } else {
            "no hub runs"
        });
    };
    blocking(move || {
        let kept = match context.config.http.auth {
            Auth::None => Ok(None),
            Auth::Token => std::fs::read_to_string(context.config.home.join("token"))
                .map(|token| Some(token.trim().to_owned())),
        };
        let remedy = if kept.is_ok() {
            "look at logs/hub.log in the home folder, and restart the hub"
        } else {
            "restart the hub, which makes a new token; clients with the old one need the new one"
        };
        // A hub that was told `--auth none` made no token and asks for none.
        let (token, unread) = match kept {
            Ok(token) => (token, String::new()),
            Err(error) => (None, format!(", and the token cannot be read: {error}")),
        };
        let door = http::Door { address, token };
        let result = || -> Result<Option<String>, String> {
            let mut answers = door
                .handshake(&initialize(), |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}))?;
            answers.push(door.stateless(&discover(), "server/discover", STATELESS)?);
            let list =
                json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": {"_meta": meta()}});
            answers.push(door.stateless(&list, "tools/list", STATELESS)?);
            Ok(fault(&answers))
        };
        match result() {
            Ok(None) => {
                CheckResult::ok(format!("http://{address}/mcp speaks {WITH_HANDSHAKE} and {STATELESS}"))
            }
            Ok(Some(fault)) | Err(fault) => {
                CheckResult::fail(format!("http://{address}/mcp: {fault}{unread}"), remedy)
            }
        }
    })
    .await
}
