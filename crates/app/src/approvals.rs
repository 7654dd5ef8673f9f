//! Approvals of Codex as questions of the Inbox.
//!
//! The two domains do not know each other: an approval becomes a question here, and the outcome a decision. An outcome
//! that does not clearly approve denies.

mod mapping;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;

use super::App;
use adjutant_codex::approval::{Approval, Decider, Decision};
use adjutant_questions as questions;
use adjutant_questions::{Answer, Asker, Field, OutcomeKind, State, Ticket};

/// How long nothing may happen before the state is looked at again without a reason.
const RECHECK_INTERVAL: Duration = Duration::from_mins(1);

impl App {
    /// Puts the approvals of Codex into the Inbox until shutdown, and ends turns that other hubs left; then ends all
    /// sessions of this hub.
    pub async fn run_codex_sessions(self: Arc<Self>) {
        let mut asked = self.codex.subscribe_approvals();
        let mut asking = JoinSet::new();
        let codex = self.codex.clone();
        asking.spawn(async move { codex.reap_orphaned_turns().await });
        loop {
            let approval = tokio::select! {
                () = self.shutdown.cancelled() => break,
                approval = asked.recv() => approval,
                Some(_) = asking.join_next() => continue,
            };
            match approval {
                Ok(approval) => {
                    asking.spawn(self.clone().ask_about(approval));
                }
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(
                        missed,
                        "approvals came too fast to be asked; they will be denied in time"
                    );
                }
                Err(RecvError::Closed) => break,
            }
        }
        self.codex.close().await;
        asking.shutdown().await;
    }

    /// Returns what a person is to fill in for an approval.
    pub fn approval_form(approval: &Approval) -> Vec<Field> {
        mapping::fields(approval)
    }

    /// Turns what was filled in into a decision, if it fits.
    pub fn approval_filled(&self, approval: &Approval, answer: Answer) -> Result<Decision, questions::Error> {
        let fields = mapping::fields(approval);
        let answer = answer.fit(&fields, self.questions.settings().max_answer_bytes)?;
        Ok(mapping::decision_of_answer(approval, &fields, &answer, None))
    }

    /// Asks the person about one approval, and carries the answer to Codex.
    async fn ask_about(self: Arc<Self>, approval: Approval) {
        let asker =
            Asker { key: format!("codex:{}", approval.id), client: "Codex".to_owned(), ..Asker::default() };
        let key = asker.key.clone();
        let workspace = match self.codex.thread(&approval.thread).await {
            Ok(thread) => thread.row.cwd,
            Err(_) => String::new(),
        };
        let draft = mapping::draft(&approval, workspace, self.config.codex.approval_timeout);
        let ticket = match self.questions.ask(asker, draft).await {
            Ok(entered) => entered.ticket,
            Err(error) => {
                tracing::error!(%error, "an approval cannot be asked; it is denied");
                let note = Some("nobody could be asked".to_owned());
                self.decide(&approval, Decision::Deny { note }, Decider::Nobody).await;
                return;
            }
        };
        if let Some(outcome) = self.wait_for_outcome(&approval, &key, &ticket).await {
            let by = if outcome.kind == OutcomeKind::TimedOut { Decider::Timeout } else { Decider::Person };
            self.decide(&approval, mapping::decision(&approval, &outcome), by).await;
            self.questions.mark_delivered(&key, &ticket).await;
        }
    }

    /// Waits for the outcome; `None` when Codex no longer wants it, or a user answered through another interface.
    async fn wait_for_outcome(
        &self,
        approval: &Approval,
        key: &str,
        ticket: &Ticket,
    ) -> Option<questions::Outcome> {
        let mut events = self.events.subscribe();
        loop {
            let session = self.codex.session(&approval.thread);
            let wanted = session.is_some_and(|session| session.is_asking(&approval.id));
            if !wanted {
                // A decision that came first is kept, and harms nothing.
                let _ = self.questions.cancel(key, ticket).await;
                return None;
            }
            tokio::select! {
                state = self.questions.wait(ticket, RECHECK_INTERVAL) => match state {
                    Ok(State::Decided(outcome)) => return Some(outcome),
                    Ok(State::Pending | State::Held { .. }) => {}
                    Err(error) => {
                        tracing::error!(%error, "the Inbox lost an approval; it will be denied when it expires");
                        return None;
                    }
                },
                // Whatever it was, it may have been about this one.
                _ = events.recv() => {}
            }
        }
    }

    async fn decide(&self, approval: &Approval, decision: Decision, by: Decider) {
        // Codex may have gone on without it in this moment.
        if let Err(error) = self.codex.decide(&approval.thread, &approval.id, decision, by).await {
            tracing::debug!(%error, "an answer came too late for Codex");
        }
    }
}
