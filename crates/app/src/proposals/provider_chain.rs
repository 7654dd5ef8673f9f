//! One round of questions: who is asked in which order, how often, and what is said of those who gave nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::rounds::Dialogue;
use super::{Asking, Sampler, Sampling};
use crate::agents::{self, Viewer};
use crate::assistant::notification::{PlanSource, Reason};
use crate::assistant::planner::prompt::{Question, repair};
use crate::assistant::planner::proposal::{self, Fault, Proposal};
use crate::assistant::planning::{Advice, Heard};
use crate::config::assistant::{Adviser, Endpoint, Runner};
use crate::llm::{self, Talk};

/// How often a model may correct its answer.
const REPAIRS: usize = 2;
/// Characters of an answer that its author is reminded of.
const REMINDED: usize = 8_000;
/// The schema's name, for servers that want one.
const SCHEMA: &str = "reminders";
/// What the tasks of runners are called.
const TASK: &str = "notification planner";

/// Asks until its time is over. Whoever cannot be reached once is not tried again.
pub(super) struct Round<'a> {
    asking: Asking<'a>,
    until: Instant,
    away: Mutex<HashMap<Adviser, String>>,
}

/// What came of one question.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) advice: Advice,
    /// The client is to answer it by a second call.
    pub(super) handed_out: bool,
    /// The client's model is to answer it, in rounds of this call.
    pub(super) in_rounds: Option<Dialogue>,
}

/// Why somebody gave no proposal; a sentence fragment that repeats nothing of what they said.
enum Silence {
    /// They cannot be reached, or not now.
    Away(String),
    /// They answered, and it is of no use.
    Unusable(String),
    /// They are asked by the answer of this call.
    InRounds,
}

