//! Export of spans by OTLP over HTTP with JSON (OpenTelemetry Protocol 1.x, `POST ENDPOINT/v1/traces`), in batches.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::http_client::{self, HttpRequest};
use adjutant_base::config::traces::TracesConfig;
use adjutant_base::spans::{self, Span};

/// Time that a span waits for others of its batch.
const BATCH_INTERVAL: Duration = Duration::from_secs(1);
/// Spans of a batch.
const MAX_BATCH: usize = 512;
/// Timeout of a request to the collector.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for the last batch of a process that stops.
const FINISH_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum bytes of the collector's answer, which says nothing that is needed.
const MAX_ANSWER: usize = 64 * 1024;

/// Sends the spans of this process to a collector. A batch that it does not take is dropped, so that no span delays work or
/// fills the memory.
#[derive(Debug)]
pub struct TraceExporter {
    stop: CancellationToken,
    exporting: JoinHandle<()>,
}

impl TraceExporter {
    /// Begins to collect and send spans; `None` without an endpoint, or if this process does so already. `service` names this
    /// process: `hub` or `worker`, with the id and the name of its machine.
    pub fn start(config: &TracesConfig, service: &str, id: &str, host: &str) -> Option<Self> {
        let url = format!("{}/v1/traces", config.endpoint.as_deref()?.trim_end_matches('/'));
        let spans = spans::collect()?;
        let resource = attributes(&[
            ("service.namespace", "adjutant".to_owned()),
            ("service.name", format!("adjutant-{service}")),
            ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("service.instance.id", id.to_owned()),
            ("host.name", host.to_owned()),
        ]);
        let stop = CancellationToken::new();
        let exporting = tokio::spawn(export(spans, url, resource, stop.clone()));
        Some(Self { stop, exporting })
    }

    /// Sends what is left, within two seconds.
    pub async fn finish(self) {
        self.stop.cancel();
        let _ = timeout(FINISH_TIMEOUT, self.exporting).await;
    }
}

async fn export(mut spans: Receiver<Span>, url: String, resource: Value, stop: CancellationToken) {
    let mut is_delivering = true;
    loop {
        let mut batch = Vec::new();
        let first = tokio::select! {
            first = spans.recv() => first,
            () = stop.cancelled() => None,
        };
        if let Some(first) = first {
            batch.push(first);
            let end = Instant::now() + BATCH_INTERVAL;
            while batch.len() < MAX_BATCH {
                tokio::select! {
                    next = timeout_at(end, spans.recv()) => match next {
                        Ok(Some(span)) => batch.push(span),
                        Ok(None) | Err(_) => break,
                    },
                    () = stop.cancelled() => break,
                }
            }
        } else {
            spans.close();
        }
        while batch.len() < MAX_BATCH
            && let Ok(span) = spans.try_recv()
        {
            batch.push(span);
        }
        if batch.is_empty() {
            return;
        }
        let count = batch.len();
        let fault = send(&url, &resource, batch).await.err();
        match &fault {
            Some(error) if is_delivering => {
                tracing::warn!(error, "traces are dropped until the collector takes them");
            }
            None if !is_delivering => tracing::info!("the collector takes traces again"),
            Some(_) | None => tracing::debug!(spans = count, "sent a batch of traces"),
        }
        is_delivering = fault.is_none();
        let dropped = spans::take_dropped();
        if dropped > 0 {
            tracing::warn!(dropped, "spans were dropped, because the collector is too slow");
        }
    }
}

/// Sends a batch. The error is a sentence fragment.
async fn send(url: &str, resource: &Value, batch: Vec<Span>) -> Result<(), String> {
    let spans: Vec<Value> = batch.into_iter().map(span).collect();
    let scope = json!({"name": "adjutant", "version": env!("CARGO_PKG_VERSION")});
    let body = json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": scope, "spans": spans}],
    }]});
    let request = HttpRequest {
        method: "POST",
        url,
        headers: vec![("content-type", "application/json".to_owned())],
        login: None,
        token: None,
        body: body.to_string(),
        max_bytes: MAX_ANSWER,
        timeout: REQUEST_TIMEOUT,
    };
    let response = http_client::send(request).await.map_err(|error| error.to_string())?;
    if response.is_success() {
        Ok(())
    } else {
        Err(format!("the collector answers with status {}", response.status))
    }
}

/// Returns a span as OTLP's JSON: ids in hexadecimal digits, times as text.
fn span(span: Span) -> Value {
    let nanos = |time: SystemTime| {
        time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
    };
    json!({
        "traceId": span.trace,
        "spanId": span.id,
        "parentSpanId": span.parent.unwrap_or_default(),
        "traceState": span.state.unwrap_or_default(),
        "flags": 1,
        "name": span.name,
        "kind": span.kind as u8,
        "startTimeUnixNano": nanos(span.start),
        "endTimeUnixNano": nanos(span.end),
        "attributes": attributes(&span.attributes),
        "status": if span.has_failed { json!({"code": 2}) } else { json!({}) },
    })
}

fn attributes(all: &[(&'static str, String)]) -> Value {
    all.iter().map(|(key, value)| json!({"key": key, "value": {"stringValue": value}})).collect()
}
