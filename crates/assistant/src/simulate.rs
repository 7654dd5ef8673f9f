//! Simulation of the coming days: the planner on a virtual clock, with nothing sent or stored.

use jiff::Timestamp;

use super::events::{EventOccurrence, Span};
use super::notification::{Channel, Planned, Reason};
use super::planner::{self, Situation};
use super::plans::HORIZON;
use super::{Assistant, Error, Rule, User};

/// Occurrences of one stretch of the virtual clock at most.
const MAX_OCCURRENCES: u32 = 5000;

/// The notifications that one occurrence would get.
#[derive(Clone, Debug)]
pub struct SimulatedPlan {
    pub event_occurrence: EventOccurrence,
    pub notifications: Vec<Planned>,
    pub reasons: Vec<Reason>,
}

impl Assistant {
    /// Simulates the occurrences between `from` and `until` for a user: each is decided when the planner would first see
    /// it, with nothing sent before. Nothing is stored. Also returns whether some were left out.
    pub async fn simulate(
        &self,
        user: &User,
        rules: &[Rule],
        from: Timestamp,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(Vec<SimulatedPlan>, bool), Error> {
        let span = Span { user: Some(user.id.clone()), from, until };
        let (event_occurrences, more) = self.event_occurrences(&span, MAX_OCCURRENCES).await?;
        let simulated = event_occurrences.into_iter().map(|event_occurrence| {
            let seen = event_occurrence.occurrence.starts_at.saturating_sub(HORIZON).unwrap_or(now).max(now);
            let decision = planner::plan(&Situation {
                user,
                event: &event_occurrence.event,
                occurrence: &event_occurrence.occurrence,
                rules,
                history: &[],
                channels: Channel::ALL,
                now: seen,
            });
            SimulatedPlan {
                event_occurrence,
                notifications: decision.notifications,
                reasons: decision.reasons,
            }
        });
        Ok((simulated.collect(), more))
    }
}
