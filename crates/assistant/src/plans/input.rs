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
    /// Another one once the event, the preferences or the rules change.
    pub(crate) id: String,
    pub(crate) event: EventId,
    pub(crate) title: String,
    pub(crate) occurrence: String,
    pub(crate) question: Question,
}

impl Outline {
    /// Puts what somebody may be asked about into words, the nearest first and at most so many, and says how many more
    /// there are.
    pub(crate) fn inquiries(&self, most: usize) -> (Vec<Inquiry>, usize) {
        let askable = self.open.iter().map(|open| (open, self.situation(open)));
        let mut askable = askable.filter(|(_, situation)| planner::is_open(situation));
        let inquiries =
            askable.by_ref().take(most).map(|(open, situation)| inquiry(open, &situation)).collect();
        (inquiries, askable.count())
    }

    /// Puts the inquiry of this id into words again; `None` once what it is about has changed.
    pub(crate) fn inquiry(&self, id: &str) -> Option<Inquiry> {
        let open = self.open.iter().find(|open| open.id() == id)?;
        let situation = self.situation(open);
        planner::is_open(&situation).then(|| inquiry(open, &situation))
    }

    /// Leaves the occurrences of these inquiries alone.
    pub(crate) fn only(&mut self, of: impl Fn(&str) -> bool) {
        self.open.retain(|open| of(open.id()));
        let processed = self.open.len() as u64;
        self.planning = Planning { processed, ..Planning::default() };
    }

    /// Tells whether an inquiry is about an occurrence as it is here.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.open.iter().any(|open| open.id() == id)
    }

    pub(super) fn situation<'a>(&'a self, open: &'a Open) -> Situation<'a> {
        situation(&self.user, &self.rules, &open.happening, &open.history, self.now)
    }
}

fn inquiry(open: &Open, situation: &Situation<'_>) -> Inquiry {
    Inquiry {
        id: open.id().to_owned(),
        event: situation.event.id.clone(),
        title: situation.event.title.clone(),
        occurrence: situation.occurrence.key.clone(),
        question: question(situation),
    }
}

impl Open {
    /// So much of the key as tells it from others, and as a model can repeat.
    pub(super) fn id(&self) -> &str {
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
