//! Transport of newline-delimited JSON-RPC on any byte stream, as rmcp's `Transport`.
//!
//! Every accepted request gets exactly one answer. rmcp's own stdio transport drops invalid lines without an error, accepts
//! requests without a limit and ends on a notification before `initialize`. The transport tests of `tests/it` list what
//! this transport does instead, line by line.

pub mod decode;
pub mod envelope;
pub mod in_flight;
pub mod lines;
pub(crate) mod preserialized;
pub mod writer;

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, CustomNotification, GetMeta, JsonRpcMessage, NotificationMetaObject, RequestId,
    ServerJsonRpcMessage, ServerNotification, ServerResult, SubscriptionsListenResult,
};
use rmcp::service::RxJsonRpcMessage;
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::AsyncRead;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::connection::Connection;
use crate::deliveries::{DELIVERED, INPUT_ENDED};
use crate::error::{self, Refusal};
use crate::protocol_version;
use crate::protocol_version::Revision;
use crate::trigger_popup;
use in_flight::{Completion, Rejection, RequestKind};
use lines::{Line, Lines};
use preserialized::RawResult;

/// Time that the reader waits for the handlers when many requests are in flight.
const CROWDED_PAUSE: Duration = Duration::from_millis(1);

/// The reading half, and rmcp's way to the writing half.
#[derive(Debug)]
pub struct StreamTransport<R> {
    lines: Lines<R>,
    connection: Arc<Connection>,
    /// Messages that rmcp has not received yet.
    received: VecDeque<ClientJsonRpcMessage>,
    grace: Duration,
    /// Has the same effect as the end of the input.
    stop: CancellationToken,
    /// The time at which the requests in flight are abandoned, once the input has ended.
    until: Option<Instant>,
    /// Tickets of outcomes that a relay acknowledged and that are not marked yet.
    acknowledged: VecDeque<String>,
    /// The requests have ended, but a relay still acknowledges.
    input_ended: bool,
    first: bool,
}

impl<R: AsyncRead + Unpin + Send> StreamTransport<R> {
    /// `grace` is how long requests in flight may continue after the end of the input.
    pub fn new(input: R, connection: Arc<Connection>, grace: Duration, stop: CancellationToken) -> Self {
        Self {
            lines: Lines::new(input),
            connection,
            received: VecDeque::new(),
            grace,
            stop,
            until: None,
            acknowledged: VecDeque::new(),
            input_ended: false,
            first: true,
        }
    }

    fn accept(&mut self, line: std::ops::Range<usize>) {
        let mut bytes = self.lines.bytes(&line);
        if std::mem::take(&mut self.first) {
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        }
        let bytes = bytes.trim_ascii();
        if bytes.is_empty() {
            return;
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return self.refuse(Refusal { id: None, error: error::not_json("the line is not UTF-8") });
        };
        if text.starts_with('[') && self.connection.revision() == Some(Revision::V2025_03_26) {
            match serde_json::from_str::<Vec<&RawValue>>(text) {
                Ok(members) if !members.is_empty() => {
                    let members: Vec<String> = members.iter().map(|raw| raw.get().to_owned()).collect();
                    return self.accept_batch(&members);
                }
                Ok(_) => {
                    let error = error::invalid_request("the batch is empty");
                    return self.refuse(Refusal { id: None, error });
                }
                Err(_) => {}
            }
        }
        match read(text) {
            Ok(Some(message)) => {
                if let Err(refusal) = self.dispatch(message, text.len(), None) {
                    self.refuse(refusal);
                }
            }
            Ok(None) => {}
            Err(refusal) => self.refuse(refusal),
        }
    }

    fn accept_batch(&mut self, members: &[String]) {
        let number = self.connection.in_flight().open_batch();
        for text in members {
            let admitted = match read(text) {
                Ok(Some(JsonRpcMessage::Request(request)))
                    if matches!(request.request, ClientRequest::InitializeRequest(_)) =>
                {
                    Err(Refusal {
                        id: Some(request.id),
                        error: error::invalid_request("`initialize` must not be part of a batch"),
                    })
                }
                Ok(Some(message)) => self.dispatch(message, text.len(), Some(number)),
                Ok(None) => Ok(()),
                Err(refusal) => Err(refusal),
            };
            if let Err(refusal) = admitted {
                self.connection.in_flight().refuse_in_batch(number, refusal.to_json());
            }
        }
        let answers = self.connection.in_flight().seal_batch(number);
        self.write_batch(answers);
    }

