//! Chain of providers: asks each in the configured order, and records why one gave no proposal.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use super::client_dialogue::Dialogue;
use super::providers::{Providers, Sampler, Sampling};
use adjutant_agents as agents;
use adjutant_agents::Viewer;
use adjutant_assistant::notification::{PlanSource, Reason};
use adjutant_assistant::planner::answer_repair::{read_or_repair, violation_places};
use adjutant_assistant::planner::prompt::PlannerPrompt;
use adjutant_assistant::planner::proposal::{self, Proposal};
use adjutant_assistant::plans::{Advice, ProviderResponse};
use adjutant_base::config::assistant::{Adviser, Endpoint, Runner};
use adjutant_base::mutex::lock;
use adjutant_net::chat_completions;
use adjutant_net::chat_completions::Conversation;

/// The schema's name, for servers that want one.
const SCHEMA_NAME: &str = "reminders";
/// The name of the tasks of runners.
const TASK_NAME: &str = "notification planner";

/// The providers, which are asked in order until the planning timeout. One that cannot be reached is not asked again.
pub(super) struct ProviderChain<'a> {
    providers: Providers<'a>,
    until: Instant,
    unreachable: Mutex<HashMap<Adviser, String>>,
}

/// The result of one question.
#[derive(Debug, Default)]
pub(super) struct ChainResult {
    pub(super) advice: Advice,
    /// The client is to answer it by a second call.
    pub(super) answered_by_client: bool,
    /// The client's model is to answer it, in rounds of this call.
    pub(super) dialogue: Option<Dialogue>,
}

/// Why a provider gave no proposal; a sentence fragment without the provider's words.
enum NoProposal {
    /// The provider cannot be reached, or not now.
    Unreachable(String),
    /// The provider's answer is not a valid proposal.
    Unusable(String),
    /// The client is asked by the answer of this call.
    InputRequired,
}

