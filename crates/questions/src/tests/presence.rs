//! Clients that disconnect, fall silent and come back.

use std::sync::Arc;
use std::time::Duration;

use super::{MINUTE, answer, asker, kind, open, without_undo, yes_or_no};
use crate::{Asker, AskerPresence, OutcomeKind, Questions, State};
use adjutant_base::config::Database;
use adjutant_base::events::Events;
use adjutant_store::Store;

#[tokio::test]
async fn a_client_without_a_visible_disconnect_becomes_silent_and_still_finds_its_answer() {
    let questions = open(without_undo());
    let mut unseen = asker("curl");
    unseen.session = String::new();
    let lease = Duration::from_mins(5);
    let asked = questions.ask(unseen.clone(), yes_or_no("Deploy")).await.unwrap();
    let after = async |minutes: i64| {
        questions.core.clock.skip(minutes * MINUTE);
        questions.run_due().await.unwrap();
        let question = questions.get(&asked.ticket).await.unwrap();
        assert_eq!(question.state, State::Pending);
        question.presence
    };
    assert_eq!(after(60).await, AskerPresence::Connected, "its call has not ended");
    questions.start_lease(&unseen, &asked.ticket, lease).await;
    assert_eq!(after(4).await, AskerPresence::Connected);
    questions.mark_waiting(&unseen, &asked.ticket, Some(lease)).await.unwrap();
    assert_eq!(after(4).await, AskerPresence::Connected, "each look begins a new lease");
    assert_eq!(after(2).await, AskerPresence::Silent);
    // After the question is asked again, a caller waits.
    assert!(questions.ask(unseen.clone(), yes_or_no("Deploy")).await.unwrap().merged);
    assert_eq!(after(0).await, AskerPresence::Connected);
    questions.start_lease(&unseen, &asked.ticket, lease).await;
    assert_eq!(after(60).await, AskerPresence::Silent, "it does not end: the ticket may still be in use");
    questions.mark_waiting(&unseen, &asked.ticket, None).await.unwrap();
    assert_eq!(after(60).await, AskerPresence::Connected);
    questions.start_lease(&unseen, &asked.ticket, lease).await;
    assert_eq!(after(6).await, AskerPresence::Silent);
    answer(&questions, &asked.ticket, "yes").await.unwrap();
    assert_eq!(questions.undelivered(&unseen.key, 9).await.unwrap().len(), 1, "the answer is kept for it");
    let happened = questions.audit(&asked.ticket).await.unwrap();
    let kinds: Vec<_> = happened.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["asked", "silent", "asked_again", "silent", "returned", "silent", "answered"]);
}

#[tokio::test]
async fn a_caller_of_a_killed_hub_becomes_silent_after_a_while() {
    let store = Store::new(Database::Memory);
    let questions = Questions::new(without_undo(), store.clone(), Events::new());
    let unseen = Asker { session: String::new(), ..asker("curl") };
    let asked = questions.ask(unseen, yes_or_no("Deploy")).await.unwrap();
    let next = Arc::new(Questions::new(without_undo(), store, Events::new()));
    let stop = tokio_util::sync::CancellationToken::new();
    let working = tokio::spawn({
        let (next, stop) = (next.clone(), stop.clone());
        async move { next.run_timers(stop, Duration::ZERO).await }
    });
    for _ in 0..200 {
        next.core.clock.skip(MINUTE);
        next.core.wake.notify_one();
        tokio::task::yield_now().await;
        if next.get(&asked.ticket).await.unwrap().presence == AskerPresence::Silent {
            break;
        }
    }
    assert_eq!(next.get(&asked.ticket).await.unwrap().presence, AskerPresence::Silent);
    stop.cancel();
    working.await.unwrap();
}

#[tokio::test]
async fn an_answer_from_before_a_restart_is_found_also_before_the_timers_run() {
    let store = Store::new(Database::Memory);
    let questions = Questions::new(without_undo(), store.clone(), Events::new());
    let asked = questions.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    answer(&questions, &asked.ticket, "yes").await.unwrap();
    let next = Questions::new(without_undo(), store, Events::new());
    assert_eq!(next.undelivered(&asker("codex").key, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_client_that_comes_back_finds_its_question_and_one_that_stays_away_loses_it() {
    let questions = open(without_undo());
    let asked = questions.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    questions.session_closed("s-codex").await;
    assert_eq!(questions.get(&asked.ticket).await.unwrap().presence, AskerPresence::Disconnected);
    questions.core.clock.skip(9 * MINUTE);
    questions.run_due().await.unwrap();
    let again = questions.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    assert!(again.merged && again.ticket == asked.ticket);
    questions.core.clock.skip(9 * MINUTE);
    questions.run_due().await.unwrap();
    assert_eq!(questions.get(&asked.ticket).await.unwrap().state, State::Pending);
    questions.session_closed("s-codex").await;
    questions.core.clock.skip(11 * MINUTE);
    questions.run_due().await.unwrap();
    assert_eq!(kind(&questions.get(&asked.ticket).await.unwrap().state), Some(OutcomeKind::ClientGone));
    assert!(questions.undelivered(&asker("codex").key, 9).await.unwrap().is_empty());
}
