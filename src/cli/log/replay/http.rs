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

use super::{EXIT_TIMEOUT, MAX_LINE_BYTES, QUEUE_SIZE, ReplayArgs, on_line, pause_of, write_report};
use crate::cli::output::{self, Failure};
use crate::cli::shutdown_signal::ShutdownSignal;
use crate::cli::source_files;
use adjutant_host::recorder::http_head::{HEADERS, Head, SESSION};
use adjutant_host::recorder::replay::{Due, Player, answer_line};
use adjutant_http as http;
use adjutant_net::http_client;
use adjutant_net::http_client::{HttpRequest, StreamingResponse, Token};

/// Timeout of one request; a stream lasts as long as the replay.
const CALL_TIMEOUT: Duration = Duration::from_hours(24);

/// Replays the server on `address` until a signal. Returns the player with its report.
pub(super) fn serve(player: Player, address: SocketAddr, args: &ReplayArgs) -> Result<Player, Failure> {
    if !address.ip().is_loopback() {
        return Err(Failure::usage("a recording is replayed on loopback addresses only")
            .hint("use --http 127.0.0.1:0"));
    }
    runtime()?.block_on(async {
        let mut signals = ShutdownSignal::new()?;
        let bound = TcpListener::bind(address).await;
        let listener = bound.map_err(|error| {
            Failure::new(format!("cannot listen on {address}: {error}"))
                .hint("use --http 127.0.0.1:0 for any free port")
        })?;
        let address = listener.local_addr()?;
        output::note(format!("replaying the server at http://{address}/mcp until an interrupt"));
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        tokio::spawn(async move {
            signals.received().await;
            stopping.cancel();
        });
        let report = args.report.clone();
        let on_change = move |player: &Player| {
            // The last write reports the error.
            let _ = write_report(player, report.as_deref());
        };
        let player = http::replay(listener, address, player, stop, on_change).await;
        player.ok_or_else(|| {
            Failure::new("a request was still being answered, so the differences are not printed")
        })
    })
}

/// Event of a request.
enum CallEvent {
    /// The head of an answer, as a line; the recorded and the new id of the session that it opened.
    Head {
        line: Vec<u8>,
        session: Option<(String, String)>,
    },
    Line(Vec<u8>),
    /// The request with this number has ended.
    Ended(u64),
    Failed(http_client::Error),
}

/// Replays the client to the server at `url`.
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
        let (events, mut incoming) = channel(QUEUE_SIZE);
        let (mut calls, mut streams) = (JoinSet::new(), JoinSet::new());
        let mut sessions = HashMap::new();
        let wait = Duration::from_secs(args.timeout);
        loop {
            while let Some(due) = player.due() {
                tokio::time::sleep(pause_of(&due, args)).await;
                let Some(call) = player.calls.get(&due.call) else { continue };
                let answered = call.answered.clone();
                let recorded = answered.as_ref().and_then(|head| head.get(SESSION)).map(str::to_owned);
                let headers = headers_of(&call.asked, &sessions);
                let asked = (call.asked.start.clone(), headers, recorded);
                let calls = if call.asked.start == "GET" { &mut streams } else { &mut calls };
                calls.spawn(ask(url.to_owned(), token.clone(), due, asked, events.clone()));
            }
            if player.is_done() {
                break;
            }
            match timeout(wait, incoming.recv()).await {
                Ok(Some(event)) => on_event(player, event, &mut sessions)?,
                Err(_) if player.waits_for().is_some() => player.give_up(),
                Ok(None) | Err(_) => break,
            }
        }
        drop(events);
        // Messages after the last answer were recorded too. A stream without a request has no end.
        streams.shutdown().await;
        let end = Instant::now() + EXIT_TIMEOUT;
        while let Ok(Some(event)) = timeout_at(end, incoming.recv()).await {
            on_event(player, event, &mut sessions)?;
        }
        calls.shutdown().await;
        Ok(())
    })
}

fn on_event(
    player: &mut Player,
    event: CallEvent,
    sessions: &mut HashMap<String, String>,
) -> Result<(), Failure> {
    match event {
        CallEvent::Head { line, session } => {
            sessions.extend(session);
            player.on_line(&line);
        }
        // An answer that the recording lacks is not sent, because it would be a further request.
        CallEvent::Line(line) => drop(on_line(player, &line)),
        CallEvent::Ended(call) => player.on_call_end(call),
        CallEvent::Failed(error @ (http_client::Error::Address | http_client::Error::Unreachable { .. })) => {
            return Err(Failure::new(error).hint("give the address of the server's /mcp with --to"));
        }
        CallEvent::Failed(error) => output::note(error),
    }
    Ok(())
}

/// Returns the headers of a recorded request, with the session ids of this replay.
fn headers_of(asked: &Head, sessions: &HashMap<String, String>) -> Vec<(&'static str, String)> {
    let current = |(name, value): &(&'static str, String)| {
        let known = if *name == SESSION { sessions.get(value) } else { None };
        (*name, known.unwrap_or(value).clone())
    };
    asked.headers.iter().map(current).collect()
}

/// Sends one request, and sends its events until the end.
async fn ask(
    url: String,
    token: Option<Token>,
    due: Due,
    (method, headers, recorded): (String, Vec<(&'static str, String)>, Option<String>),
    events: Sender<CallEvent>,
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
    if let Err(error) = follow(call, due.call, recorded, &events).await {
        let _ = events.send(CallEvent::Failed(error)).await;
    }
    let _ = events.send(CallEvent::Ended(due.call)).await;
}

async fn follow(
    call: HttpRequest<'_>,
    number: u64,
    recorded: Option<String>,
    events: &Sender<CallEvent>,
) -> Result<(), http_client::Error> {
    let StreamingResponse { status, headers, mut body } = http_client::send_streaming(call).await?;
    let known = |(name, value): (String, String)| {
        HEADERS.into_iter().find(|known| *known == name).map(|name| (name, value))
    };
    let head =
        Head { start: format!("HTTP {status}"), headers: headers.into_iter().filter_map(known).collect() };
    let session = recorded.zip(head.get(SESSION).map(str::to_owned));
    let line = answer_line(number, status, &head).to_string().into_bytes();
    // The receiver is dropped at the end of the replay, here and below.
    let _ = events.send(CallEvent::Head { line, session }).await;
    let mut rest = Vec::new();
    while let Some(bytes) = body.next().await {
        rest.extend(bytes?);
        while head.is_stream()
            && let Some(end) = rest.iter().position(|byte| *byte == b'\n')
        {
            let line: Vec<u8> = rest.drain(..=end).collect();
            if let Some(data) = line.strip_prefix(b"data:") {
                let _ = events.send(CallEvent::Line(data.to_vec())).await;
            }
        }
    }
    if !head.is_stream() {
        let _ = events.send(CallEvent::Line(rest)).await;
    }
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
