//! Asking a question: validated, stored, and joined with an identical one.

use std::time::Duration;

use super::Questions;
use super::availability::Availability;
use super::deduplication::fingerprint;
use super::error::Error;
use super::question::{AskResult, Asker, Draft, Ticket};
use super::{rows, validate};
use adjutant_store::questions;

impl Questions {
    /// Enters a question: when this returns it is on disk and shown. An identical pending question (same agent,
    /// workspace and words) is joined; so is the undelivered answer to one, which its asker gets once.
    pub async fn ask(&self, asker: Asker, draft: Draft) -> Result<AskResult, Error> {
        let draft = validate::check(draft, &self.settings)?;
        let now = self.clock.now();
        let timeout = draft.timeout.unwrap_or(self.settings.timeout);
        let timeout = timeout.clamp(Duration::from_secs(1), self.settings.max_timeout);
        let ticket = Ticket::new().map_err(|_| Error::Random)?;
        let not_now = match self.availability().await? {
            Availability::Here => None,
            other => Some(other),
        };
        let new = questions::NewQuestion {
            id: ticket.to_string(),
            fingerprint: fingerprint(&asker, &draft),
            asker: asker.key,
            client: asker.client,
            session: asker.session,
            stream: asker.route.stream,
            request: asker.route.request,
            workspace: draft.workspace,
            title: draft.title,
            level: draft.level.as_str().to_owned(),
            message: draft.message,
            form: rows::form(&draft.fields, draft.default.as_ref()),
            asked_at: now,
            deadline: now.saturating_add(rows::millis(timeout)),
            default_after: draft.default.as_ref().map(|default| rows::millis(default.after)),
        };
        let request = new.request.clone();
        let limits = questions::Limits {
            each_asker: self.settings.pending_per_client,
            total: self.settings.pending,
            attach_only: not_now.is_some(),
        };
        let entered = questions::ask(&self.store, new, limits).await?;
        let (id, merged) = match entered {
            questions::Asked::New { id } => {
                self.traces.remember(&id);
                (id, false)
            }
            questions::Asked::Joined { id } => (id, true),
            questions::Asked::Closed => return Err(Error::NotNow(not_now.unwrap_or_default())),
            questions::Asked::Full { pending, own } => return Err(Error::TooMany { pending, own }),
            questions::Asked::SameRequest => return Err(Error::SameRequest { request }),
        };
        self.notify_changed(&id);
        self.wake.notify_one();
        let question = self.question(&id).await?;
        Ok(AskResult { ticket: question.ticket, merged, state: question.state })
    }
}