/// A model that answers in turns.
#[derive(Clone, Copy)]
enum Model<'a> {
    Endpoint(&'a Endpoint),
    Client(&'a Sampler),
}

impl<'a> ProviderChain<'a> {
    pub(super) fn new(providers: Providers<'a>) -> Self {
        Self {
            providers,
            until: Instant::now() + providers.config.planning_timeout,
            unreachable: Mutex::default(),
        }
    }

    /// Asks the providers in order until one makes a proposal.
    pub(super) async fn about(&self, prompt: &PlannerPrompt) -> ChainResult {
        let mut outcome = ChainResult::default();
        for adviser in &self.providers.config.advisers {
            let source = source(*adviser);
            if *adviser == Adviser::Client && self.providers.client.answers {
                outcome.answered_by_client = true;
                return outcome.pending(source);
            }
            let known = lock(&self.unreachable).get(adviser).cloned();
            let response = match known {
                Some(why) => Err(NoProposal::Unreachable(why)),
                None => self.ask(*adviser, prompt).await,
            };
            let (why, response) = match response {
                Ok(proposal) => {
                    outcome.advice.proposal = Some((source, proposal));
                    outcome.advice.response = ProviderResponse::Answered;
                    return outcome;
                }
                Err(NoProposal::InputRequired) => {
                    outcome.dialogue = Some(Dialogue::new(outcome.advice.reasons.clone()));
                    return outcome.pending(source);
                }
                Err(NoProposal::Unusable(why)) => (why, ProviderResponse::Answered),
                Err(NoProposal::Unreachable(why)) => {
                    lock(&self.unreachable).insert(*adviser, why.clone());
                    (why, ProviderResponse::Unreachable)
                }
            };
            if outcome.advice.response != ProviderResponse::Answered {
                outcome.advice.response = response;
            }
            outcome.advice.reasons.push(Reason { by: source.name().to_owned(), why });
        }
        outcome
    }

    async fn ask(&self, adviser: Adviser, prompt: &PlannerPrompt) -> Result<Proposal, NoProposal> {
        let unreachable = |why: &str| Err(NoProposal::Unreachable(why.to_owned()));
        let (config, client) = (self.providers.config, self.providers.client);
        match adviser {
            Adviser::Endpoint => match &config.endpoint {
                Some(endpoint) => self.converse(Model::Endpoint(endpoint), prompt).await,
                None => unreachable("no endpoint is configured"),
            },
            Adviser::Runner => self.run(&config.runner, prompt).await,
            Adviser::Client => unreachable("this client cannot answer by a second call"),
            Adviser::Sampling => match &client.sampling {
                Sampling::Direct(sampler) => self.converse(Model::Client(sampler), prompt).await,
                Sampling::InputRequired => Err(NoProposal::InputRequired),
                Sampling::None => unreachable("this client has not declared sampling"),
            },
        }
    }

    /// Exchanges turns with a model until its answer follows the schema, or was corrected often enough.
    async fn converse(&self, model: Model<'_>, prompt: &PlannerPrompt) -> Result<Proposal, NoProposal> {
        let system = prompt.instructions();
        let mut turns = vec![prompt.user.clone()];
        loop {
            let answer = tokio::select! {
                answer = self.next_answer(model, &system, &turns, prompt) => answer.map_err(NoProposal::Unreachable)?,
                () = self.providers.cancelled.cancelled() => return Err(NoProposal::Unreachable("the call was cancelled".to_owned())),
            };
            if let Some(proposal) = read_or_repair(&mut turns, &answer).map_err(NoProposal::Unusable)? {
                return Ok(proposal);
            }
        }
    }

    async fn next_answer(
        &self,
        model: Model<'_>,
        system: &str,
        turns: &[String],
        prompt: &PlannerPrompt,
    ) -> Result<String, String> {
        let left = self.left()?;
        match model {
            Model::Endpoint(endpoint) => {
                let timeout = endpoint.timeout.min(left);
                let talk = Conversation { system, turns, schema: (SCHEMA_NAME, prompt.schema), timeout };
                chat_completions::complete(endpoint, talk).await.map_err(|error| error.to_string())
            }
            Model::Client(sampler) => {
                let said = sampler(system.to_owned(), turns.to_vec());
                let late = || format!("it did not answer within {} s", seconds(left));
                tokio::time::timeout(left, said).await.map_err(|_| late())?
            }
        }
    }

    /// Asks a runner by a task. The executor validates the answer against the schema, and asks for one correction.
    async fn run(&self, runner: &Runner, prompt: &PlannerPrompt) -> Result<Proposal, NoProposal> {
        let Some(agents) = self.providers.agents else {
            return Err(NoProposal::Unreachable("this process runs no tasks; the hub does".to_owned()));
        };
        let timeout = runner.timeout.min(self.left().map_err(NoProposal::Unreachable)?);
        let asked = agents::Query {
            name: TASK_NAME,
            persona: prompt.system,
            text: &prompt.user,
            schema: prompt.schema,
            runner: runner.name.as_deref(),
            model: runner.model.as_deref(),
            timeout,
        };
        let unreachable = |error: agents::Error| NoProposal::Unreachable(error.to_string());
        let task = agents.query(asked).await.map_err(unreachable)?;
        let ended = tokio::select! {
            ended = agents.wait(&Viewer::User, &task.id, timeout) => ended.map_err(unreachable)?,
            () = self.providers.cancelled.cancelled() => task,
        };
        let Some(outcome) = ended.outcome else {
            agents.cancel(&Viewer::User, &ended.id).await.map_err(unreachable)?;
            let seconds = seconds(timeout);
            return Err(NoProposal::Unreachable(format!("task {} did not end within {seconds} s", ended.id)));
        };
        agents.mark_delivered(&ended.id).await;
        let message = outcome.message.as_deref().unwrap_or_default();
        match outcome.failure {
            Some(failure) if failure.class == "schema" => {
                let why =
                    format!("the answer of task {} does not follow the schema after a repair", ended.id);
                Err(NoProposal::Unusable(why))
            }
            Some(failure) => {
                Err(NoProposal::Unreachable(format!("task {} ended with {}", ended.id, failure.class)))
            }
            None => proposal::read(message).map_err(|violations| {
                let places = violation_places(&violations);
                NoProposal::Unusable(format!(
                    "the answer of task {} does not follow the schema: {places}",
                    ended.id
                ))
            }),
        }
    }

    /// Returns the time that is left for an answer.
    fn left(&self) -> Result<Duration, String> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err("the planning timeout was over before it could be asked".to_owned())
        } else {
            Ok(left)
        }
    }
}

impl ChainResult {
    /// Records that the answer of `source` is still to come.
    fn pending(mut self, source: PlanSource) -> Self {
        let why = "it is asked; until it answers, the default policy plans".to_owned();
        self.advice.reasons.push(Reason { by: source.name().to_owned(), why });
        self.advice.response = ProviderResponse::NotAsked;
        self
    }
}

fn source(adviser: Adviser) -> PlanSource {
    match adviser {
        Adviser::Endpoint => PlanSource::Model,
        Adviser::Runner => PlanSource::Runner,
        Adviser::Client | Adviser::Sampling => PlanSource::Client,
    }
}

fn seconds(time: Duration) -> u128 {
    time.as_millis().div_ceil(1000)
}
