//! Clients whose end nobody can see.

use std::time::Duration;

use super::{MINUTE, answer, asker, at_once, desk, yes_or_no};
use crate::config::Database;
use crate::events::Events;
use crate::popups::{Asker, Popups, State, Waits};
use crate::store::Store;

#[tokio::test]
async fn a_client_that_nobody_can_see_is_shown_as_silent_and_still_finds_its_answer() {
    let desk = desk(at_once());
    let mut unseen = asker("curl");
    unseen.session = String::new();
    let lease = Duration::from_mins(5);
    let asked = desk.ask(unseen.clone(), yes_or_no("Deploy")).await.unwrap();
    let after = async |minutes: i64| {
        desk.0.clock.skip(minutes * MINUTE);
        desk.0.look().await.unwrap();
        let question = desk.get(&asked.ticket).await.unwrap();
        assert_eq!(question.state, State::Pending);
        question.waits
    };
    assert_eq!(after(60).await, Waits::Here, "its call has not ended");
    desk.lets_go(&unseen, &asked.ticket, lease).await;
    assert_eq!(after(4).await, Waits::Here);
    desk.here(&unseen, &asked.ticket, Some(lease)).await.unwrap();
    assert_eq!(after(4).await, Waits::Here, "each look begins a new lease");
    assert_eq!(after(2).await, Waits::Silent);
    // Another asker of the same words waits, so somebody does.
    let mut other = asker("curl");
    other.key = "socket:curl:/elsewhere".to_owned();
    assert!(desk.ask(other.clone(), yes_or_no("Deploy")).await.unwrap().merged);
    assert_eq!(after(0).await, Waits::Here);
    desk.gone(&other.session).await;
    assert_eq!(after(60).await, Waits::Silent, "it does not end: the ticket may still be in use");
    desk.here(&unseen, &asked.ticket, None).await.unwrap();
    assert_eq!(after(60).await, Waits::Here);
    desk.lets_go(&unseen, &asked.ticket, lease).await;
    assert_eq!(after(6).await, Waits::Silent);
    answer(&desk, &asked.ticket, "yes").await.unwrap();
    assert_eq!(desk.undelivered(&unseen.key, 9).await.unwrap().len(), 1, "the answer is kept for it");
    let happened = desk.happened(&asked.ticket).await.unwrap();
    let kinds: Vec<_> = happened.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["asked", "silent", "asked_again", "heard", "silent", "answered"]);
}

#[tokio::test]
async fn who_was_in_a_call_when_the_hub_was_killed_is_expected_again_for_a_while() {
    let store = Store::new(Database::Memory);
    let desk = Popups::new(at_once(), store.clone(), Events::new());
    let unseen = Asker { session: String::new(), ..asker("curl") };
    let asked = desk.ask(unseen, yes_or_no("Deploy")).await.unwrap();
    let next = Popups::new(at_once(), store, Events::new());
    let stop = tokio_util::sync::CancellationToken::new();
    let working = tokio::spawn({
        let (next, stop) = (next.clone(), stop.clone());
        async move { next.work(stop).await }
    });
    for _ in 0..200 {
        next.0.clock.skip(MINUTE);
        next.0.wake.notify_one();
        tokio::task::yield_now().await;
        if next.get(&asked.ticket).await.unwrap().waits == Waits::Silent {
            break;
        }
    }
    assert_eq!(next.get(&asked.ticket).await.unwrap().waits, Waits::Silent);
    stop.cancel();
    working.await.unwrap();
}
