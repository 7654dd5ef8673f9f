//! Talking with a client's model in rounds of one call: the client carries what was said from round to round, so that
//! nothing is kept here for a call that may never come back.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Planned;
use super::round::judge;
use crate::assistant::notification::{PlanSource, Reason};
use crate::assistant::planner::prompt::Question;
use crate::assistant::planner::proposal::Proposal;
use crate::assistant::planning::{Advice, Heard, Outline, Which};
use crate::assistant::{Assistant, Error, EventId, UserId};

/// What is asked in this round, and what the client is to bring back.
#[derive(Debug)]
pub(crate) struct Rounds {
    pub(crate) asked: Vec<Asked>,
    pub(crate) dialogues: Dialogues,
}

/// A question for this round.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Another one in every round, so that no reply counts twice.
    pub(crate) key: String,
    pub(crate) question: Question,
    /// What was said so far by turns, ours first.
    pub(crate) turns: Vec<String>,
}

/// All dialogues of one call.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Dialogues {
    /// By the inquiry's id.
    pub(super) of: BTreeMap<String, Dialogue>,
    /// What the first round planned and withdrew, by the policy.
    pub(super) planned: u64,
    pub(super) superseded: u64,
    pub(super) unasked: usize,
}

/// One dialogue.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Dialogue {
    /// Why those gave nothing who were asked before.
    reasons: Vec<Reason>,
    /// Faulty answers, each with what we said to it.
    said: Vec<String>,
    end: Option<End>,
}

/// How a dialogue ended.
#[derive(Debug, Serialize, Deserialize)]
enum End {
    Proposed(Proposal),
    /// The answer is of no use, and why.
    Useless(String),
}

impl Dialogue {
    /// A dialogue in which nothing was said yet. `reasons` is why those gave nothing who were asked before.
    pub(super) fn new(reasons: Vec<Reason>) -> Self {
        Self { reasons, said: Vec::new(), end: None }
    }

    fn key(&self, id: &str) -> String {
        format!("{id}-{}", self.said.len() / 2 + 1)
    }

    fn hear(&mut self, answer: &str) {
        self.end = match judge(&mut self.said, answer) {
            Ok(proposal) => proposal.map(End::Proposed),
            Err(why) => Some(End::Useless(why)),
        };
    }

    fn advice(self) -> Advice {
        let (source, mut reasons) = (PlanSource::Client, self.reasons);
        let proposal = match self.end {
            Some(End::Proposed(proposal)) => Some((source, proposal)),
            Some(End::Useless(why)) => {
                reasons.push(Reason { by: source.name().to_owned(), why });
                None
            }
            None => None,
        };
        Advice { proposal, reasons, heard: Heard::Somebody }
    }
}

impl Dialogues {
    /// Returns what is to be asked now. A dialogue about what has changed meanwhile ends without a word: the policy has
    /// planned it anew.
    pub(super) fn questions(&mut self, outline: &Outline) -> Vec<Asked> {
        let mut asked = Vec::new();
        self.of.retain(|id, dialogue| {
            let Some(inquiry) = outline.inquiry(id) else { return false };
            if dialogue.end.is_none() {
                let question = inquiry.question;
                let turns = [std::slice::from_ref(&question.user), &dialogue.said].concat();
                asked.push(Asked { key: dialogue.key(id), question, turns });
            }
            true
        });
        asked
    }
}

/// Goes on with dialogues that [`super::plan`] began: `reply` gives what the client's model said, by the keys of what was
/// asked. What has no reply is asked again; when all dialogues have ended, what came of them is planned.
pub(crate) async fn resumed(
    room: &Assistant,
    (user, event): (&UserId, Option<&EventId>),
    mut dialogues: Dialogues,
    reply: impl Fn(&str) -> Option<String>,
    now: Timestamp,
) -> Result<Planned, Error> {
    for (id, dialogue) in &mut dialogues.of {
        if dialogue.end.is_none()
            && let Some(answer) = reply(&dialogue.key(id))
        {
            dialogue.hear(&answer);
        }
    }
    // The first round's plans are the policy's own, so what is talked about is open.
    let outline = room.outline(user, event, Which::Unadvised, now).await?;
    let asked = dialogues.questions(&outline);
    if !asked.is_empty() {
        return Ok(Planned { rounds: Some(Rounds { asked, dialogues }), ..Planned::default() });
    }
    let advice: HashMap<String, Advice> =
        dialogues.of.into_iter().map(|(id, dialogue)| (id, dialogue.advice())).collect();
    let mut planning = room.settle(outline, advice).await?;
    planning.planned += dialogues.planned;
    planning.superseded += dialogues.superseded;
    Ok(Planned { planning, unasked: dialogues.unasked, ..Planned::default() })
}