/// Somebody to talk with.
#[derive(Clone, Copy)]
enum Model<'a> {
    Endpoint(&'a Endpoint),
    Client(&'a Sampler),
}

impl<'a> Round<'a> {
    pub(super) fn new(asking: Asking<'a>) -> Self {
        Self { asking, until: Instant::now() + asking.config.planning, away: Mutex::default() }
    }

    /// Asks one after the other until somebody proposes something.
    pub(super) async fn about(&self, question: &Question) -> Outcome {
        let mut outcome = Outcome::default();
        for adviser in &self.asking.config.advisers {
            let source = source(*adviser);
            if *adviser == Adviser::Client && self.asking.client.answers {
                outcome.handed_out = true;
                return outcome.awaited(source);
            }
            let known = self.away().get(adviser).cloned();
            let heard = match known {
                Some(why) => Err(Silence::Away(why)),
                None => self.ask(*adviser, question).await,
            };
            let (why, heard) = match heard {
                Ok(proposal) => {
                    outcome.advice.proposal = Some((source, proposal));
                    outcome.advice.heard = Heard::Somebody;
                    return outcome;
                }
                Err(Silence::InRounds) => {
                    outcome.in_rounds = Some(Dialogue::new(outcome.advice.reasons.clone()));
                    return outcome.awaited(source);
                }
                Err(Silence::Unusable(why)) => (why, Heard::Somebody),
                Err(Silence::Away(why)) => {
                    self.away().insert(*adviser, why.clone());
                    (why, Heard::Unreached)
                }
            };
            if outcome.advice.heard != Heard::Somebody {
                outcome.advice.heard = heard;
            }
            outcome.advice.reasons.push(Reason { by: source.name().to_owned(), why });
        }
        outcome
    }

    async fn ask(&self, adviser: Adviser, question: &Question) -> Result<Proposal, Silence> {
        let away = |why: &str| Err(Silence::Away(why.to_owned()));
        let (config, client) = (self.asking.config, self.asking.client);
        match adviser {
            Adviser::Endpoint => match &config.endpoint {
                Some(endpoint) => self.talk(Model::Endpoint(endpoint), question).await,
                None => away("no endpoint is configured"),
            },
            Adviser::Runner => self.run(&config.runner, question).await,
            Adviser::Client => away("whoever plans here cannot answer by a second call"),
            Adviser::Sampling => match &client.sampling {
                Sampling::Waits(sampler) => self.talk(Model::Client(sampler), question).await,
                Sampling::InRounds => Err(Silence::InRounds),
                Sampling::None => away("whoever plans here has not declared sampling"),
            },
        }
    }

    /// Talks until the answer keeps the schema, or was corrected often enough.
    async fn talk(&self, model: Model<'_>, question: &Question) -> Result<Proposal, Silence> {
        let system = question.instructions();
        let mut turns = vec![question.user.clone()];
        loop {
            let answer = tokio::select! {
                answer = self.next_words(model, &system, &turns, question) => answer.map_err(Silence::Away)?,
                () = self.asking.cancelled.cancelled() => return Err(Silence::Away("the call was taken back".to_owned())),
            };
            if let Some(proposal) = judge(&mut turns, &answer).map_err(Silence::Unusable)? {
                return Ok(proposal);
            }
        }
    }

    async fn next_words(
        &self,
        model: Model<'_>,
        system: &str,
        turns: &[String],
        question: &Question,
    ) -> Result<String, String> {
        let left = self.left()?;
        match model {
            Model::Endpoint(endpoint) => {
                let patience = endpoint.timeout.min(left);
                let talk = Talk { system, turns, schema: (SCHEMA, question.schema), patience };
                llm::answer(endpoint, talk).await.map_err(|error| error.to_string())
            }
            Model::Client(sampler) => {
                let said = sampler(system.to_owned(), turns.to_vec());
                let late = || format!("it did not answer within {} s", seconds(left));
                tokio::time::timeout(left, said).await.map_err(|_| late())?
            }
        }
    }

    /// Has a coding-agent CLI answer. Its answer is held against the schema, and once corrected, where tasks are run.
    async fn run(&self, runner: &Runner, question: &Question) -> Result<Proposal, Silence> {
        let Some(agents) = self.asking.agents else {
            return Err(Silence::Away("this process runs no tasks; the hub does".to_owned()));
        };
        let timeout = runner.timeout.min(self.left().map_err(Silence::Away)?);
        let asked = agents::Question {
            name: TASK,
            persona: question.system,
            text: &question.user,
            schema: question.schema,
            runner: runner.name.as_deref(),
            model: runner.model.as_deref(),
            timeout,
        };
        let away = |error: agents::Error| Silence::Away(error.to_string());
        let task = agents.ask(asked).await.map_err(away)?;
        let ended = tokio::select! {
            ended = agents.wait(&Viewer::Person, &task.id, timeout) => ended.map_err(away)?,
            () = self.asking.cancelled.cancelled() => task,
        };
        let Some(outcome) = ended.outcome else {
            agents.cancel(&Viewer::Person, &ended.id).await.map_err(away)?;
            let seconds = seconds(timeout);
            return Err(Silence::Away(format!("task {} did not end within {seconds} s", ended.id)));
        };
        agents.delivered(&ended.id).await;
        let message = outcome.message.as_deref().unwrap_or_default();
        match outcome.failure {
            Some(failure) if failure.class == "schema" => {
                let why = format!("the answer of task {} does not keep the schema after a repair", ended.id);
                Err(Silence::Unusable(why))
            }
            Some(failure) => Err(Silence::Away(format!("task {} ended with {}", ended.id, failure.class))),
            None => proposal::read(message).map_err(|faults| {
                let places = places(&faults);
                Silence::Unusable(format!(
                    "the answer of task {} does not keep the schema: {places}",
                    ended.id
                ))
            }),
        }
    }

    /// The time that is left for an answer.
    fn left(&self) -> Result<Duration, String> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err("no time was left to ask it".to_owned()) } else { Ok(left) }
    }

    fn away(&self) -> std::sync::MutexGuard<'_, HashMap<Adviser, String>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outcome {
    /// The answer is still to come, whatever others have said.
    fn awaited(mut self, source: PlanSource) -> Self {
        let why = "it is asked; until it answers the policy's plan stands".to_owned();
        self.advice.reasons.push(Reason { by: source.name().to_owned(), why });
        self.advice.heard = Heard::Nobody;
        self
    }
}

/// Reads an answer. Where it breaks the schema it is put behind `turns` with what is wrong, for another try; after the
/// last one the error says why it is of no use.
pub(super) fn judge(turns: &mut Vec<String>, answer: &str) -> Result<Option<Proposal>, String> {
    let faults = match proposal::read(answer) {
        Ok(proposal) => return Ok(Some(proposal)),
        Err(faults) => faults,
    };
    // Each try added two; the question may stand in front of them.
    let repairs = turns.len() / 2;
    if repairs == REPAIRS {
        let places = places(&faults);
        return Err(format!("its answer does not keep the schema after {repairs} repairs: {places}"));
    }
    turns.push(answer.chars().take(REMINDED).collect());
    turns.push(repair(&faults));
    Ok(None)
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

/// Where an answer breaks the schema, without its words.
fn places(faults: &[Fault]) -> String {
    let place = |fault: &Fault| {
        if fault.path.is_empty() {
            fault.validator.clone()
        } else {
            format!("{} at {}", fault.validator, fault.path)
        }
    };
    faults.iter().map(place).collect::<Vec<_>>().join(", ")
}