    /// Admits a request to the table, and passes the message on.
    fn dispatch(
        &mut self,
        message: ClientJsonRpcMessage,
        bytes: usize,
        batch: Option<u64>,
    ) -> Result<(), Refusal> {
        match &message {
            JsonRpcMessage::Request(request) => {
                let kind = match &request.request {
                    ClientRequest::InitializeRequest(_) => RequestKind::Initialize,
                    ClientRequest::SubscriptionsListenRequest(_) => RequestKind::Listen,
                    ClientRequest::CustomRequest(request) if request.method == trigger_popup::METHOD => {
                        RequestKind::TriggerPopup
                    }
                    _ => RequestKind::Plain,
                };
                let admitted = self.connection.in_flight().admit(&request.id, kind, bytes, batch);
                if let Err(reason) = admitted {
                    let modern = protocol_version::is_stateless(request.request.get_meta());
                    let error = match reason {
                        Rejection::Duplicate => error::invalid_request(format!(
                            "request {} is still in flight; its answer is on the way",
                            request.id
                        )),
                        Rejection::Full => error::busy(modern, in_flight::MAX_IN_FLIGHT),
                    };
                    return Err(Refusal { id: Some(request.id.clone()), error });
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CustomNotification(custom) = &notification.notification
                    && matches!(custom.method.as_str(), DELIVERED | INPUT_ENDED)
                {
                    self.note_relay(custom);
                    return Ok(());
                }
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    let initializing =
                        self.connection.in_flight().ids(Some(RequestKind::Initialize)).contains(id);
                    if initializing {
                        return Ok(());
                    }
                    let in_flight = self.connection.in_flight().ids(None).contains(id);
                    let answers = self.connection.in_flight().cancel(id);
                    self.write_batch(answers);
                    if in_flight && self.connection.answers_cancelled() {
                        self.refuse(Refusal { id: Some(id.clone()), error: error::cancelled() });
                    }
                    self.connection.take_raw_result(id);
                    self.connection.deliveries.release(id);
                    self.connection.completed.notify_one();
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        self.received.push_back(message);
        Ok(())
    }

    /// Handles a notification that a relay sends for itself and not for its client.
    fn note_relay(&mut self, notification: &CustomNotification) {
        if !self.connection.deliveries.are_acknowledged() {
            return;
        }
        if notification.method == INPUT_ENDED {
            self.input_ended = true;
            return;
        }
        let ticket = notification.params.as_ref().and_then(|params| params["ticket"].as_str());
        self.acknowledged.extend(ticket.map(str::to_owned));
    }

    /// Marks what was acknowledged, before anything that came later is read.
    async fn mark_acknowledged(&mut self) {
        while let Some(ticket) = self.acknowledged.front() {
            self.connection.deliveries.acknowledge(ticket).await;
            self.acknowledged.pop_front();
        }
    }

    fn refuse(&self, refusal: Refusal) {
        let refusal = Refusal { error: self.connection.in_contract(refusal.error), ..refusal };
        // Writing JSON into a vector cannot fail for these values.
        let _ = self.connection.output.line(|bytes| serde_json::to_writer(bytes, &refusal.to_json()));
    }

    fn write_batch(&self, answers: Option<Vec<Value>>) {
        if let Some(answers) = answers {
            let _ = self.connection.output.line(|bytes| serde_json::to_writer(bytes, &answers));
        }
    }

    /// Ends the requests in flight after the end of the input: subscriptions at once, calls after the grace period. Each
    /// gets a response, because the client may still read.
    async fn end_requests(&mut self) -> Option<ClientJsonRpcMessage> {
        self.connection.end_input();
        let mut until = *self.until.get_or_insert_with(|| Instant::now() + self.grace);
        let listening = self.connection.in_flight().ids(Some(RequestKind::Listen)).pop();
        if let Some(id) = listening {
            return Some(self.end_subscription(id));
        }
        loop {
            self.mark_acknowledged().await;
            let connection = self.connection.clone();
            let completed = connection.completed.notified();
            let waits = self.input_ended && connection.deliveries.are_unacknowledged();
            if connection.in_flight().is_empty() && !waits {
                return None;
            }
            tokio::select! {
                completed = timeout_at(until, completed) => if completed.is_err() {
                    let running = connection.in_flight().ids(None).pop();
                    return running.map(|id| self.abandon(id));
                },
                line = self.lines.next(), if self.input_ended => match line {
                    Line::Whole(line) => {
                        let text = String::from_utf8_lossy(self.lines.bytes(&line)).into_owned();
                        if let Ok(Some(JsonRpcMessage::Notification(notification))) = read(&text)
                            && let ClientNotification::CustomNotification(custom) = notification.notification
                        {
                            self.note_relay(&custom);
                        }
                    }
                    Line::TooLong(_) => {}
                    Line::End => {
                        self.input_ended = false;
                        until = self.relay_ended();
                    }
                },
            }
        }
    }

    /// Ends the grace period, because a relay that has gone passes no response on. Until its session is closed, an
    /// identical question of the client's next process would be another question.
    fn relay_ended(&mut self) -> Instant {
        *self.until.insert(Instant::now())
    }

    /// Ends a subscription as the specification of 2026-07-28 requires on a stream: a cancellation (cancellation) and a
    /// response to the request (subscriptions, graceful closure).
    fn end_subscription(&self, id: RequestId) -> ClientJsonRpcMessage {
        let params = CancelledNotificationParam::new(Some(id.clone()), Some(self.end_reason().to_owned()));
        let mut cancelled = CancelledNotification::new(params);
        let mut meta = NotificationMetaObject::new();
        meta.set_subscription_id(id.clone());
        cancelled.extensions.insert(meta);
        let cancelled = ServerNotification::CancelledNotification(cancelled);
        let _ = put(&self.connection, &JsonRpcMessage::notification(cancelled));
        let mut result = SubscriptionsListenResult::complete(id.clone());
        if let Some(selection) = self.connection.selection() {
            result.meta.set_server_info(protocol_version::server_info(selection));
        }
        let result = ServerResult::SubscriptionsListenResult(result);
        self.answer_for_handler(id.clone(), &JsonRpcMessage::response(result, id))
    }

    /// Answers a call after its grace period.
    fn abandon(&self, id: RequestId) -> ClientJsonRpcMessage {
        let error = self.connection.in_contract(error::unfinished(self.end_reason()));
        self.answer_for_handler(id.clone(), &JsonRpcMessage::error(error, Some(id)))
    }

    /// Returns the reason for which requests end early.
    fn end_reason(&self) -> &'static str {
        if self.stop.is_cancelled() { "the server stopped" } else { "the input ended" }
    }

    /// Answers a request instead of its handler, and returns the notification that cancels the handler.
    fn answer_for_handler(&self, id: RequestId, answer: &ServerJsonRpcMessage) -> ClientJsonRpcMessage {
        // Writing JSON into a vector cannot fail for these values.
        let _ = put(&self.connection, answer);
        let params = CancelledNotificationParam::new(Some(id), Some(self.end_reason().to_owned()));
        JsonRpcMessage::notification(ClientNotification::CancelledNotification(CancelledNotification::new(
            params,
        )))
    }
}

/// Waits until the next line may be read: no handshake is open, the client reads its answers, and the
/// handlers keep up. Cancellations and responses to the hub's requests come on the same stream, so long calls in flight
/// delay the reader only briefly.
async fn wait_for_capacity(connection: &Connection) {
    connection.output.wait_for_capacity().await;
    loop {
        let completed = connection.completed.notified();
        let (initializing, crowded) = connection.load();
        if initializing {
            completed.await;
        } else if crowded {
            let _ = tokio::time::timeout(CROWDED_PAUSE, completed).await;
            return;
        } else {
            return;
        }
    }
}

/// Reads one message from its text.
pub fn read(text: &str) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
    decode::typed(envelope::open(text)?)
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for StreamTransport<R> {
    type Error = serde_json::Error;

    /// Puts the message into the output at once, in the order of the calls; this waits only for a slow client.
    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let written = put(&self.connection, &item);
        let connection = self.connection.clone();
        async move {
            written?;
            connection.output.wait_for_capacity().await;
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(message) = self.received.pop_front() {
                return Some(message);
            }
            if self.until.is_some() || self.input_ended {
                return self.end_requests().await;
            }
            self.mark_acknowledged().await;
            let lines = &mut self.lines;
            let next = async {
                wait_for_capacity(&self.connection).await;
                lines.next().await
            };
            let line = tokio::select! {
                biased;
                line = next => line,
                () = self.stop.cancelled() => {
                    self.input_ended = self.connection.deliveries.are_acknowledged();
                    Line::End
                }
            };
            match line {
                Line::Whole(line) => self.accept(line),
                Line::TooLong(head) => self.refuse(Refusal {
                    id: envelope::id_in_head(&head),
                    error: error::invalid_request(format!(
                        "the line is longer than {} bytes",
                        lines::MAX_LINE
                    )),
                }),
                Line::End => {
                    if self.connection.deliveries.are_acknowledged() && !self.input_ended {
                        self.relay_ended();
                    }
                    return self.end_requests().await;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.connection.output.close();
        Ok(())
    }
}

/// Writes a message of the hub. A response removes its request from the table of requests in flight.
fn put(connection: &Connection, item: &ServerJsonRpcMessage) -> Result<(), serde_json::Error> {
    let id = match item {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    };
    let Some(id) = id else {
        return connection.output.line(|bytes| serde_json::to_writer(bytes, item));
    };
    let raw = connection.take_raw_result(id);
    let completion = connection.in_flight().complete(id);
    let result = match (completion, raw) {
        (Completion::Nowhere, _) => {
            connection.deliveries.release(id);
            Ok(())
        }
        (Completion::Line { result_first }, raw) => {
            let written = connection.output.line(|bytes| match (item, &raw) {
                (_, Some(raw)) => splice(bytes, item, raw),
                (JsonRpcMessage::Response(response), None) if result_first => {
                    // The order of the members in the contract of the questions.
                    let response = json!({"jsonrpc": "2.0", "result": response.result, "id": response.id});
                    serde_json::to_writer(bytes, &response)
                }
                _ => serde_json::to_writer(bytes, item),
            });
            note_written(connection, Some(id));
            written
        }
        (Completion::Batch(number), raw) => {
            connection.deliveries.batch(id);
            let mut bytes = Vec::new();
            match &raw {
                None => serde_json::to_writer(&mut bytes, item)?,
                Some(raw) => splice(&mut bytes, item, raw)?,
            }
            let answers = connection.in_flight().answer_in_batch(number, serde_json::from_slice(&bytes)?);
            match answers {
                Some(answers) => {
                    let written = connection.output.line(|bytes| serde_json::to_writer(bytes, &answers));
                    note_written(connection, None);
                    written
                }
                None => Ok(()),
            }
        }
    };
    connection.completed.notify_one();
    result
}

/// Notes that a response was put into the output, and asks a relay to acknowledge the outcomes in it.
fn note_written(connection: &Connection, id: Option<&RequestId>) {
    for notification in connection.deliveries.written(id, connection.output.lines()) {
        // Writing JSON into a vector fails for no value that we make.
        let _ = connection.output.line(|bytes| serde_json::to_writer(bytes, &notification));
    }
    // The line may have been written before its outcomes were noted.
    connection.output.wake();
}

/// Writes a tool's result with raw members instead of its empty `content`.
fn splice(
    bytes: &mut Vec<u8>,
    item: &ServerJsonRpcMessage,
    raw: &RawResult,
) -> Result<(), serde_json::Error> {
    let JsonRpcMessage::Response(response) = item else { return serde_json::to_writer(bytes, item) };
    bytes.reserve(raw.size_hint());
    bytes.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    serde_json::to_writer(&mut *bytes, &response.id)?;
    bytes.extend_from_slice(br#","result":{"#);
    raw.write(bytes);
    let plain = matches!(&response.result, ServerResult::CallToolResult(result)
        if result.result_type.is_none() && result.is_error.is_none() && result.meta.is_none());
    if !plain && let Value::Object(mut rest) = serde_json::to_value(&response.result)? {
        rest.shift_remove("content");
        for (name, value) in &rest {
            bytes.push(b',');
            serde_json::to_writer(&mut *bytes, name)?;
            bytes.push(b':');
            serde_json::to_writer(&mut *bytes, value)?;
        }
    }
    bytes.extend_from_slice(b"}}");
    Ok(())
}
