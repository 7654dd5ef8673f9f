//! Handshakes with the server over stdio, socket and HTTP, with an old and a new protocol version.

mod http;

use std::ffi::OsString;
use std::io::{BufRead as _, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::check_result::CheckResult;
use super::{DoctorContext, blocking};
use adjutant_app::client_registry::CHECK;
use adjutant_base::config::{Auth, env, local};
use adjutant_host::process;
use adjutant_mcp::AgentSession;
use adjutant_net::http_client::{Server, Token};
use adjutant_terminal::socket::{self, Hello, Start};

/// The newest protocol version with a handshake, and the version without one.
const WITH_HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// Ids of the requests of [`conversation`].
const REQUEST_IDS: [u64; 4] = [1, 2, 3, 4];

/// Timeout of a program for the whole conversation, and of the hub for each answer.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum bytes of the answers: four of them, each below a hundred kilobytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Returns the `_meta` of a stateless request.
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

/// Returns the messages of a client of each protocol version, one in a line.
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

/// Returns the first error in the answers to [`conversation`]; `None` if each is a result.
fn error_in(answers: &[Value]) -> Option<String> {
    let result = |id: u64| {
        let answer = answers.iter().find(|answer| answer["id"] == id && answer.get("method").is_none());
        let answer = answer.ok_or_else(|| format!("request {id} was not answered"))?;
        answer
            .get("result")
            .ok_or_else(|| format!("request {id} was rejected: {}", answer["error"]["message"]))
    };
    let check = || -> Result<(), String> {
        let agreed = &result(1)?["protocolVersion"];
        if agreed != WITH_HANDSHAKE {
            return Err(format!("it speaks {agreed} instead of {WITH_HANDSHAKE}"));
        }
        if !result(3)?["supportedVersions"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == STATELESS))
        {
            return Err(format!("it does not support the protocol version {STATELESS}"));
        }
        for id in [2, 4] {
            if result(id)?["tools"].as_array().is_none_or(Vec::is_empty) {
                return Err("it lists no tools".to_owned());
            }
        }
        Ok(())
    };
    check().err()
}

const REMEDY: &str = "run `adjutant mcp prompts` in a terminal; restart a hub of another version";

/// Checks both protocol versions on stdin and stdout of the program, as a client starts it.
pub(super) async fn stdio(context: Arc<DoctorContext>) -> CheckResult {
    // Clients reach a running hub through the relay.
    let (words, more): (&[&str], &[&str]) = if context.hub.is_some() {
        (&["connect", "--no-start"], &["--check"])
    } else {
        (&["mcp", "prompts"], &[])
    };
    let shown = format!("adjutant {}", words.join(" "));
    let output = match converse(&context, words, more).await {
        Ok(output) => output,
        Err(error) => return CheckResult::fail(format!("`{shown}`: {error}"), REMEDY),
    };
    let answers: Vec<Value> = output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    match error_in(&answers) {
        None => CheckResult::ok(format!("`{shown}` speaks {WITH_HANDSHAKE} and {STATELESS}")),
        Some(error) => CheckResult::fail(format!("`{shown}`: {error}"), REMEDY),
    }
}

