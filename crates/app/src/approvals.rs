//! Approvals of Codex as questions of the Inbox.
//!
//! The two domains do not know each other: an approval becomes a question here, and the outcome a decision. An outcome
//! that does not clearly approve denies.

mod mapping;

pub(crate) use mapping::{OF_AGENT, fenced};

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;

use super::App;
use adjutant_base::mutex::lock;
use adjutant_codex as codex;
use adjutant_codex::approval::{Approval, Decider, Decision};
use adjutant_questions as questions;
use adjutant_questions::{Answer, Asker, Channel, Field, OutcomeKind, Proof, State, Ticket};

/// Interval at which a pending approval is checked without an event.
const RECHECK_INTERVAL: Duration = Duration::from_mins(1);

/// How the keys of approvals begin.
pub(crate) const ASKER_PREFIX: &str = "codex:";

/// The reason why an answer of the last hub had no effect.
pub(crate) const HUB_ENDED: &str = "the hub ended before Codex got the answer";

/// The reason why an answer of this hub had no effect.
const CODEX_STOPPED_ASKING: &str = "Codex stopped asking before the answer was final";

impl App {
    /// Puts the approvals of Codex into the Inbox until shutdown, and ends turns that other hubs left. Then ends all
    /// sessions of this hub, and withdraws the questions about their approvals.
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
        let open: Vec<(String, Ticket)> = lock(&self.approval_questions).drain().collect();
        for (approval, ticket) in open {
            self.withdraw(&format!("{ASKER_PREFIX}{approval}"), &ticket, HUB_ENDED).await;
        }
    }

    /// Returns the fields that the user fills in for an approval.
    pub fn approval_form(approval: &Approval) -> Vec<Field> {
        mapping::fields(approval)
    }

    /// Decides an approval in an interface of Codex by the answer to its fields. An answer that does not fit them is
    /// rejected.
    pub async fn fill_approval(
        &self,
        approval: &Approval,
        answer: Answer,
        channel: Channel,
    ) -> Result<(), codex::Error> {
        let fields = mapping::fields(approval);
        let answer = answer
            .fit(&fields, self.questions.settings().max_answer_bytes)
            .map_err(|error| rejected(&error))?;
        let decision = mapping::decision_of_answer(approval, &fields, &answer, None);
        self.decide_as_answered(approval, decision, Some(answer), channel).await
    }

    /// Decides an approval in an interface of Codex. The decision is that of its question too, so it is rejected if the
    /// question was answered before in any interface.
    pub async fn decide_approval(
        &self,
        approval: &str,
        decision: Decision,
        channel: Channel,
    ) -> Result<(), codex::Error> {
        let pending = self.codex.pending_approvals().into_iter().find(|pending| pending.id == approval);
        let approval = pending.ok_or_else(|| codex::Error::NotAsked(approval.to_owned()))?;
        if !approval.permits(&decision) {
            return Err(codex::Error::NotPermitted(approval.id));
        }
        let answer = mapping::answer(&approval, &decision);
        self.decide_as_answered(&approval, decision, answer, channel).await
    }

    /// Carries a decision to Codex, after its question has taken `answer`, or was declined.
    async fn decide_as_answered(
        &self,
        approval: &Approval,
        decision: Decision,
        answer: Option<Answer>,
        channel: Channel,
    ) -> Result<(), codex::Error> {
        let ticket = lock(&self.approval_questions).get(&approval.id).cloned();
        let is_asked = ticket.is_some();
        if let Some(ticket) = ticket {
            let key = format!("{ASKER_PREFIX}{}", approval.id);
            let taken = if let Some(answer) = answer {
                self.questions.answer_finally(&ticket, Proof::Interface, answer, channel).await
            } else {
                let note = if let Decision::Deny { note } = &decision { note.clone() } else { None };
                self.questions.decline(&ticket, note, channel).await
            };
            taken.map_err(|error| rejected(&error))?;
            // Here, because the task that waits for the question would take it for an answer that Codex did not get.
            self.questions.mark_delivered(&key, &ticket).await;
        }
        match self.codex.decide(&approval.thread, &approval.id, decision, Decider::User).await {
            // The task that waits for the question was quicker.
            Err(codex::Error::NotAsked(_)) if is_asked => Ok(()),
            decided => decided,
        }
    }

    /// Withdraws the question of an approval that Codex no longer waits for.
    async fn withdraw(&self, key: &str, ticket: &Ticket, reason: &str) {
        if let Err(error) = self.questions.withdraw_unapplied(key, ticket, reason).await {
            tracing::warn!(%error, %ticket, "the question of an approval could not be withdrawn");
        }
    }

    /// Asks the user about one approval, and carries the answer to Codex.
    async fn ask_about(self: Arc<Self>, approval: Approval) {
        let key = format!("{ASKER_PREFIX}{}", approval.id);
        let asker = Asker { key: key.clone(), client: "Codex".to_owned(), ..Asker::default() };
        let workspace = match self.codex.thread(&approval.thread).await {
            Ok(thread) => thread.row.cwd,
            Err(_) => String::new(),
        };
        let draft = mapping::draft(&approval, workspace, self.config.codex.approval_timeout);
        let question = async {
            self.earlier_questions.approvals.withdraw(&self.questions).await?;
            self.questions.ask(asker, draft).await
        };
        let ticket = match question.await {
            Ok(entered) => entered.ticket,
            Err(error) => {
                tracing::error!(%error, "an approval cannot be asked; it is denied");
                let note = Some("no user could be asked".to_owned());
                self.decide(&approval, Decision::Deny { note }, Decider::NotAsked).await;
                return;
            }
        };
        lock(&self.approval_questions).insert(approval.id.clone(), ticket.clone());
        let outcome = self.wait_for_outcome(&approval, &key, &ticket).await;
        lock(&self.approval_questions).remove(&approval.id);
        if let Some(outcome) = outcome {
            let by = if outcome.kind == OutcomeKind::TimedOut { Decider::Timeout } else { Decider::User };
            if self.decide(&approval, mapping::decision(&approval, &outcome), by).await {
                self.questions.mark_delivered(&key, &ticket).await;
            } else {
                self.withdraw(&key, &ticket, CODEX_STOPPED_ASKING).await;
            }
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
                self.withdraw(key, ticket, CODEX_STOPPED_ASKING).await;
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
                // Any event may be about this approval.
                _ = events.recv() => {}
            }
        }
    }

    /// Carries a decision to Codex; false if Codex no longer waits for it.
    async fn decide(&self, approval: &Approval, decision: Decision, by: Decider) -> bool {
        let decided = self.codex.decide(&approval.thread, &approval.id, decision, by).await;
        decided.inspect_err(|error| tracing::debug!(%error, "an answer came too late for Codex")).is_ok()
    }
}

fn rejected(error: &questions::Error) -> codex::Error {
    codex::Error::Rejected(error.to_string())
}
