//! What would be told in the days to come: the planner on a virtual clock, before anything is sent.

use jiff::Timestamp;

use super::agenda::{Happening, Span};
use super::notification::{Channel, Planned, Reason};
use super::planner::{self, Situation};
use super::planning::HORIZON;
use super::{Assistant, Error, Rule, User};

/// Occurrences of one stretch of the virtual clock at most.
const MOST: u32 = 5000;

/// What would be told about one occurrence.
#[derive(Clone, Debug)]
pub(crate) struct Foreseen {
    pub(crate) happening: Happening,
    pub(crate) notifications: Vec<Planned>,
    pub(crate) reasons: Vec<Reason>,
}

impl Assistant {
    /// Plays what starts between `from` and `until` for a user: every occurrence is decided when the planner would
    /// first see it, with nothing told before. Nothing is kept. Says as well whether there was more than one stretch
    /// holds.
    pub(crate) async fn foresee(
        &self,
        user: &User,
        rules: &[Rule],
        from: Timestamp,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(Vec<Foreseen>, bool), Error> {
        let span = Span { user: Some(user.id.clone()), from, until };
        let (happenings, more) = self.happenings(&span, MOST).await?;
        let foreseen = happenings.into_iter().map(|happening| {
            let seen = happening.occurrence.starts_at.saturating_sub(HORIZON).unwrap_or(now).max(now);
            let decision = planner::plan(&Situation {
                user,
                event: &happening.event,
                occurrence: &happening.occurrence,
                rules,
                history: &[],
                channels: Channel::ALL,
                now: seen,
            });
            Foreseen { happening, notifications: decision.notifications, reasons: decision.reasons }
        });
        Ok((foreseen.collect(), more))
    }
}
