//! Whoever the configuration names is asked what to tell before an event; the assistant's room decides.
//!
//! A proposal goes through its schema and the verifier, whoever made it. Where nobody proposes anything that can be
//! used, the policy plans, and the plan says why. The client's own model may answer by a second call: until it does,
//! the policy's plan stands.

mod round;
mod rounds;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::App;
use crate::agents::Agents;
use crate::assistant::notification::PlanSource;
use crate::assistant::planner::proposal::{self, Fault};
use crate::assistant::planning::{Advice, Heard, Inquiry, Planning, Which};
use crate::assistant::{Assistant, Error, EventId, UserId};
use crate::config::assistant::AssistantConfig;
use round::Round;
pub(crate) use rounds::{Asked, Dialogues, Rounds, resumed};

/// Questions that are under way at once.
const AT_ONCE: usize = 4;

/// Asks the client's model: instructions, and what was said by turns, ours first. The error is a sentence fragment.
pub(crate) type Sampler =
    Arc<dyn Fn(String, Vec<String>) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Who may be asked.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) config: &'a AssistantConfig,
    /// Where this process runs tasks.
    pub(crate) agents: Option<&'a Agents>,
    pub(crate) client: &'a Client,
    /// Nobody wants the plan any more.
    pub(crate) cancelled: &'a CancellationToken,
}

/// The client that plans, and the ways to its model.
#[derive(Clone, Default)]
pub(crate) struct Client {
    /// It may answer questions by a second call.
    pub(crate) answers: bool,
    pub(crate) sampling: Sampling,
}

/// How a client's model is asked by sampling.
#[derive(Clone, Default)]
pub(crate) enum Sampling {
    /// The client has not declared it.
    #[default]
    None,
    /// By a request of ours, while its call waits.
    Waits(Sampler),
    /// By the answer to its call, after which it calls again: see [`resumed`].
    InRounds,
}

/// What planning did, and what is asked of the client.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    pub(crate) planning: Planning,
    /// Questions for the client's model.
    pub(crate) inquiries: Vec<Inquiry>,
    /// Occurrences that nobody was asked about, for one call asks about so many.
    pub(crate) unasked: usize,
    /// The client's model is asked before there is an answer; until then the policy's plan stands.
    pub(crate) rounds: Option<Rounds>,
}

/// A client's answer that cannot be used.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The question that it is about, as the client wrote it.
    pub(crate) id: String,
    pub(crate) why: Why,
}

/// Why an answer cannot be used.
#[derive(Debug)]
pub(crate) enum Why {
    /// It does not keep the schema.
    Faults(Vec<Fault>),
    /// The question is not asked, or not any more: the event, the preferences or the rules have changed.
    Stale,
}

impl App {
    /// Plans what a user is told, as [`plan`] does, in a process that runs tasks.
    pub(crate) async fn plan(
        &self,
        client: &Client,
        cancelled: &CancellationToken,
        (user, event): (&UserId, Option<&EventId>),
        force: bool,
    ) -> Result<Option<Planned>, Error> {
        let asking = Asking { config: &self.config.assistant, agents: Some(&self.agents), client, cancelled };
        plan(&self.assistant, asking, (user, event), force, Timestamp::now()).await
    }
}

/// Plans what a user is told about the coming 30 days, or about one event of theirs. `force` decides anew what is
/// planned already. `None` when the call was taken back, and then nothing has changed.
pub(crate) async fn plan(
    room: &Assistant,
    asking: Asking<'_>,
    (user, event): (&UserId, Option<&EventId>),
    force: bool,
    now: Timestamp,
) -> Result<Option<Planned>, Error> {
    let config = asking.config;
    let which = match (force, config.advisers.is_empty()) {
        (true, _) => Which::All,
        (false, true) => Which::Unplanned,
        (false, false) => Which::Unadvised,
    };
    let outline = room.outline(user, event, which, now).await?;
    if config.advisers.is_empty() {
        let planning = room.settle(outline, HashMap::new()).await?;
        return Ok(Some(Planned { planning, ..Planned::default() }));
    }
    let started = Instant::now();
    let (inquiries, unasked) = outline.inquiries(config.questions);
    let round = Round::new(asking);
    let asked: Vec<_> = inquiries.iter().map(|inquiry| round.about(&inquiry.question)).collect();
    let heard: Vec<_> = futures::stream::iter(asked).buffered(AT_ONCE).collect().await;
    if asking.cancelled.is_cancelled() {
        return Ok(None);
    }
    let mut advice = HashMap::new();
    let mut for_client = Vec::new();
    let mut dialogues = Dialogues { unasked, ..Dialogues::default() };
    for (inquiry, heard) in inquiries.into_iter().zip(heard) {
        advice.insert(inquiry.id.clone(), heard.advice);
        if let Some(dialogue) = heard.in_rounds {
            dialogues.of.insert(inquiry.id, dialogue);
        } else if heard.handed_out {
            for_client.push(inquiry);
        }
    }
    // An event may have moved, and a notification gone out, while somebody thought about it.
    let later = now.saturating_add(started.elapsed()).unwrap_or(now);
    let outline = room.outline(user, event, which, later).await?;
    let asked = dialogues.questions(&outline);
    let planning = room.settle(outline, advice).await?;
    (dialogues.planned, dialogues.superseded) = (planning.planned, planning.superseded);
    let rounds = (!asked.is_empty()).then_some(Rounds { asked, dialogues });
    Ok(Some(Planned { planning, inquiries: for_client, unasked, rounds }))
}

/// Takes what a client's model answered to questions of [`plan`]: each by the question's id, and the answer as text.
/// Only what is about these is planned.
pub(crate) async fn answered(
    room: &Assistant,
    (user, event): (&UserId, Option<&EventId>),
    answers: Vec<(String, String)>,
    now: Timestamp,
) -> Result<(Planning, Vec<Refused>), Error> {
    let mut outline = room.outline(user, event, Which::All, now).await?;
    let mut refused = Vec::new();
    let mut advice = HashMap::new();
    for (id, answer) in answers {
        match proposal::read(&answer) {
            Err(faults) => refused.push(Refused { id, why: Why::Faults(faults) }),
            Ok(_) if !outline.knows(&id) => refused.push(Refused { id, why: Why::Stale }),
            Ok(proposal) => {
                let proposal = Some((PlanSource::Client, proposal));
                let heard = Advice { proposal, heard: Heard::Somebody, ..Advice::default() };
                // The first of several answers to one question counts.
                advice.entry(id).or_insert(heard);
            }
        }
    }
    outline.only(|id| advice.contains_key(id));
    let planning = room.settle(outline, advice).await?;
    Ok((planning, refused))
}
