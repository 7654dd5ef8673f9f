//! Pages for monitoring: probes of an orchestrator, and metrics in the text format of Prometheus.
//!
//! They hold numbers, names of states and sentences of this program: no argument, name or text of a user.

use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::time::SystemTime;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::routing::get;

use crate::response_builders::typed;
use adjutant_app::App;
use adjutant_base::metrics::{BUCKETS, Counts, Histogram};
use adjutant_host::process;

/// The path of the metrics, which take a token.
pub(crate) const METRICS: &str = "/metrics";
/// The paths of the probes, which take none.
pub(crate) const PROBES: [&str; 2] = ["/healthz", "/readyz"];

const TEXT: &str = "text/plain; charset=utf-8";

/// Returns the routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    let [health, readiness] = PROBES;
    Router::new()
        .route(health, get(async || typed(StatusCode::OK, TEXT, "alive\n")))
        .route(readiness, get(ready))
        .route(METRICS, get(metrics))
        .with_state(app)
}

async fn ready(State(app): State<Arc<App>>) -> Response<Body> {
    match app.check_readiness().await {
        Ok(()) => typed(StatusCode::OK, TEXT, "ready\n"),
        Err(reason) => typed(StatusCode::SERVICE_UNAVAILABLE, TEXT, format!("not ready: {reason}\n")),
    }
}

async fn metrics(State(app): State<Arc<App>>) -> Response<Body> {
    let stored = app.stored_counts().await;
    let mut text = Text::default();
    text.family("adjutant_build_info", "gauge", "The version of the hub.");
    text.value("adjutant_build_info", &label("version", env!("CARGO_PKG_VERSION")), 1);
    text.number("adjutant_clients", "gauge", "Connected clients.", clients(&app));
    text.counts(
        "adjutant_requests_total",
        "Ended requests of clients by outcome: result, error, or dropped by the client.",
        &app.requests.ended,
    );
    text.number(
        "adjutant_tool_errors_total",
        "counter",
        "Tool calls that failed; as requests they have a result.",
        app.requests.tool_errors(),
    );
    text.number("adjutant_calls_in_flight", "gauge", "Requests without an answer.", app.requests.in_flight());
    let up = u8::from(stored.is_some());
    text.number("adjutant_store_up", "gauge", "1 if the store answered this request, else 0.", up);
    if let Some(stored) = stored {
        text.number(
            "adjutant_questions_pending",
            "gauge",
            "Pending questions in the store.",
            stored.pending_questions,
        );
        text.family("adjutant_tasks", "gauge", "Tasks of this machine in the store by state.");
        for (state, count) in stored.tasks {
            text.value("adjutant_tasks", &label("state", state), count);
        }
    }
    if let Some(timings) = app.store_timings() {
        text.histogram(
            "adjutant_store_write_seconds",
            "Changes of the store, from the call to the end of the commit.",
            &timings.writes,
        );
        text.histogram("adjutant_task_claim_seconds", "Claims that found a task.", &timings.claims);
        text.histogram(
            "adjutant_task_wait_seconds",
            "Tasks from their delegation to their claim.",
            &timings.waits,
        );
    }
    text.counts(
        "adjutant_notification_attempts_total",
        "Attempts to send a notification by outcome.",
        app.assistant.attempt_counts(),
    );
    if let Some(bytes) = process::resident_bytes() {
        text.number("process_resident_memory_bytes", "gauge", "Resident memory of the hub.", bytes);
    }
    let started = app.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    text.number("process_start_time_seconds", "gauge", "Start of the hub, in seconds since 1970.", started);
    typed(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text.0)
}

fn clients(app: &App) -> usize {
    app.clients.all().iter().filter(|client| !client.is_check()).count()
}

fn label(key: &str, value: &str) -> String {
    format!("{{{key}=\"{value}\"}}")
}

/// Lines of Prometheus' text format. Writing to a `String` never fails.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn number(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.value(name, "", value);
    }

    fn counts(&mut self, name: &str, help: &str, counts: &Counts) {
        self.family(name, "counter", help);
        for (outcome, count) in counts.all() {
            self.value(name, &label("outcome", outcome), count);
        }
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.family(name, "histogram", help);
        let bounds = BUCKETS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        let mut total = 0;
        for (bound, count) in bounds.zip(histogram.counts()) {
            total += count;
            self.value(&format!("{name}_bucket"), &label("le", &bound), total);
        }
        self.value(&format!("{name}_sum"), "", histogram.sum().as_secs_f64());
        self.value(&format!("{name}_count"), "", total);
    }
}
