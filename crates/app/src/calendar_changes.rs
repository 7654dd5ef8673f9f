//! Permission of the user for a change of a calendar that a client wants: a question of the Inbox.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::App;
use adjutant_agents::Origin;
use adjutant_questions::{
    APPROVE, Asker, Choice, DecidedBy, Draft, Error, Field, FieldValue, Input, OutcomeKind,
};

/// How the keys of these askers begin, so that an answer is not appended to another result of the client.
const ASKER_PREFIX: &str = "calendar:";
/// How long the user may think about it.
const QUESTION_TIMEOUT: Duration = Duration::from_hours(1);
/// The values of the options.
const DENY: &str = "deny";

/// The user's decision about a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    Granted,
    /// The user allowed it once, and another call in the same words makes the change.
    Used,
    /// The user does not want it; they may say why.
    Denied(Option<String>),
    /// There is no decision yet; asking again waits for the same question.
    Pending,
    /// Nobody decided in time.
    Expired,
    /// The call was cancelled, or its client has gone; nobody would make the change.
    Withdrawn,
}

impl App {
    /// Returns whether a client changes calendars without a question. A client chooses its name itself, so the name of a
    /// client that works on a task counts for nothing.
    pub fn trusts_with_calendars(&self, client: &str, origin: &Origin) -> bool {
        trusts(&self.config.assistant.trusted_clients, client, origin)
    }

    /// Asks the user about a change that `asker` wants, and waits for the decision for at most `limit`. The same question
    /// of the same asker is asked once, and withdrawn when `cancelled` is.
    pub async fn permission(
        &self,
        asker: &Asker,
        title: String,
        message: String,
        limit: Duration,
        cancelled: &CancellationToken,
    ) -> Result<Permission, Error> {
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
        let owner = Asker { key: key.clone(), client: asker.client.clone(), ..Asker::default() };
        let ticket = self.questions.ask(owner, draft).await?.ticket;
        let state = tokio::select! {
            state = self.questions.wait(&ticket, limit) => state?,
            () = cancelled.cancelled() => {
                self.questions.withdraw_unapplied(&key, &ticket, "the call was cancelled").await?;
                return Ok(Permission::Withdrawn);
            }
        };
        let Some(outcome) = state.outcome() else { return Ok(Permission::Pending) };
        // Calls in the same words wait for one question, and the user allows one change.
        let first = self.questions.mark_delivered(&key, &ticket).await;
        let chosen = outcome.answer.as_ref().and_then(|answer| answer.get("answer")).map(FieldValue::text);
        Ok(match (outcome.kind, chosen.as_deref()) {
            (OutcomeKind::Answered, Some(APPROVE)) if outcome.by == DecidedBy::User && first => {
                Permission::Granted
            }
            (OutcomeKind::Answered, Some(APPROVE)) if outcome.by == DecidedBy::User => Permission::Used,
            (OutcomeKind::TimedOut | OutcomeKind::Cancelled | OutcomeKind::ClientGone, _) => {
                Permission::Expired
            }
            (OutcomeKind::Answered | OutcomeKind::Declined | OutcomeKind::Dismissed, _) => {
                Permission::Denied(outcome.note.clone())
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
