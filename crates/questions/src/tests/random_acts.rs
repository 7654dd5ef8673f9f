//! Random sequences of acts, with the invariants of every question.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::{answer, asker, choose, open, yes_or_no};
use crate::{
    Asker, Channel, DecidedBy, DefaultAnswer, Draft, Filter, Outcome, OutcomeKind, Questions, State, Ticket,
};
use adjutant_base::config::questions::QuestionsConfig;

/// An action on one of three questions.
#[derive(Clone, Debug)]
enum Act {
    Ask(u8, u8),
    Answer(u8),
    Decline(u8),
    Undo(u8),
    Snooze(u8),
    Seen(u8),
    Cancel(u8, u8),
    Disconnect(u8),
    Fetch(u8),
    /// So many seconds pass.
    Wait(u16),
}

fn act() -> impl Strategy<Value = Act> {
    let (question, client) = (0..3_u8, 0..2_u8);
    prop_oneof![
        3 => (question.clone(), client.clone()).prop_map(|(q, c)| Act::Ask(q, c)),
        2 => question.clone().prop_map(Act::Answer),
        1 => question.clone().prop_map(Act::Decline),
        1 => question.clone().prop_map(Act::Undo),
        1 => question.clone().prop_map(Act::Snooze),
        3 => question.clone().prop_map(Act::Seen),
        1 => (question, client.clone()).prop_map(|(q, c)| Act::Cancel(q, c)),
        1 => client.clone().prop_map(Act::Disconnect),
        1 => client.prop_map(Act::Fetch),
        4 => (1..900_u16).prop_map(Act::Wait),
    ]
}

/// The questions, and the state that a caller knows.
struct Model {
    questions: Arc<Questions>,
    tickets: HashMap<u8, Ticket>,
    ends: HashMap<Ticket, Outcome>,
    fetched: Vec<(String, Ticket)>,
}

impl Model {
    async fn act(&mut self, act: Act) {
        let questions = self.questions.clone();
        let who = |client: u8| asker(["ann", "bob"][usize::from(client)]);
        match act {
            Act::Ask(question, client) => {
                let draft = Draft {
                    default: Some(DefaultAnswer { answer: choose("no"), after: Duration::from_secs(20) }),
                    timeout: Some(Duration::from_mins(30)),
                    ..yes_or_no(&format!("Question {question}"))
                };
                // Both clients are sessions in one place, so each continues the questions of the other.
                let who = Asker { place: "codex".to_owned(), ..who(client) };
                let ticket = questions.ask(who, draft).await.unwrap().ticket;
                self.tickets.insert(question, ticket);
            }
            Act::Wait(seconds) => {
                questions.core.clock.skip(i64::from(seconds) * 1_000);
                questions.run_due().await.unwrap();
            }
            Act::Disconnect(client) => questions.session_closed(&who(client).session).await,
            Act::Fetch(client) => {
                let key = who(client).key;
                for question in questions.undelivered(&key, 9).await.unwrap() {
                    assert!(questions.mark_delivered(&key, &question.ticket).await);
                    let fetched = (key.clone(), question.ticket);
                    assert!(!self.fetched.contains(&fetched), "an outcome is handed over once");
                    self.fetched.push(fetched);
                }
            }
            Act::Answer(q)
            | Act::Decline(q)
            | Act::Undo(q)
            | Act::Snooze(q)
            | Act::Seen(q)
            | Act::Cancel(q, _) => {
                let Some(ticket) = self.tickets.get(&q).cloned() else { return };
                let before = questions.get(&ticket).await.unwrap().state;
                let pending = before == State::Pending;
                match act {
                    Act::Answer(_) => assert_eq!(answer(&questions, &ticket, "yes").await.is_ok(), pending),
                    Act::Decline(_) => {
                        assert_eq!(questions.decline(&ticket, None, Channel::Phone).await.is_ok(), pending);
                    }
                    Act::Undo(_) => {
                        let back = questions.undo(&ticket, Channel::Browser).await.is_ok();
                        assert!(back || before.outcome().is_some() || matches!(before, State::Held { .. }));
                    }
                    Act::Snooze(_) => {
                        assert_eq!(questions.snooze(&ticket, 5, Channel::Browser).await.is_ok(), pending);
                    }
                    Act::Seen(_) => questions.mark_seen(&ticket, Channel::Browser).await.unwrap(),
                    // A client that did not ask the question cannot cancel it.
                    Act::Cancel(_, client) => drop(questions.cancel(&who(client).key, &ticket).await),
                    _ => {}
                }
            }
        }
    }

    /// Compares every question with its previous state.
    async fn check_invariants(&mut self) {
        let pending = self.questions.pending(None, 99).await.unwrap();
        for question in &pending.questions {
            assert!(!self.ends.contains_key(&question.ticket), "what has ended is asked again: {question:?}");
        }
        for question in self.questions.history(&Filter::default(), None, 99).await.unwrap().questions {
            let State::Decided(outcome) = question.state else { panic!("history is of decided questions") };
            if outcome.by == DecidedBy::Default {
                assert!(question.seen_at.is_some() && outcome.seen_ms >= 20_000, "{outcome:?}");
            }
            assert_eq!(outcome.answer.is_some(), outcome.kind == OutcomeKind::Answered);
            let first = self.ends.entry(question.ticket).or_insert_with(|| outcome.clone());
            assert_eq!(*first, outcome, "an end stays");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_question_has_one_outcome_after_any_sequence_of_acts(acts in prop::collection::vec(act(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let questions = open(QuestionsConfig::default());
            let mut model = Model {
                questions,
                tickets: HashMap::new(),
                ends: HashMap::new(),
                fetched: Vec::new(),
            };
            for act in acts {
                model.act(act).await;
                model.check_invariants().await;
            }
            // In the end every question has an outcome.
            for _ in 0..200 {
                model.act(Act::Wait(900)).await;
            }
            model.check_invariants().await;
            let left = model.questions.pending(None, 9).await.unwrap();
            assert_eq!(left.total, 0, "every question ends");
        });
    }
}