/// Checks that stdout has nothing but the protocol while the program logs at level trace.
pub(super) async fn purity(context: Arc<DoctorContext>) -> CheckResult {
    let remedy = "only the server may write to stdout: check the wrapper or the shell's start \
                  files through which the client runs it";
    match converse(&context, &["mcp", "prompts"], &["--log-level", "trace"]).await {
        Err(error) => CheckResult::fail(error, remedy),
        Ok(output) => {
            let foreign = output.lines().find(|line| {
                !serde_json::from_str::<Value>(line).is_ok_and(|message| message["jsonrpc"] == "2.0")
            });
            match foreign {
                None => CheckResult::ok("stdout has the protocol and nothing else"),
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

/// Starts the program, sends the conversation, and returns its stdout.
async fn converse(context: &DoctorContext, words: &[&str], more: &[&str]) -> Result<String, String> {
    let mut argv: Vec<OsString> = vec![context.program.clone().into()];
    argv.extend(words.iter().chain(more).map(OsString::from));
    argv.extend(["--home".into(), context.config.home.clone().into()]);
    let input = conversation();
    let output = process::output_with_input(
        &argv,
        Path::new("/"),
        &env::snapshot(),
        input.as_bytes(),
        MAX_BYTES,
        HANDSHAKE_TIMEOUT,
    )
    .await?;
    match output.code {
        Some(0) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        code => {
            let code = code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
            let stderr = String::from_utf8_lossy(&output.stderr);
            let first = stderr.lines().next().unwrap_or_default();
            Err(format!("it ended with {code}: {first}"))
        }
    }
}

/// Checks both protocol versions on the hub's socket.
pub(super) async fn socket(context: Arc<DoctorContext>) -> CheckResult {
    if context.hub.is_none() {
        return CheckResult::skipped("no hub runs");
    }
    blocking(move || {
        let answers = || -> Result<Vec<Value>, String> {
            let config = &context.config;
            // As a script: the process that starts a relay counts as an agent, and here that is the user's shell.
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
                |answers: &[Value]| REQUEST_IDS.iter().any(|id| !answers.iter().any(|one| one["id"] == *id));
            while missing(&answers) {
                let mut line = String::new();
                if hub.read_line(&mut line).map_err(broken)? == 0 {
                    break;
                }
                answers.extend(serde_json::from_str(&line).ok());
            }
            Ok(answers)
        };
        match answers().map(|answers| error_in(&answers)) {
            Ok(None) => CheckResult::ok(format!("the hub speaks {WITH_HANDSHAKE} and {STATELESS}")),
            Ok(Some(error)) | Err(error) => CheckResult::fail(error, REMEDY),
        }
    })
    .await
}

/// Checks both protocol versions over HTTP, with the hub's token.
pub(super) async fn http(context: Arc<DoctorContext>) -> CheckResult {
    let Some(address) = context.hub.as_ref().and_then(|hub| hub.status.as_ref()?.http) else {
        return CheckResult::skipped(if context.hub.is_some() {
            "the HTTP listener is off"
        } else {
            "no hub runs"
        });
    };
    let config = &context.config;
    let stored = match config.http.auth {
        Auth::None => Ok(None),
        Auth::Token => std::fs::read_to_string(config.home.join("token"))
            .map(|token| Some(Token(token.trim().to_owned()))),
    };
    let remedy = if stored.is_ok() {
        "read logs/hub.log in the home folder, and restart the hub"
    } else {
        "restart the hub, which makes a new token; give it to clients that have the old one"
    };
    // A hub with `--auth none` has no token.
    let (token, unreadable) = match stored {
        Ok(token) => (token, String::new()),
        Err(error) => (None, format!(", and the token cannot be read: {error}")),
    };
    let url = format!("{}/mcp", config.http.origin(address));
    // The name of the certificate may be that of another address, such as a router's. That the file is trusted shows
    // whether the hub serves what is in it; the certificate itself has its own check.
    let place = config.http.tls_names.first().map(|name| (name.as_str(), local(address)));
    let trusted = config.http.tls_certificate.as_deref();
    let endpoint = match Server::new(trusted, place) {
        Ok(server) => http::Endpoint { server, url: url.clone(), token },
        Err(error) => return CheckResult::fail(format!("{url}: {error}"), remedy),
    };
    let answers = async {
        let list = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
        let mut answers = endpoint.handshake(&initialize(), list).await?;
        answers.push(endpoint.stateless(&discover(), "server/discover", STATELESS).await?);
        let list = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": {"_meta": meta()}});
        answers.push(endpoint.stateless(&list, "tools/list", STATELESS).await?);
        Ok::<_, String>(answers)
    };
    match answers.await.map(|answers| error_in(&answers)) {
        Ok(None) => CheckResult::ok(format!("{url} speaks {WITH_HANDSHAKE} and {STATELESS}")),
        Ok(Some(error)) | Err(error) => CheckResult::fail(format!("{url}: {error}{unreadable}"), remedy),
    }
}
