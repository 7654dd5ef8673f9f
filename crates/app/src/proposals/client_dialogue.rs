//! Dialogue with a client's model over several requests of one call. The client carries its state, so that nothing is
//! kept here for a call that may never return.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use adjutant_assistant::notification::{PlanSource, Reason};
use adjutant_assistant::planner::answer_repair::read_or_repair;
use adjutant_assistant::planner::prompt::PlannerPrompt;
use adjutant_assistant::planner::proposal::Proposal;
use adjutant_assistant::plans::{Advice, PlanInput, ProviderResponse};

/// The questions of this round, and the state that the client returns with its replies.
#[derive(Debug)]
pub struct DialogueRound {
    pub questions: Vec<DialogueQuestion>,
    pub dialogues: Dialogues,
}

/// A question for this round.
#[derive(Debug)]
pub struct DialogueQuestion {
    /// It differs in every round, so that no reply counts twice.
    pub key: String,
    pub prompt: PlannerPrompt,
    /// The turns so far; the first is the question.
    pub turns: Vec<String>,
}

/// All dialogues of one call.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Dialogues {
    /// By the query's id.
    pub(super) by_query: BTreeMap<String, Dialogue>,
    /// How many notifications the policy planned and superseded in the first round.
    pub(super) planned: u64,
    pub(super) superseded: u64,
    pub(super) unasked: usize,
}

/// One dialogue.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Dialogue {
    /// Why the providers that were asked before gave no proposal.
    reasons: Vec<Reason>,
    /// Faulty answers, each followed by the hub's request for a correction.
    repairs: Vec<String>,
    end: Option<Ending>,
}

/// How a dialogue ended.
#[derive(Debug, Serialize, Deserialize)]
enum Ending {
    Proposed(Proposal),
    /// The answer is of no use, and why.
    Unusable(String),
}

impl Dialogue {
    /// Returns a dialogue without an answer. `reasons` is why the providers that were asked before gave no proposal.
    pub(super) fn new(reasons: Vec<Reason>) -> Self {
        Self { reasons, repairs: Vec::new(), end: None }
    }

    fn key(&self, id: &str) -> String {
        format!("{id}-{}", self.repairs.len() / 2 + 1)
    }

    fn record_answer(&mut self, answer: &str) {
        self.end = match read_or_repair(&mut self.repairs, answer) {
            Ok(proposal) => proposal.map(Ending::Proposed),
            Err(why) => Some(Ending::Unusable(why)),
        };
    }

    fn advice(self) -> Advice {
        let (source, mut reasons) = (PlanSource::Client, self.reasons);
        let proposal = match self.end {
            Some(Ending::Proposed(proposal)) => Some((source, proposal)),
            Some(Ending::Unusable(why)) => {
                reasons.push(Reason { by: source.name().to_owned(), why });
                None
            }
            None => None,
        };
        Advice { proposal, reasons, response: ProviderResponse::Answered }
    }
}

impl Dialogues {
    /// Returns the questions of this round. A dialogue about an occurrence that has changed meanwhile is dropped,
    /// because the policy has planned that occurrence anew.
    pub(super) fn questions(&mut self, input: &PlanInput) -> Vec<DialogueQuestion> {
        let mut questions = Vec::new();
        self.by_query.retain(|id, dialogue| {
            let Some(model_query) = input.model_query(id) else { return false };
            if dialogue.end.is_none() {
                let prompt = model_query.prompt;
                let turns = [std::slice::from_ref(&prompt.user), &dialogue.repairs].concat();
                questions.push(DialogueQuestion { key: dialogue.key(id), prompt, turns });
            }
            true
        });
        questions
    }
    /// Records what the client's model said. `reply` gives an answer by the key of its question; a dialogue without a
    /// reply stays open.
    pub(super) fn record_replies(&mut self, reply: impl Fn(&str) -> Option<String>) {
        for (id, dialogue) in &mut self.by_query {
            if dialogue.end.is_none()
                && let Some(answer) = reply(&dialogue.key(id))
            {
                dialogue.record_answer(&answer);
            }
        }
    }

    /// Returns the advice of each dialogue, by the query's id.
    pub(super) fn into_advice(self) -> HashMap<String, Advice> {
        self.by_query.into_iter().map(|(id, dialogue)| (id, dialogue.advice())).collect()
    }
}
