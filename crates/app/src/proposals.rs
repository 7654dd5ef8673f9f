//! Planning with the configured providers of proposals; the assistant verifies every proposal.
//!
//! Where no provider makes a usable proposal, the default policy plans, and the plan says why. The client's own model
//! may answer by a second call; until then the plan of the policy is in force.

mod client_dialogue;
mod provider_chain;
mod providers;

use std::collections::HashMap;
use std::time::Instant;

use futures::StreamExt as _;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::App;
use adjutant_assistant::notification::PlanSource;
use adjutant_assistant::planner::proposal::{self, SchemaViolation};
use adjutant_assistant::plans::{Advice, ModelQuery, PlanReport, PlanScope, ProviderResponse};
use adjutant_assistant::{Assistant, Error, EventId, UserId};
pub use client_dialogue::{DialogueQuestion, DialogueRound, Dialogues};
use provider_chain::ProviderChain;
pub use providers::{Client, Providers, Sampling};

/// Maximum number of queries at once.
const MAX_CONCURRENT_QUERIES: usize = 4;

/// The result of planning, with the queries for the client.
#[derive(Debug, Default)]
pub struct PlanResult {
    pub planning: PlanReport,
    /// Queries for the client's model.
    pub model_queries: Vec<ModelQuery>,
    /// The number of occurrences that no model was asked about, because a call asks about a limited number.
    pub unasked: usize,
    /// The questions for the client's model in this call; until it answers, the policy's plan is in force.
    pub rounds: Option<DialogueRound>,
}

/// A client's answer that cannot be used.
#[derive(Debug)]
pub struct RejectedAnswer {
    /// The id of the query, as the client wrote it.
    pub id: String,
    pub reason: RejectReason,
}

/// Why an answer cannot be used.
#[derive(Debug)]
pub enum RejectReason {
    /// It does not follow the schema.
    Violations(Vec<SchemaViolation>),
    /// The question is not open: the event, the preferences or the rules may have changed.
    Stale,
}

impl App {
    /// Plans the notifications of a user, as [`plan`] does, in a process that runs tasks.
    pub async fn plan(
        &self,
        client: &Client,
        cancelled: &CancellationToken,
        (user, event): (&UserId, Option<&EventId>),
        force: bool,
    ) -> Result<Option<PlanResult>, Error> {
        let providers =
            Providers { config: &self.config.assistant, agents: Some(&self.agents), client, cancelled };
        plan(&self.assistant, providers, (user, event), force, Timestamp::now()).await
    }
}

/// Plans a user's notifications for the coming 30 days, or for one event. `force` decides anew what is planned already.
/// `None` when the call was cancelled, and then nothing has changed.
pub async fn plan(
    assistant: &Assistant,
    providers: Providers<'_>,
    (user, event): (&UserId, Option<&EventId>),
    force: bool,
    now: Timestamp,
) -> Result<Option<PlanResult>, Error> {
    let config = providers.config;
    let scope = match (force, config.advisers.is_empty()) {
        (true, _) => PlanScope::All,
        (false, true) => PlanScope::Unplanned,
        (false, false) => PlanScope::UnplannedOrPolicy,
    };
    let input = assistant.plan_input(user, event, scope, now).await?;
    if config.advisers.is_empty() {
        let planning = assistant.store_plans(input, HashMap::new()).await?;
        return Ok(Some(PlanResult { planning, ..PlanResult::default() }));
    }
    let started = Instant::now();
    let (model_queries, unasked) = input.model_queries(config.max_events_asked);
    let chain = ProviderChain::new(providers);
    let asked: Vec<_> = model_queries.iter().map(|model_query| chain.about(&model_query.prompt)).collect();
    let results: Vec<_> = futures::stream::iter(asked).buffered(MAX_CONCURRENT_QUERIES).collect().await;
    if providers.cancelled.is_cancelled() {
        return Ok(None);
    }
    let mut advice = HashMap::new();
    let mut for_client = Vec::new();
    let mut dialogues = Dialogues { unasked, ..Dialogues::default() };
    for (model_query, result) in model_queries.into_iter().zip(results) {
        advice.insert(model_query.id.clone(), result.advice);
        if let Some(dialogue) = result.dialogue {
            dialogues.by_query.insert(model_query.id, dialogue);
        } else if result.answered_by_client {
            for_client.push(model_query);
        }
    }
    // While the models answered, an event may have moved or a notification may have been sent.
    let later = now.saturating_add(started.elapsed()).unwrap_or(now);
    let input = assistant.plan_input(user, event, scope, later).await?;
    let questions = dialogues.questions(&input);
    let planning = assistant.store_plans(input, advice).await?;
    (dialogues.planned, dialogues.superseded) = (planning.planned, planning.superseded);
    let rounds = (!questions.is_empty()).then_some(DialogueRound { questions, dialogues });
    Ok(Some(PlanResult { planning, model_queries: for_client, unasked, rounds }))
}

/// Resumes the dialogues that [`plan`] began. `reply` returns the answer of the client's model to the question with a
/// key. A question without a reply is asked again; when all dialogues have ended, their proposals are planned.
pub async fn resume(
    assistant: &Assistant,
    (user, event): (&UserId, Option<&EventId>),
    mut dialogues: Dialogues,
    reply: impl Fn(&str) -> Option<String>,
    now: Timestamp,
) -> Result<PlanResult, Error> {
    dialogues.record_replies(reply);
    // The plans of the first round are the policy's, so the occurrences of the dialogues can be planned again.
    let input = assistant.plan_input(user, event, PlanScope::UnplannedOrPolicy, now).await?;
    let questions = dialogues.questions(&input);
    if !questions.is_empty() {
        return Ok(PlanResult {
            rounds: Some(DialogueRound { questions, dialogues }),
            ..PlanResult::default()
        });
    }
    let (planned, superseded, unasked) = (dialogues.planned, dialogues.superseded, dialogues.unasked);
    let mut planning = assistant.store_plans(input, dialogues.into_advice()).await?;
    planning.planned += planned;
    planning.superseded += superseded;
    Ok(PlanResult { planning, unasked, ..PlanResult::default() })
}

/// Plans by the answers of a client's model to the queries of [`plan`]: each is the id of a query, and the answer as
/// text. Only the occurrences of these queries are planned.
pub async fn apply_answers(
    assistant: &Assistant,
    (user, event): (&UserId, Option<&EventId>),
    answers: Vec<(String, String)>,
    now: Timestamp,
) -> Result<(PlanReport, Vec<RejectedAnswer>), Error> {
    let mut input = assistant.plan_input(user, event, PlanScope::All, now).await?;
    let mut rejected = Vec::new();
    let mut advice = HashMap::new();
    for (id, answer) in answers {
        match proposal::read(&answer) {
            Err(violations) => {
                rejected.push(RejectedAnswer { id, reason: RejectReason::Violations(violations) });
            }
            Ok(_) if !input.contains(&id) => {
                rejected.push(RejectedAnswer { id, reason: RejectReason::Stale });
            }
            Ok(proposal) => {
                let proposal = Some((PlanSource::Client, proposal));
                let advised = Advice { proposal, response: ProviderResponse::Answered, ..Advice::default() };
                // The first of several answers to one question counts.
                advice.entry(id).or_insert(advised);
            }
        }
    }
    input.retain(|id| advice.contains_key(id));
    let planning = assistant.store_plans(input, advice).await?;
    Ok((planning, rejected))
}
