//! What the state machine promises, whatever order things come in.

use proptest::prelude::*;
use serde_json::Value;

use super::{State, Thread};
use crate::codex::approval::{Approval, By, Wants};
use crate::codex::happened::{End, Happened, Item, ItemState, Kind, Ready};

fn item(id: u8, state: ItemState) -> Item {
    let kind = Kind::Agent { text: format!("said {id}") };
    Item { id: format!("i{id}"), turn: None, state, kind }
}

fn approval(id: u8) -> Approval {
    Approval {
        id: format!("a{id}"),
        thread: "t".to_owned(),
        turn: None,
        item: None,
        wants: Wants::Unknown { method: String::new(), params: Value::Null },
        reason: None,
        choices: Vec::new(),
    }
}

fn anything() -> impl Strategy<Value = Happened> {
    prop_oneof![
        Just(Happened::Ready(Ready::default())),
        (0_u8..4).prop_map(|turn| Happened::TurnStarted { turn: format!("{turn}") }),
        prop_oneof![Just(End::Completed), Just(End::Interrupted), Just(End::Failed)]
            .prop_map(|end| Happened::TurnEnded { turn: None, end, message: None }),
        (0_u8..4).prop_map(|id| Happened::ItemStarted { item: item(id, ItemState::Running) }),
        (0_u8..4).prop_map(|id| Happened::ItemGrew { id: format!("i{id}"), text: "x".to_owned() }),
        (0_u8..4).prop_map(|id| Happened::ItemEnded { item: item(id, ItemState::Done) }),
        (0_u8..4).prop_map(|id| Happened::Asked { approval: approval(id) }),
        (0_u8..4).prop_map(|id| Happened::Settled {
            approval: format!("a{id}"),
            decision: None,
            by: By::Codex
        }),
        Just(Happened::Closed { message: None }),
    ]
}

proptest! {
    #[test]
    fn nothing_is_left_of_a_turn_that_has_ended(all in prop::collection::vec(anything(), 0..60)) {
        let mut thread = Thread::default();
        for happened in &all {
            thread.apply(happened);
            let busy = thread.turn.is_some();
            prop_assert!(busy || thread.running.is_empty());
            prop_assert_eq!(thread.state() == State::Asking, !thread.asked.is_empty());
            prop_assert_eq!(thread.state() == State::Running, busy && thread.asked.is_empty());
            match happened {
                Happened::TurnEnded { end, .. } => {
                    prop_assert!(!busy);
                    prop_assert_eq!(thread.last.as_ref().map(|last| last.end), Some(*end));
                }
                Happened::Closed { .. } => prop_assert_eq!((thread.state(), busy), (State::Closed, false)),
                // Also when the turn has ended meanwhile: an agent that it started may ask.
                Happened::Settled { approval, .. } => {
                    prop_assert!(thread.asked.iter().all(|asked| asked.id != *approval));
                }
                Happened::TurnStarted { turn } => prop_assert_eq!(thread.turn.as_ref(), Some(turn)),
                _ => {}
            }
        }
    }

    #[test]
    fn the_answer_is_what_the_agent_said_last_in_this_turn(first in 0_u8..9, second in 0_u8..9) {
        let mut thread = Thread::default();
        for id in [first, second] {
            thread.apply(&Happened::TurnStarted { turn: "t".to_owned() });
            thread.apply(&Happened::ItemEnded { item: item(3, ItemState::Done) });
            thread.apply(&Happened::ItemEnded { item: item(id, ItemState::Done) });
            thread.apply(&Happened::TurnEnded { turn: None, end: End::Completed, message: None });
            prop_assert_eq!(thread.last.clone().unwrap().said, format!("said {id}"));
        }
        thread.apply(&Happened::TurnStarted { turn: "t".to_owned() });
        thread.apply(&Happened::TurnEnded { turn: None, end: End::Failed, message: None });
        prop_assert_eq!(thread.last.clone().unwrap().said, "");
    }
}
