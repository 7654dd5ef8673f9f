//! `adjutant ask`: asks a question from a script and prints the answer on stdout.
//!
//! Agents may ask too, so this uses their interface: one stateless call of `triggerPopup` on the hub's socket. If the hub
//! stops meanwhile, the same call to the next hub finds the same question.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::Common;
use super::output::{self, Failure};
use super::tasks::parse_duration;
use adjutant_base::config::{Config, Roots, default_socket};
use adjutant_mcp::AgentSession;
use adjutant_mcp::deliveries::DELIVERED;
use adjutant_terminal::socket::{self, Hello, Start};

/// Maximum bytes of one line of the hub: it has the answer twice, with each byte escaped as up to six.
const MAX_LINE_BYTES: u64 = 4 * 1024 * 1024;

/// Exit codes beyond 0, 1 and 2.
const DECLINED: u8 = 3;
const TIMED_OUT: u8 = 4;
const UNAVAILABLE: u8 = 5;

/// Arguments of `adjutant ask`.
#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(super) struct AskArgs {
    /// The question in a few words
    #[arg(long)]
    title: String,
    /// Context for the decision, in Markdown
    #[arg(long, default_value = "")]
    message: String,
    /// Option to choose; may be repeated; its value is printed. Without options, the answer is free text
    #[arg(long = "option", value_name = "LABEL[=VALUE]")]
    options: Vec<String>,
    /// Allow free text instead of an option
    #[arg(long)]
    other: bool,
    /// Time until the question expires, such as 30s, 5m or 2h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// Value that counts if the question was seen and not answered
    #[arg(long, value_name = "VALUE")]
    default: Option<String>,
    /// Time that the question must have been visible before the default counts
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "default")]
    default_after: Option<Duration>,
    /// Ask this user, or with @ before its name this group of `config.toml`; others cannot see the question, except operators
    #[arg(long = "for", value_name = "USER|@GROUP")]
    addressee: Option<String>,
    /// Require the approval passphrase with the answer
    #[arg(long)]
    high: bool,
}

const CODES: &str = "\
Exit codes:
  0  answered; the value is on stdout
  1  the question could not be asked
  2  wrong usage
  3  declined or dismissed; your note is on stderr
  4  the question expired
  5  you are away or do not want to be disturbed";

/// Hint for a rejected question.
const REJECTED: &str = "`adjutant ask --help` lists the parts of a question";

/// Asks the question, waits for the outcome and prints it.
pub(super) fn run(args: &AskArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let arguments = arguments(args)?;
    let mut session = AgentSession::of_this_process();
    loop {
        if let Some((answer, mut hub)) = call(&config, &arguments, &session)? {
            let code = print(&answer)?;
            // The answer is printed, so the same question asks the user again.
            let params = json!({"ticket": answer["structuredContent"]["ticket"]});
            let delivered = json!({"jsonrpc": "2.0", "method": DELIVERED, "params": params});
            let _ = hub.get_mut().write_all(format!("{delivered}\n").as_bytes());
            return Ok(code);
        }
        // The hub stopped; the next one has the question.
        session = session.returning();
    }
}

fn arguments(args: &AskArgs) -> Result<Value, Failure> {
    let options = args.options.iter().map(|option| {
        let (label, value) = option.rsplit_once('=').unwrap_or((option, option));
        json!({"label": label, "value": value})
    });
    let options: Vec<Value> = options.collect();
    let values = || options.iter().filter_map(|option| option["value"].as_str());
    if let Some(default) = &args.default
        && !options.is_empty()
        && !args.other
        && !values().any(|value| value == default)
    {
        let all = values().collect::<Vec<_>>().join(", ");
        return Err(Failure::usage(format!("the default `{default}` is not one of the options"))
            .hint(format!("the values of the options are: {all}")));
    }
    let mut arguments = json!({"title": args.title, "message": args.message, "options": options});
    let mut put = |name: &str, value: Option<Value>| {
        if let (Some(members), Some(value)) = (arguments.as_object_mut(), value) {
            members.insert(name.to_owned(), value);
        }
    };
    let seconds = |time: Duration| Value::from(time.as_secs().max(1));
    put("workspacePath", std::env::current_dir().ok().map(|folder| folder.to_string_lossy().into()));
    put("timeout_seconds", args.timeout.map(seconds));
    put("default", args.default.as_deref().map(Value::from));
    put("default_after_seconds", args.default_after.map(seconds));
    put("allow_other", args.other.then_some(Value::Bool(true)));
    put("for", args.addressee.as_deref().map(Value::from));
    put("level", args.high.then(|| Value::from("high")));
    Ok(arguments)
}

/// Calls the tool and returns its answer; `None` if the hub stopped before it answered.
fn call(
    config: &Config,
    arguments: &Value,
    session: &AgentSession,
) -> Result<Option<(Value, BufReader<UnixStream>)>, Failure> {
    let hello = Hello::script("questions", session.clone());
    let home = socket::serving_home(&config.home);
    let connection = if home == config.home {
        socket::connect_or_start(&home, config.socket.as_deref(), &hello, Start::IfNeeded)?
    } else {
        // The hub of a worker's run is on another machine.
        socket::connect_or_start(&home, Some(&default_socket(&home)), &hello, Start::Never)?
    };
    let mut hub: BufReader<UnixStream> = connection.input;
    let request = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "triggerPopup",
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "adjutant ask", "version": env!("CARGO_PKG_VERSION")},
                "io.modelcontextprotocol/clientCapabilities": {},
                // With a token the call has no timeout.
                "progressToken": 1,
            },
        },
    });
    if hub.get_mut().write_all(format!("{request}\n").as_bytes()).is_err() {
        return Ok(None);
    }
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut hub).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        if !read.is_ok_and(|length| length > 0) || line.last() != Some(&b'\n') {
            return Ok(None);
        }
        let message: Value = serde_json::from_slice(&line).map_err(Failure::new)?;
        if message.get("id") != Some(&Value::from(1)) || message.get("method").is_some() {
            continue;
        }
        if let Some(reason) = message["error"]["message"].as_str() {
            return Err(Failure::new(reason).hint(REJECTED));
        }
        return Ok(Some((message["result"].clone(), hub)));
    }
}

/// Prints the outcome and returns its code.
fn print(result: &Value) -> Result<ExitCode, Failure> {
    let outcome = &result["structuredContent"];
    if result["isError"] == true || !outcome.is_object() {
        let text = result["content"][0]["text"].as_str().unwrap_or("the hub gave no answer");
        return Err(Failure::new(text).hint(REJECTED));
    }
    let member = |name: &str| outcome[name].as_str();
    if output::is_json() {
        output::json(&output::identified(outcome.clone(), "ticket"))?;
    }
    let note = |text: &str| output::note(adjutant_base::text::escape_invisible::escape(text));
    let code = match member("status").unwrap_or_default() {
        "answered" => {
            if !output::is_json() {
                output::data(member("selectedValue").unwrap_or_default())?;
            }
            if member("decided_by") == Some("default") {
                note("the question was not answered in time; this is the default");
            }
            0
        }
        "declined" | "dismissed" | "cancelled" | "client_gone" => DECLINED,
        "unavailable" => UNAVAILABLE,
        _ => TIMED_OUT,
    };
    if code != 0 {
        note(member("message").unwrap_or("there is no answer"));
    }
    if let Some(text) = member("note") {
        note(&format!("note: {text}"));
    }
    for file in outcome["files"].as_array().into_iter().flatten() {
        note(&format!("file: {}", file["path"].as_str().or(file["uri"].as_str()).unwrap_or_default()));
    }
    Ok(ExitCode::from(code))
}
