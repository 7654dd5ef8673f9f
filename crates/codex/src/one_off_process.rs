//! Processes of Codex outside of a session: each answers the requests of one operation, about any thread, and ends.

use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use super::backend::AppServer;
use super::event::CodexEvent;
use super::jsonrpc::Line;
use super::session::child::{Child, ChildEvent};
use super::thread_options::ThreadOptions;
use super::{Codex, Error};

/// Time for all requests of an operation; Codex reads its files one by one.
const PROCESS_TIMEOUT: Duration = Duration::from_mins(1);

/// Maximum bytes of an answer. The history of a thread is in one line.
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// The requests of an operation.
type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A Codex process that answers requests.
pub(super) struct OneOffProcess {
    child: Child,
    protocol: AppServer,
    out: Vec<u8>,
    what: &'static str,
    /// The process ended before it answered.
    is_over: bool,
}

impl Codex {
    /// Starts a process for `work`, and ends it. `what` completes the sentence "codex did not …".
    pub(super) async fn with_process<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&mut OneOffProcess) -> Work<'_, T> + Send + 'static,
    ) -> Result<T, Error> {
        let plan = self.session_setup(self.installed().await?, ThreadOptions::default(), None);
        let stop = self.0.stop.clone();
        // A separate task, so that the process ends even if the caller leaves.
        let done = self.0.tasks.spawn(async move {
            let mut child = Child::start(&plan).await?;
            child.lines.limit = MAX_ANSWER_BYTES;
            let mut protocol = AppServer::new("call");
            let mut out = Vec::new();
            protocol.initialize(&mut out);
            let mut process = OneOffProcess { child, protocol, out, what, is_over: false };
            let done = tokio::select! {
                () = stop.cancelled() => Err(Error::Over),
                done = timeout(PROCESS_TIMEOUT, work(&mut process)) => {
                    done.unwrap_or_else(|_| Err(Error::Unanswered { what, why: "it took too long".to_owned() }))
                }
            };
            let how = process.child.end().await;
            match (done, how) {
                (Err(Error::Unanswered { .. }), Some(why)) if process.is_over => {
                    Err(Error::Unanswered { what, why })
                }
                (done, _) => done,
            }
        });
        done.await.map_err(|_| Error::Over)?
    }
}

impl OneOffProcess {
    /// Sends a request and waits for its answer.
    pub(super) async fn call(&mut self, method: &str, params: &Value) -> Result<Value, Error> {
        let (what, refused) = (self.what, |what, why: &str| Error::NotDone { what, why: why.to_owned() });
        let unanswered = |why: &str| Error::Unanswered { what, why: why.to_owned() };
        self.protocol.call(method, params, &mut self.out);
        loop {
            if self.child.next(&mut self.out).await == ChildEvent::Ended {
                self.is_over = true;
                return Err(unanswered("its process ended"));
            }
            while let Some(line) = self.child.lines.next() {
                let Line::Whole(line) = line else {
                    return Err(unanswered("its answer is too long"));
                };
                let batch = self.protocol.on_line(line, &mut self.out);
                if let Some(CodexEvent::Closed { message }) = batch.events.first() {
                    return Err(unanswered(message.as_deref().unwrap_or_default()));
                }
                if let Some(answer) = self.protocol.answered.take() {
                    // The message of an old version lists every method that it knows.
                    return match answer {
                        Ok(answer @ (Value::Object(_) | Value::Null)) => Ok(answer),
                        Ok(_) => Err(unanswered("its answer is not an object")),
                        Err(fault) => {
                            let message = fault.message.split(", expected one of").next();
                            Err(refused(what, message.unwrap_or_default()))
                        }
                    };
                }
            }
        }
    }
}
