//! Clients without an observable disconnect.

use std::sync::Arc;
use std::time::Duration;

use super::{MINUTE, answer, asker, at_once, open, yes_or_no};
use crate::{Asker, AskerPresence, Questions, State};
use adjutant_base::config::Database;
use adjutant_base::events::Events;
use adjutant_store::Store;

#[tokio::test]
async fn a_client_that_nobody_can_see_is_shown_as_silent_and_still_finds_its_answer() {
    let questions = open(at_once());
    let mut unseen = asker("curl");
    unseen.session = String::new();
    let lease = Duration::from_mins(5);
    let asked = questions.ask(unseen.clone(), yes_or_no("Deploy")).await.unwrap();
    let after = async |minutes: i64| {
        questions.clock.skip(minutes * MINUTE);
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
    assert_eq!(kinds, ["asked", "silent", "asked_again", "silent", "heard", "silent", "answered"]);
}

#[tokio::test]
async fn who_was_in_a_call_when_the_hub_was_killed_is_expected_again_for_a_while() {
    let store = Store::new(Database::Memory);
    let questions = Questions::new(at_once(), store.clone(), Events::new());
    let unseen = Asker { session: String::new(), ..asker("curl") };
    let asked = questions.ask(unseen, yes_or_no("Deploy")).await.unwrap();
    let next = Arc::new(Questions::new(at_once(), store, Events::new()));
    let stop = tokio_util::sync::CancellationToken::new();
    let working = tokio::spawn({
        let (next, stop) = (next.clone(), stop.clone());
        async move { next.run_timers(stop, Duration::ZERO).await }
    });
    for _ in 0..200 {
        next.clock.skip(MINUTE);
        next.wake.notify_one();
        tokio::task::yield_now().await;
        if next.get(&asked.ticket).await.unwrap().presence == AskerPresence::Silent {
            break;
        }
    }
    assert_eq!(next.get(&asked.ticket).await.unwrap().presence, AskerPresence::Silent);
    stop.cancel();
    working.await.unwrap();
}
