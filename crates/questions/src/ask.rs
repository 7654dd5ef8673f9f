//! Asking a question: it is validated, then stored or joined with an identical question.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::Questions;
use super::availability::Availability;
use super::deduplication::fingerprint;
use super::error::Error;
use super::question::{AskResult, Asker, Draft, Ticket};
use super::rows;
use super::validate::{self, check_addressee};
use adjutant_store::{Millis, questions};

/// Time that a repeated question waits for an outcome that is on its way, and for a session that may return.
const MAX_DELIVERY: Duration = Duration::from_secs(6);

/// Interval at which a repeated question is checked again meanwhile.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum checks that see the session of an identical question connected. The end of a killed process may be noticed
/// after its successor asks; two living sessions that ask the same in one place wait this long.
const MAX_CHECKS: u32 = 10;

impl Questions {
    /// Asks a question, which is on disk and shown when this returns. Joins an identical question of the same asker
    /// that is open or has an undelivered outcome; a delivered outcome is never used again. An identical question of
    /// an ended session in the same place passes to this asker.
    pub async fn ask(&self, asker: Asker, draft: Draft) -> Result<AskResult, Error> {
        self.ask_in_call(asker, draft, &CancellationToken::new()).await
    }

    /// Asks as [`Self::ask`] for a call of a client, and fails with [`Error::Cancelled`] if the call is cancelled before
    /// the question is stored. A call that has ended must not take a question that a later session asks too.
    pub async fn ask_in_call(
        &self,
        asker: Asker,
        draft: Draft,
        cancelled: &CancellationToken,
    ) -> Result<AskResult, Error> {
        let mut draft = validate::check(draft, &self.core.settings)?;
        check_addressee(&draft.addressee, &self.core.settings)?;
        if draft.addressee.is_empty() {
            self.addressee_of(&draft.workspace).clone_into(&mut draft.addressee);
        }
        let now = self.core.clock.now();
        let timeout = draft.timeout.unwrap_or(self.core.settings.timeout);
        let timeout = timeout.clamp(Duration::from_secs(1), self.core.settings.max_timeout);
        let ticket = Ticket::new().map_err(|_| Error::Random)?;
        let not_now = match self.availability().await? {
            Availability::Here => None,
            other => Some(other),
        };
        let new = questions::NewQuestion {
            id: ticket.to_string(),
            fingerprint: fingerprint(self.core.store.machine(), &asker, &draft),
            form: rows::form(&draft),
            asker: asker.key,
            continues: !asker.place.is_empty(),
            client: asker.client,
            session: asker.session,
            stream: asker.route.stream,
            request: asker.route.request,
            workspace: draft.workspace,
            title: draft.title,
            level: draft.level.name().to_owned(),
            message: draft.message,
            asked_at: now,
            deadline: now.saturating_add(rows::millis(timeout)),
            default_after: draft.default.as_ref().map(|default| rows::millis(default.after)),
            addressee: draft.addressee,
        };
        let limits = questions::Limits {
            each_asker: self.core.settings.pending_per_client,
            total: self.core.settings.pending,
            attach_only: not_now.is_some(),
        };
        let (id, merged) = match self.enter(&new, limits, cancelled).await? {
            questions::Asked::New { id } => {
                self.core.traces.remember(&id);
                (id, false)
            }
            questions::Asked::Joined { id } => (id, true),
            questions::Asked::Closed => return Err(Error::NotNow(not_now.unwrap_or_default())),
            questions::Asked::Full { pending, own } => return Err(Error::TooMany { pending, own }),
            questions::Asked::SameRequest => return Err(Error::SameRequest { request: new.request }),
        };
        self.notify_changed(&id);
        let question = self.question(&id).await?;
        self.wake_before(question.deadline);
        Ok(AskResult { ticket: question.ticket, merged, state: question.state })
    }

    /// Returns the user or group that the settings name for the questions of a workspace; empty for none.
    fn addressee_of(&self, workspace: &str) -> &str {
        let folders = self.core.settings.for_folders.iter();
        let around = folders.filter(|(folder, _)| Path::new(workspace).starts_with(folder));
        around.max_by_key(|(folder, _)| folder.components().count()).map_or("", |(_, addressee)| addressee)
    }

    /// Inserts a question in the store, after at most [`MAX_DELIVERY`]. While an identical question's outcome is on its
    /// way to an asker, the insert waits, so that the outcome is not used again. While the session of that question's
    /// asker may return after a restart of the hub, or may have ended without notice, the insert waits too; if the
    /// session has ended, the question passes to this asker.
    async fn enter(
        &self,
        new: &questions::NewQuestion,
        limits: questions::Limits,
        cancelled: &CancellationToken,
    ) -> Result<questions::Asked, Error> {
        let mut new = new.clone();
        let end = Instant::now() + MAX_DELIVERY;
        let mut connected_checks = 0;
        while !cancelled.is_cancelled()
            && let Some((id, asker, ends_at)) = questions::identical(&self.core.store, &new).await?
        {
            let mut changes = self.core.waiters.subscribe(&id);
            new.asked_at = self.core.clock.now();
            connected_checks += u32::from(ends_at == Millis::MAX);
            let may_end = asker != new.asker && ends_at > new.asked_at && connected_checks <= MAX_CHECKS;
            let left = end.saturating_duration_since(Instant::now());
            if !may_end && !self.core.claims.has(&id) || left.is_zero() {
                break;
            }
            // The claim is checked again, also after the counter was closed; nothing notifies of a session's return.
            let pause = tokio::time::timeout(left.min(CHECK_INTERVAL), changes.changed());
            let _ = cancelled.run_until_cancelled(pause).await;
        }
        if cancelled.is_cancelled() {
            return Err(Error::Cancelled);
        }
        Ok(questions::ask(&self.core.store, new, limits).await?)
    }
}
