//! What is about to be planned, read from the store at once.

use std::collections::HashMap;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::{HORIZON, MOST, Planning, Remark, Which, situation};
use crate::assistant::agenda::{Happening, Span, hex};
use crate::assistant::event::EventStatus;
use crate::assistant::notification::{Notification, PlanSource};
use crate::assistant::planner::prompt::{Question, question};
use crate::assistant::planner::{self, Situation};
use crate::assistant::rows::{self, json, millis};
use crate::assistant::{Assistant, Error, Event, EventId, Occurrence, Rule, User, UserId};
use crate::store::assistant::{notifications, plans};

/// What is about to be planned: all that the store knows about it, before anything is decided.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    pub(super) user: User,
    rules: Vec<Rule>,
    pub(super) open: Vec<Open>,
    pub(super) which: Which,
    pub(super) now: Timestamp,
    /// What is known of the outcome already.
    pub(super) planning: Planning,
}

/// One occurrence that is to be decided.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) happening: Happening,
    pub(super) history: Vec<Notification>,
    pub(super) key: String,
    /// A plan of the same key stands.
    pub(super) stands: bool,
}

/// An occurrence that somebody may be asked about.
#[derive(Clone, Debug)]
pub(crate) struct Inquiry {
    /// Where it stands in the outline.
    pub(crate) place: usize,
    /// Another one once the event, the preferences or the rules change.
    pub(crate) id: String,
    pub(crate) event: EventId,
    pub(crate) title: String,
    pub(crate) occurrence: String,
    pub(crate) question: Question,
}

impl Outline {
    /// Returns the places of what somebody may be asked about, the nearest first.
    pub(crate) fn askable(&self) -> Vec<usize> {
        let open = self.open.iter().enumerate();
        open.filter(|(_, open)| planner::is_open(&self.situation(open))).map(|(place, _)| place).collect()
    }

    /// Puts an occurrence into words for whoever is asked about it; `None` for a place that is none.
    pub(crate) fn inquiry(&self, place: usize) -> Option<Inquiry> {
        let open = self.open.get(place)?;
        let Happening { event, occurrence } = &open.happening;
        Some(Inquiry {
            place,
            id: open.id().to_owned(),
            event: event.id.clone(),
            title: event.title.clone(),
            occurrence: occurrence.key.clone(),
            question: question(&self.situation(open)),
        })
    }

    /// How many occurrences are to be decided.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Leaves the occurrences of these inquiries alone, in the order in which they stand.
    pub(crate) fn only(&mut self, ids: &[&str]) {
        self.open.retain(|open| ids.contains(&open.id()));
        let processed = self.open.len() as u64;
        self.planning = Planning { processed, ..Planning::default() };
    }

    /// The inquiries that an outline is left with after [`Self::only`].
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.open.iter().map(Open::id)
    }

    pub(super) fn situation<'a>(&'a self, open: &'a Open) -> Situation<'a> {
        situation(&self.user, &self.rules, &open.happening, &open.history, self.now)
    }
}

impl Open {
    /// So much of the key as tells it from others, and as a model can repeat.
    fn id(&self) -> &str {
        self.key.get(..16).unwrap_or(&self.key)
    }
}

impl Assistant {
    /// Reads what is to be planned.
    pub(crate) async fn outline(
        &self,
        user: &UserId,
        event: Option<&EventId>,
        which: Which,
        now: Timestamp,
    ) -> Result<Outline, Error> {
        let user = self.user(user).await?;
        let until = now.saturating_add(HORIZON).unwrap_or(Timestamp::MAX);
        let (happenings, more) = if let Some(id) = event {
            let event = self.event(id).await?;
            if event.user != user.id {
                return Err(Error::Unknown { what: "event", id: id.to_string() });
            }
            let occurrences = self.occurrences(id, now, until, MOST).await?;
            let happening = |occurrence| Happening { event: event.clone(), occurrence };
            (occurrences.into_iter().map(happening).collect(), false)
        } else {
            let span = Span { user: Some(user.id.clone()), from: now, until };
            self.happenings(&span, MOST).await?
        };
        let rules = self.rules(&user.id).await?.into_iter().filter(|rule| rule.enabled).collect::<Vec<_>>();
        let (from, to) = (millis(now), millis(until));
        let standing: HashMap<(String, String), (String, String)> =
            plans::keys(&self.store, user.id.as_str(), from, to)
                .await?
                .into_iter()
                .map(|(event, occurrence, key, source)| ((event, occurrence), (key, source)))
                .collect();
        let mut history: HashMap<(String, String), Vec<Notification>> = HashMap::new();
        for row in notifications::history(&self.store, user.id.as_str(), from, to).await? {
            let slot = history.entry((row.event_id.clone(), row.occurrence.clone())).or_default();
            slot.push(rows::notification(row)?);
        }

        let mut planning = Planning { more, ..Planning::default() };
        let mut open = Vec::new();
        for happening in happenings {
            planning.processed += 1;
            let status = happening.event.status;
            if status != EventStatus::Confirmed {
                let why = format!("the event is {}", status.name());
                planning.skipped.push(Remark::new(&happening, why));
                continue;
            }
            let place = (happening.event.id.as_str().to_owned(), happening.occurrence.key.clone());
            let key = plan_key(&user, &happening.event, &happening.occurrence);
            let history = history.remove(&place).unwrap_or_default();
            let source =
                standing.get(&place).filter(|(standing, _)| *standing == key).map(|(_, source)| source);
            let stays = match which {
                Which::Unplanned => source.is_some(),
                Which::Unadvised => source.is_some_and(|source| source != PlanSource::Policy.name()),
                Which::All => false,
            };
            let one = Open { happening, history, key, stands: source.is_some() };
            if stays { planning.leave(&one) } else { open.push(one) }
        }
        Ok(Outline { user, rules, open, which, now, planning })
    }
}

/// The same key is the same plan: it holds all that [`planner::plan`] looks at but the time.
pub(super) fn plan_key(user: &User, event: &Event, occurrence: &Occurrence) -> String {
    let parts = (
        planner::POLICY,
        user.id.as_str(),
        user.revision,
        event.digest.as_str(),
        occurrence.key.as_str(),
        millis(occurrence.starts_at),
    );
    hex(&Sha256::digest(json(&parts)))
}
