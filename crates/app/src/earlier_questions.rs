//! Questions that an earlier hub left, of calls that ended with it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;

use super::{App, approvals, calendar_changes, permissions};
use adjutant_questions::{Error, Questions};

/// Pause after an error of the store.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The questions of an earlier hub, by what they are about.
#[derive(Debug)]
pub(super) struct EarlierQuestions {
    pub(super) approvals: Withdrawal,
    pub(super) permissions: Withdrawal,
    pub(super) calendar_changes: Withdrawal,
}

impl Default for EarlierQuestions {
    fn default() -> Self {
        Self {
            approvals: Withdrawal::new(approvals::ASKER_PREFIX, approvals::HUB_ENDED),
            permissions: Withdrawal::new(permissions::ASKER_PREFIX, permissions::HUB_ENDED),
            calendar_changes: Withdrawal::new(calendar_changes::ASKER_PREFIX, calendar_changes::HUB_ENDED),
        }
    }
}

/// The withdrawal of the questions of askers whose keys begin alike, once in the life of a hub.
#[derive(Debug)]
pub(super) struct Withdrawal {
    prefix: &'static str,
    /// Why an answer to them has no effect.
    reason: &'static str,
    done: OnceCell<()>,
}

impl Withdrawal {
    const fn new(prefix: &'static str, reason: &'static str) -> Self {
        Self { prefix, reason, done: OnceCell::const_new() }
    }

    /// Withdraws the questions, if that is not done. It precedes the first question of this hub with such a key: a later
    /// withdrawal would take that one for an earlier hub's.
    pub(super) async fn withdraw(&self, questions: &Questions) -> Result<(), Error> {
        self.done.get_or_try_init(|| questions.withdraw_asked_by(self.prefix, self.reason)).await.copied()
    }
}

impl App {
    /// Withdraws the questions that an earlier hub left, also if the store fails at first.
    pub async fn withdraw_earlier_questions(self: Arc<Self>) {
        let EarlierQuestions { approvals, permissions, calendar_changes } = &*self.earlier_questions;
        for withdrawal in [approvals, permissions, calendar_changes] {
            while let Err(error) = withdrawal.withdraw(&self.questions).await {
                tracing::warn!(%error, "questions of the last hub could not be withdrawn yet");
                let pause = tokio::time::sleep(RETRY_INTERVAL);
                if self.shutdown.run_until_cancelled(pause).await.is_none() {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjutant_base::config::Database;
    use adjutant_base::config::questions::QuestionsConfig;
    use adjutant_base::events::Events;
    use adjutant_questions::{Asker, Choice, Draft, Field, Input, Ticket};
    use adjutant_store::Store;

    async fn ask(questions: &Questions, key: &str) -> Ticket {
        let asker = Asker { key: key.to_owned(), ..Asker::default() };
        let options = ["Yes", "No"].map(|label| Choice { label: label.to_owned(), value: label.to_owned() });
        let input = Input::Choice { options: options.to_vec(), min: 1, max: 1, other: false, list: false };
        let fields = vec![Field::new("answer", input)];
        let draft = Draft { title: "Deploy?".to_owned(), fields, ..Draft::default() };
        questions.ask(asker, draft).await.unwrap().ticket
    }

    async fn is_pending(questions: &Questions, ticket: &Ticket) -> bool {
        questions.get(ticket).await.unwrap().state.outcome().is_none()
    }

    #[tokio::test]
    async fn questions_of_the_earlier_hub_are_withdrawn_and_those_of_this_one_stay() {
        let store = Store::new(Database::Memory);
        let questions = || Questions::new(QuestionsConfig::default(), store.clone(), Events::new());
        let (earlier, now) = (questions(), questions());
        let left = ask(&earlier, "permission:a").await;
        let other = ask(&earlier, "socket:b").await;
        let withdrawal = Withdrawal::new(permissions::ASKER_PREFIX, permissions::HUB_ENDED);
        withdrawal.withdraw(&now).await.unwrap();
        let own = ask(&now, "permission:c").await;
        // The task of the hub may run after the first request.
        withdrawal.withdraw(&now).await.unwrap();
        assert!(!is_pending(&now, &left).await);
        assert!(is_pending(&now, &other).await && is_pending(&now, &own).await);
    }

    #[tokio::test]
    async fn a_withdrawal_that_the_store_refused_is_done_later() {
        let root = tempfile::tempdir().unwrap();
        let (folder, hidden) = (root.path().join("home"), root.path().join("hidden"));
        let path = folder.join("adjutant.db");
        let config = QuestionsConfig::default;
        let of = |store: Store| Questions::new(config(), store, Events::new());
        let store = Store::new(Database::File(path.clone()));
        let left = ask(&of(store.clone()), "codex:a").await;
        store.close().await;
        std::fs::rename(&folder, &hidden).unwrap();
        std::fs::write(&folder, "").unwrap();
        let now = of(Store::new(Database::File(path)));
        let withdrawal = Withdrawal::new(approvals::ASKER_PREFIX, approvals::HUB_ENDED);
        assert!(withdrawal.withdraw(&now).await.is_err());
        std::fs::remove_file(&folder).unwrap();
        std::fs::rename(&hidden, &folder).unwrap();
        withdrawal.withdraw(&now).await.unwrap();
        assert!(!is_pending(&now, &left).await);
    }
}
