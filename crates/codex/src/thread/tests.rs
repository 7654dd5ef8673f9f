//! Invariants of the state machine, with events in any order.

use proptest::prelude::*;
use serde_json::Value;

use super::{Thread, ThreadState};
use crate::approval::{Approval, ApprovalKind, Decider};
use crate::event::{CodexEvent, End, Item, ItemKind, ItemState, Ready};

fn item(id: u8, state: ItemState) -> Item {
    let kind = ItemKind::Agent { text: format!("said {id}") };
    Item { id: format!("i{id}"), turn: None, state, kind }
}

fn approval(id: u8) -> Approval {
    Approval {
        id: format!("a{id}"),
        thread: "t".to_owned(),
        turn: None,
        item: None,
        kind: ApprovalKind::Unknown { method: String::new(), params: Value::Null },
        folder: None,
        reason: None,
        choices: Vec::new(),
        session_scope: None,
        always_scope: None,
        others: serde_json::Map::new(),
    }
}

fn anything() -> impl Strategy<Value = CodexEvent> {
    prop_oneof![
        Just(CodexEvent::Ready(Ready::default())),
        (0_u8..4).prop_map(|turn| CodexEvent::TurnStarted { turn: format!("{turn}") }),
        prop_oneof![Just(End::Completed), Just(End::Interrupted), Just(End::Failed)]
            .prop_map(|end| CodexEvent::TurnEnded { turn: None, end, message: None }),
        (0_u8..4).prop_map(|id| CodexEvent::ItemStarted { item: item(id, ItemState::Running) }),
        (0_u8..4).prop_map(|id| CodexEvent::ItemGrew { id: format!("i{id}"), text: "x".to_owned() }),
        (0_u8..4).prop_map(|id| CodexEvent::ItemEnded { item: item(id, ItemState::Done) }),
        (0_u8..4).prop_map(|id| CodexEvent::ApprovalRequested { approval: approval(id) }),
        (0_u8..4).prop_map(|id| CodexEvent::ApprovalResolved {
            approval: format!("a{id}"),
            decision: None,
            by: Decider::Codex
        }),
        Just(CodexEvent::Closed { message: None }),
    ]
}

proptest! {
    #[test]
    fn nothing_is_left_of_a_turn_that_has_ended(all in prop::collection::vec(anything(), 0..60)) {
        let mut thread = Thread::default();
        for event in &all {
            thread.apply(event);
            let busy = thread.turn.is_some();
            prop_assert!(busy || thread.running.is_empty());
            prop_assert_eq!(thread.state() == ThreadState::Asking, !thread.asked.is_empty());
            prop_assert_eq!(thread.state() == ThreadState::Running, busy && thread.asked.is_empty());
            match event {
                CodexEvent::TurnEnded { end, .. } => {
                    prop_assert!(!busy);
                    prop_assert_eq!(thread.last.as_ref().map(|last| last.end), Some(*end));
                }
                CodexEvent::Closed { .. } => prop_assert_eq!((thread.state(), busy), (ThreadState::Closed, false)),
                // Also when the turn has ended meanwhile: an agent that it started may ask.
                CodexEvent::ApprovalResolved { approval, .. } => {
                    prop_assert!(thread.asked.iter().all(|asked| asked.id != *approval));
                }
                CodexEvent::TurnStarted { turn } => prop_assert_eq!(thread.turn.as_ref(), Some(turn)),
                _ => {}
            }
        }
    }

    #[test]
    fn the_answer_is_what_the_agent_said_last_in_this_turn(first in 0_u8..9, second in 0_u8..9) {
        let mut thread = Thread::default();
        for id in [first, second] {
            thread.apply(&CodexEvent::TurnStarted { turn: "t".to_owned() });
            thread.apply(&CodexEvent::ItemEnded { item: item(3, ItemState::Done) });
            thread.apply(&CodexEvent::ItemEnded { item: item(id, ItemState::Done) });
            thread.apply(&CodexEvent::TurnEnded { turn: None, end: End::Completed, message: None });
            prop_assert_eq!(thread.last.clone().unwrap().said, format!("said {id}"));
        }
        thread.apply(&CodexEvent::TurnStarted { turn: "t".to_owned() });
        thread.apply(&CodexEvent::TurnEnded { turn: None, end: End::Failed, message: None });
        prop_assert_eq!(thread.last.clone().unwrap().said, "");
    }
}
