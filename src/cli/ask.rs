//! `adjutant ask`: asks a question from a script and prints the answer on stdout.
//!
//! Asking is no person's act, so it goes the way that agents go: one stateless call of `triggerPopup` on the hub's
//! socket. When the hub goes away meanwhile, the same call to the next one finds the same question.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::Common;
use super::output::{self, Failure};
use adjutant_base::config::{Config, Roots};
use adjutant_mcp::AgentSession;
use adjutant_mcp::deliveries::DELIVERED;
use adjutant_terminal::socket::{self, Hello, Start};

/// Bytes of one line of the hub: an answer stands in it twice, each of its bytes as up to six.
const LONGEST: u64 = 4 * 1024 * 1024;

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
    /// Option to choose, may be repeated; its value is printed. Without options, the answer is free text
    #[arg(long = "option", value_name = "LABEL[=VALUE]")]
    options: Vec<String>,
    /// Allow free text instead of an option
    #[arg(long)]
    other: bool,
    /// Time until the question expires, such as 30s, 5m or 2h
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<Duration>,
    /// Value that counts if the question was seen and not answered
    #[arg(long, value_name = "VALUE")]
    default: Option<String>,
    /// Time that the question must have been visible before the default counts
    #[arg(long, value_name = "TIME", value_parser = time, requires = "default")]
    default_after: Option<Duration>,
    /// Require the approval passphrase with the answer
    #[arg(long)]
    high: bool,
    /// Print the whole outcome as JSON
    #[arg(long)]
    json: bool,
}

const CODES: &str = "\
Exit codes:
  0  answered; the value is on stdout
  1  the question could not be asked
  2  wrong usage
  3  declined or dismissed; your note is on stderr
  4  the question expired
  5  you are away or do not want to be disturbed";

/// What to do where the hub takes no such question.
const REFUSED: &str = "`adjutant ask --help` lists the parts of a question";

/// Asks, waits, and prints.
pub(super) fn run(args: &AskArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let arguments = arguments(args)?;
    let mut session = AgentSession::of_this_process();
    loop {
        if let Some((answer, mut hub)) = call(&config, &arguments, &session)? {
            let code = told(&answer, args.json)?;
            // The answer is printed, so the same question asks the user again.
            let params = json!({"ticket": answer["structuredContent"]["ticket"]});
            let delivered = json!({"jsonrpc": "2.0", "method": DELIVERED, "params": params});
            let _ = hub.get_mut().write_all(format!("{delivered}\n").as_bytes());
            return Ok(code);
        }
        // The hub went away; the next one knows the question.
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
        return Err(Failure::usage(format!("the default `{default}` is none of the options"))
            .hint(format!("their values are: {all}")));
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
    put("level", args.high.then(|| Value::from("high")));
    Ok(arguments)
}

/// Calls the tool and returns its answer; `None` when the hub went away before it answered.
fn call(
    config: &Config,
    arguments: &Value,
    session: &AgentSession,
) -> Result<Option<(Value, BufReader<UnixStream>)>, Failure> {
    let hello = Hello::script("questions", session.clone());
    let connection =
        socket::connect_or_start(&config.home, config.socket.as_deref(), &hello, Start::IfNeeded)?;
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
                // With a token the call may take as long as it takes.
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
        let read = (&mut hub).take(LONGEST).read_until(b'\n', &mut line);
        if !read.is_ok_and(|length| length > 0) || line.last() != Some(&b'\n') {
            return Ok(None);
        }
        let message: Value = serde_json::from_slice(&line).map_err(Failure::new)?;
        if message.get("id") != Some(&Value::from(1)) || message.get("method").is_some() {
            continue;
        }
        if let Some(reason) = message["error"]["message"].as_str() {
            return Err(Failure::new(reason).hint(REFUSED));
        }
        return Ok(Some((message["result"].clone(), hub)));
    }
}

/// Prints the outcome and returns its code.
fn told(result: &Value, as_json: bool) -> Result<ExitCode, Failure> {
    let outcome = &result["structuredContent"];
    if result["isError"] == true || !outcome.is_object() {
        let text = result["content"][0]["text"].as_str().unwrap_or("the hub gave no answer");
        return Err(Failure::new(text).hint(REFUSED));
    }
    let word = |name: &str| outcome[name].as_str();
    if as_json {
        output::json(outcome)?;
    }
    let note = |text: &str| output::note(adjutant_base::text::escape_invisible::escape(text));
    let code = match word("status").unwrap_or_default() {
        "answered" => {
            if !as_json {
                output::data(word("selectedValue").unwrap_or_default())?;
            }
            if word("decided_by") == Some("default") {
                note("the question was not answered in time; this is the default");
            }
            0
        }
        "declined" | "dismissed" | "cancelled" | "client_gone" => DECLINED,
        "unavailable" => UNAVAILABLE,
        _ => TIMED_OUT,
    };
    if code != 0 {
        note(word("message").unwrap_or("there is no answer"));
    }
    if let Some(text) = word("note") {
        note(&format!("note: {text}"));
    }
    Ok(ExitCode::from(code))
}

/// Reads a time such as `30s`, `5m`, `2h` or `1d`; a number alone is seconds.
fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err("use a time such as 30s, 5m, 2h or 1d".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "use a time such as 30s, 5m, 2h or 1d".to_owned())?;
    let seconds = number.checked_mul(unit).filter(|seconds| *seconds > 0);
    seconds.map(Duration::from_secs).ok_or_else(|| "the time is out of range".to_owned())
}
