//! Conversations outside of a session: a short-lived Codex process answers requests about any thread.

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

/// Time for a whole conversation; Codex reads its files one by one.
const CONVERSATION_TIMEOUT: Duration = Duration::from_mins(1);

/// The work of a conversation.
type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A Codex process that answers requests.
pub(super) struct Conversation {
    child: Child,
    protocol: AppServer,
    out: Vec<u8>,
    what: &'static str,
    /// The process ended before it answered.
    is_over: bool,
}

impl Codex {
    /// Starts a process for `work`, and ends it. `what` completes the sentence "codex did not …".
    pub(super) async fn converse<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&mut Conversation) -> Work<'_, T> + Send + 'static,
    ) -> Result<T, Error> {
        let plan = self.session_setup(self.installed().await?, ThreadOptions::default(), None);
        let stop = self.0.stop.clone();
        // A separate task, so that the process ends even if the caller leaves.
        let done = self.0.tasks.spawn(async move {
            let child = Child::start(&plan).await?;
            let mut protocol = AppServer::new("call");
            let mut out = Vec::new();
            protocol.initialize(&mut out);
            let mut conversation = Conversation { child, protocol, out, what, is_over: false };
            let done = tokio::select! {
                () = stop.cancelled() => Err(Error::Over),
                done = timeout(CONVERSATION_TIMEOUT, work(&mut conversation)) => {
                    done.unwrap_or_else(|_| Err(Error::Unanswered { what, why: "it took too long".to_owned() }))
                }
            };
            let how = conversation.child.end().await;
            match (done, how) {
                (Err(Error::Unanswered { .. }), Some(why)) if conversation.is_over => {
                    Err(Error::Unanswered { what, why })
                }
                (done, _) => done,
            }
        });
        done.await.map_err(|_| Error::Over)?
    }
}

impl Conversation {
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
                    // An old version goes on to list every method that it knows.
                    return answer.map_err(|fault| {
                        refused(what, fault.message.split(", expected one of").next().unwrap_or_default())
                    });
                }
            }
        }
    }
}
