//! Permission of the user for a change of a calendar that a client wants: a question of the Inbox.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::App;
use adjutant_agents::Origin;
use adjutant_base::mutex::lock;
use adjutant_questions::{
    APPROVE, Asker, Choice, DecidedBy, Draft, Error, Field, FieldValue, Input, OutcomeKind,
};

/// How the keys of these askers begin, so that an answer is not appended to another result of the client.
pub(crate) const ASKER_PREFIX: &str = "calendar:";
/// How long the user may think about it.
const QUESTION_TIMEOUT: Duration = Duration::from_hours(1);
/// The values of the options.
const DENY: &str = "deny";

/// Why the outcome of an earlier hub has no effect. The hub may have ended after the change, and before its record.
pub(crate) const HUB_ENDED: &str = "the hub ended before it recorded the change; check the calendar";

/// The user's decision about a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission<T> {
    /// The change was made, or it failed; this is its result.
    Granted(T),
    /// The user allowed it once, and an earlier call in the same words makes the change.
    Used,
    /// The user does not want it; they may say why.
    Denied(Option<String>),
    /// Nobody decided in time, or the question was cancelled.
    Expired,
    /// The call was cancelled, or its client has gone; nothing is changed.
    Withdrawn,
}

impl App {
    /// Returns whether a client changes calendars without a question. A client chooses its name itself, so the name of a
    /// client that works on a task counts for nothing.
    pub fn trusts_with_calendars(&self, client: &str, origin: &Origin) -> bool {
        trusts(&self.config.assistant.trusted_clients, client, origin)
    }

    /// Asks the user about a change that `asker` wants, and makes it by `change` if the user allows it. The same
    /// question of the same asker is asked once, and is withdrawn when `withdrawn` is cancelled. A change that fails is
    /// shown with the question.
    pub async fn change_with_permission<T, E: Display>(
        self: Arc<Self>,
        asker: Asker,
        (title, message): (String, String),
        withdrawn: CancellationToken,
        change: impl Future<Output = Result<T, E>>,
    ) -> Result<Permission<Result<T, E>>, Error> {
        let key = format!("{ASKER_PREFIX}{}", asker.key);
        let option = |label: &str, value: &str| Choice { label: label.to_owned(), value: value.to_owned() };
        let options = vec![option("Allow", APPROVE), option("Deny", DENY)];
        let input = Input::Choice { options, min: 1, max: 1, other: false, list: false };
        let draft = Draft {
            title,
            message,
            fields: vec![Field::new("answer", input)],
            timeout: Some(QUESTION_TIMEOUT),
            denials: vec![DENY.to_owned()],
            ..Draft::default()
        };
        let owner = Asker { key: key.clone(), client: asker.client, ..Asker::default() };
        self.earlier_questions.calendar_changes.withdraw(&self.questions).await?;
        let ticket = self.questions.ask(owner, draft).await?.ticket;
        let outcome = loop {
            // The user may snooze the question, which then lasts longer.
            let state = tokio::select! {
                state = self.questions.wait(&ticket, QUESTION_TIMEOUT) => state?,
                () = withdrawn.cancelled() => {
                    self.questions.withdraw_unapplied(&key, &ticket, "the call was cancelled").await?;
                    return Ok(Permission::Withdrawn);
                }
            };
            if let Some(outcome) = state.outcome() {
                break outcome.clone();
            }
        };
        let chosen = outcome.answer.as_ref().and_then(|answer| answer.get("answer")).map(FieldValue::text);
        let allowed = outcome.kind == OutcomeKind::Answered && chosen.as_deref() == Some(APPROVE);
        if allowed && outcome.by == DecidedBy::User {
            // Calls in the same words wait for one question, and the user allows one change.
            if !lock(&self.allowed_changes).insert(ticket.clone()) {
                return Ok(Permission::Used);
            }
            let changed = change.await;
            // Recorded after the change: the next hub reports an outcome without a record.
            match &changed {
                Ok(_) => drop(self.questions.mark_delivered(&key, &ticket).await),
                Err(error) => {
                    self.questions.withdraw_unapplied(&key, &ticket, &error.to_string()).await?;
                }
            }
            return Ok(Permission::Granted(changed));
        }
        self.questions.mark_delivered(&key, &ticket).await;
        Ok(match outcome.kind {
            OutcomeKind::TimedOut | OutcomeKind::Cancelled | OutcomeKind::ClientGone => Permission::Expired,
            OutcomeKind::Answered | OutcomeKind::Declined | OutcomeKind::Dismissed => {
                Permission::Denied(outcome.note)
            }
        })
    }
}

fn trusts(trusted: &[String], client: &str, origin: &Origin) -> bool {
    *origin == Origin::Outside && trusted.iter().any(|name| name == client)
}

#[cfg(test)]
mod tests {
    use super::trusts;
    use adjutant_agents::{Origin, TaskId};

    #[test]
    fn a_client_is_trusted_by_its_whole_name_and_never_within_a_task() {
        let trusted = ["editor".to_owned()];
        let outside = |client: &str| trusts(&trusted, client, &Origin::Outside);
        assert!(outside("editor"));
        for other in ["editor2", "edit", "", "Editor"] {
            assert!(!outside(other), "{other}");
        }
        for origin in [Origin::Exited, Origin::Task(TaskId::new().unwrap())] {
            assert!(!trusts(&trusted, "editor", &origin), "{origin:?}");
        }
    }
}
