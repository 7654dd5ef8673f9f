//! Replays a recording of HTTP over HTTP.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use futures::StreamExt as _;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{AHEAD, END, MAX_LINE_BYTES, ReplayArgs, heard, pause_of, write_report};
use crate::cli::output::{self, Failure};
use crate::cli::shutdown_signal::Stop;
use crate::cli::source_files;
use adjutant_host::recorder::http_head::{HEADERS, Head, SESSION};
use adjutant_host::recorder::replay::{Due, Player, answer_line};
use adjutant_http as http;
use adjutant_net::http_client;
use adjutant_net::http_client::{HttpRequest, StreamingResponse, Token};

/// How long one request may take at most: a stream lasts as long as the recording is played.
const CALL_TIMEOUT: Duration = Duration::from_hours(24);

/// Is the server, on `address`, until a signal. Returns the player with all that it found.
pub(super) fn serve(player: Player, address: SocketAddr, args: &ReplayArgs) -> Result<Player, Failure> {
    if !address.ip().is_loopback() {
        return Err(Failure::usage("a recording is played on loopback only").hint("use --http 127.0.0.1:0"));
    }
    runtime()?.block_on(async {
        let mut signals = Stop::new()?;
        let bound = TcpListener::bind(address).await;
        let listener = bound.map_err(|error| {
            Failure::new(format!("cannot listen on {address}: {error}"))
                .hint("use --http 127.0.0.1:0 for any free port")
        })?;
        let address = listener.local_addr()?;
        output::note(format!("plays the server at http://{address}/mcp until it is interrupted"));
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        tokio::spawn(async move {
            signals.asked().await;
            stopping.cancel();
        });
        let report = args.report.clone();
        let told = move |player: &Player| {
            // What cannot be written now is told when it is written last.
            let _ = write_report(player, report.as_deref());
        };
        let player = http::replay(listener, address, player, stop, told).await;
        player.ok_or_else(|| {
            Failure::new("a request was still being answered, so the differences are not printed")
        })
    })
}

/// What comes of the requests.
enum Came {
    /// The head of an answer, as a line; and the name of the session that it opened, by the one in the recording.
    Head {
        line: Vec<u8>,
        session: Option<(String, String)>,
    },
    Line(Vec<u8>),
    /// Nothing more comes of this request.
    Ended(u64),
    Failed(http_client::Error),
}

/// Is the client of the server at `url`.
pub(super) fn drive(player: &mut Player, url: &str, args: &ReplayArgs) -> Result<(), Failure> {
    let token = match &args.token_file {
        None => None,
        Some(file) => {
            let text = source_files::read(file)
                .map_err(|failure| failure.hint("name the file with the server's token"))?;
            Some(Token(text.trim().to_owned()))
        }
    };
    runtime()?.block_on(async {
        let (told, mut coming) = channel(AHEAD);
        let (mut calls, mut streams) = (JoinSet::new(), JoinSet::new());
        let mut sessions = HashMap::new();
        let limit = Duration::from_secs(args.timeout);
        loop {
            while let Some(due) = player.due() {
                tokio::time::sleep(pause_of(&due, args)).await;
                let Some(call) = player.calls.get(&due.call) else { continue };
                let answered = call.answered.clone();
                let recorded = answered.as_ref().and_then(|head| head.get(SESSION)).map(str::to_owned);
                let headers = headers_of(&call.asked, &sessions);
                let asked = (call.asked.start.clone(), headers, recorded);
                let calls = if call.asked.start == "GET" { &mut streams } else { &mut calls };
                calls.spawn(ask(url.to_owned(), token.clone(), due, asked, told.clone()));
            }
            if player.is_done() {
                break;
            }
            match timeout(limit, coming.recv()).await {
                Ok(Some(came)) => take(player, came, &mut sessions)?,
                Err(_) if player.waits_for().is_some() => player.give_up(),
                Ok(None) | Err(_) => break,
            }
        }
        drop(told);
        // What comes after the last answer was recorded as well; a stream for whatever comes has no end.
        streams.shutdown().await;
        let end = Instant::now() + END;
        while let Ok(Some(came)) = timeout_at(end, coming.recv()).await {
            take(player, came, &mut sessions)?;
        }
        calls.shutdown().await;
        Ok(())
    })
}

fn take(player: &mut Player, came: Came, sessions: &mut HashMap<String, String>) -> Result<(), Failure> {
    match came {
        Came::Head { line, session } => {
            sessions.extend(session);
            player.hear(&line);
        }
        // Nobody is told that the recording has no answer: it would be one request more.
        Came::Line(line) => drop(heard(player, &line)),
        Came::Ended(call) => player.ended(call),
        Came::Failed(error @ (http_client::Error::Address | http_client::Error::Unreachable { .. })) => {
            return Err(Failure::new(error).hint("give the address of the server's /mcp with --to"));
        }
        Came::Failed(error) => output::note(error),
    }
    Ok(())
}

/// The headers of a request of the recording, with the sessions of this run.
fn headers_of(asked: &Head, sessions: &HashMap<String, String>) -> Vec<(&'static str, String)> {
    let now = |(name, value): &(&'static str, String)| {
        let known = if *name == SESSION { sessions.get(value) } else { None };
        (*name, known.unwrap_or(value).clone())
    };
    asked.headers.iter().map(now).collect()
}

/// Sends one request and tells what comes of it, to the end.
async fn ask(
    url: String,
    token: Option<Token>,
    due: Due,
    (method, headers, recorded): (String, Vec<(&'static str, String)>, Option<String>),
    told: Sender<Came>,
) {
    let post = method == "POST";
    let body = if post { String::from_utf8_lossy(&due.bytes).into_owned() } else { String::new() };
    let (method, url) = (method.as_str(), url.as_str());
    let token = token.as_ref();
    let call = HttpRequest {
        method,
        url,
        headers,
        login: None,
        token,
        body,
        max_bytes: MAX_LINE_BYTES,
        timeout: CALL_TIMEOUT,
    };
    if let Err(error) = follow(call, due.call, recorded, &told).await {
        let _ = told.send(Came::Failed(error)).await;
    }
    let _ = told.send(Came::Ended(due.call)).await;
}

async fn follow(
    call: HttpRequest<'_>,
    number: u64,
    recorded: Option<String>,
    told: &Sender<Came>,
) -> Result<(), http_client::Error> {
    let StreamingResponse { status, headers, mut body } = http_client::send_streaming(call).await?;
    let known = |(name, value): (String, String)| {
        HEADERS.into_iter().find(|known| *known == name).map(|name| (name, value))
    };
    let head =
        Head { start: format!("HTTP {status}"), headers: headers.into_iter().filter_map(known).collect() };
    let session = recorded.zip(head.get(SESSION).map(str::to_owned));
    let line = answer_line(number, status, &head).to_string().into_bytes();
    // The other end goes when nobody wants to know any more, here and below.
    let _ = told.send(Came::Head { line, session }).await;
    let mut rest = Vec::new();
    while let Some(bytes) = body.next().await {
        rest.extend(bytes?);
        while head.is_stream()
            && let Some(end) = rest.iter().position(|byte| *byte == b'\n')
        {
            let line: Vec<u8> = rest.drain(..=end).collect();
            if let Some(data) = line.strip_prefix(b"data:") {
                let _ = told.send(Came::Line(data.to_vec())).await;
            }
        }
    }
    if !head.is_stream() {
        let _ = told.send(Came::Line(rest)).await;
    }
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
