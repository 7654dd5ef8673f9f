//! What Codex wants a person to decide, as questions on the desk.
//!
//! The two rooms do not know each other: an approval is turned into a question here, and the outcome into a decision.
//! Whatever is no clear yes is a no.

mod question;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;

use super::App;
use crate::codex::approval::{Approval, By, Decision};
use crate::popups::{self, Answer, Asker, Field, Kind, State, Ticket};

/// How long nothing may happen before the state is looked at again without a reason.
const SILENCE: Duration = Duration::from_mins(1);

impl App {
    /// Puts what Codex asks on the desk until shutdown, and ends turns that other hubs left; then ends all sessions of
    /// this one.
    pub(crate) async fn codex_sessions(self: Arc<Self>) {
        let mut asked = self.codex.asked();
        let mut presented = JoinSet::new();
        let codex = self.codex.clone();
        presented.spawn(async move { codex.mind_the_left().await });
        loop {
            let approval = tokio::select! {
                () = self.shutdown.cancelled() => break,
                approval = asked.recv() => approval,
                Some(_) = presented.join_next() => continue,
            };
            match approval {
                Ok(approval) => {
                    presented.spawn(self.clone().present(approval));
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
        presented.shutdown().await;
    }

    /// Returns what a person is to fill in for an approval.
    pub(crate) fn approval_form(approval: &Approval) -> Vec<Field> {
        question::fields(approval)
    }

    /// Turns what was filled in into a decision, if it fits.
    pub(crate) fn approval_filled(
        &self,
        approval: &Approval,
        answer: Answer,
    ) -> Result<Decision, popups::Error> {
        let fields = question::fields(approval);
        let answer = answer.fit(&fields, self.popups.settings().largest_answer)?;
        Ok(question::filled(approval, &fields, &answer, None))
    }

    /// Asks the person about one approval, and carries the answer to Codex.
    async fn present(self: Arc<Self>, approval: Approval) {
        let asker =
            Asker { key: format!("codex:{}", approval.id), client: "Codex".to_owned(), ..Asker::default() };
        let key = asker.key.clone();
        let workspace = match self.codex.thread(&approval.thread).await {
            Ok(thread) => thread.row.cwd,
            Err(_) => String::new(),
        };
        let draft = question::draft(&approval, workspace, self.config.codex.approval_timeout);
        let ticket = match self.popups.ask(asker, draft).await {
            Ok(entered) => entered.ticket,
            Err(error) => {
                tracing::error!(%error, "an approval cannot be asked; it is denied");
                let note = Some("nobody could be asked".to_owned());
                self.decide(&approval, Decision::Deny { note }, By::Nobody).await;
                return;
            }
        };
        if let Some(outcome) = self.outcome(&approval, &key, &ticket).await {
            let by = if outcome.kind == Kind::TimedOut { By::Timeout } else { By::Person };
            self.decide(&approval, question::decision(&approval, &outcome), by).await;
            self.popups.delivered(&key, &ticket).await;
        }
    }

    /// Waits for the outcome; nothing when Codex does not want it any more, or somebody answered elsewhere.
    async fn outcome(&self, approval: &Approval, key: &str, ticket: &Ticket) -> Option<popups::Outcome> {
        let mut events = self.events.subscribe();
        loop {
            let session = self.codex.session(&approval.thread);
            let wanted = session.is_some_and(|session| session.is_asking(&approval.id));
            if !wanted {
                // A decision that came first stands, and harms nothing.
                let _ = self.popups.cancel(key, ticket).await;
                return None;
            }
            tokio::select! {
                state = self.popups.wait(ticket, SILENCE) => match state {
                    Ok(State::Decided(outcome)) => return Some(outcome),
                    Ok(State::Pending | State::Held { .. }) => {}
                    Err(error) => {
                        tracing::error!(%error, "the desk lost an approval; it will be denied in time");
                        return None;
                    }
                },
                // Whatever it was, it may have been about this one.
                _ = events.recv() => {}
            }
        }
    }

    async fn decide(&self, approval: &Approval, decision: Decision, by: By) {
        // Codex may have gone on without it in this moment.
        if let Err(error) = self.codex.decide(&approval.thread, &approval.id, decision, by).await {
            tracing::debug!(%error, "an answer came too late for Codex");
        }
    }
}
