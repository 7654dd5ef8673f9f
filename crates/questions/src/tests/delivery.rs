//! Outcomes on their way to the session that asked.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{answer, asker, open, without_undo, yes_or_no};
use crate::{Asker, Error, Question, State};

fn session(place: &str, id: &str) -> Asker {
    Asker { key: format!("{place}#{id}"), place: place.to_owned(), session: id.to_owned(), ..asker("codex") }
}

#[tokio::test]
async fn sessions_of_one_client_share_no_question_and_the_next_session_in_a_place_continues_a_lost_one() {
    let questions = open(without_undo());
    let (one, two) = (session("codex:/a", "1"), session("codex:/a", "2"));
    let (three, elsewhere) = (session("codex:/a", "3"), session("codex:/b", "4"));
    let first = questions.ask(one.clone(), yes_or_no("Deploy")).await.unwrap().ticket;
    assert_eq!(questions.ask(one.clone(), yes_or_no(" Deploy ")).await.unwrap().ticket, first);
    let second = questions.ask(two.clone(), yes_or_no("Deploy")).await.unwrap().ticket;
    assert_ne!(second, first);
    questions.session_closed(&one.session).await;
    assert!(!questions.ask(elsewhere.clone(), yes_or_no("Deploy")).await.unwrap().merged);
    let unknown = questions.resume(&elsewhere, &first).await;
    assert!(matches!(unknown, Err(Error::Unknown { .. })), "{unknown:?}");
    let continued = questions.ask(three.clone(), yes_or_no("Deploy")).await.unwrap();
    assert_eq!((continued.ticket, continued.merged), (first.clone(), true));
    assert_eq!(questions.get(&first).await.unwrap().deliveries, 1, "it has one asker");
    answer(&questions, &first, "no").await.unwrap();
    for other in [&one, &two, &elsewhere] {
        assert!(questions.undelivered(&other.key, 9).await.unwrap().is_empty());
        assert!(matches!(questions.get_as(&other.key, &first).await, Err(Error::Unknown { .. })));
    }
    assert_eq!(questions.undelivered(&three.key, 9).await.unwrap().len(), 1);
    // The ticket resumes it too, and a delivered outcome is not used again.
    questions.session_closed(&three.session).await;
    assert_eq!(questions.resume(&session("codex:/a", "5"), &first).await.unwrap().ticket, first);
    assert!(questions.mark_delivered("codex:/a#5", &first).await);
    questions.session_closed("5").await;
    assert!(!questions.ask(session("codex:/a", "6"), yes_or_no("Deploy")).await.unwrap().merged);
    assert_eq!(questions.get(&second).await.unwrap().state, State::Pending);
}

#[tokio::test]
async fn a_call_that_ended_while_it_waited_for_an_identical_question_asks_nothing() {
    let questions = open(without_undo());
    let (first, killed, next) =
        (session("codex:/a", "1"), session("codex:/a", "2"), session("codex:/a", "3"));
    let ticket = questions.ask(first.clone(), yes_or_no("Deploy")).await.unwrap().ticket;
    let cancelled = CancellationToken::new();
    let ends = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancelled.cancel();
    };
    let (refused, ()) = tokio::join!(questions.ask_in_call(killed, yes_or_no("Deploy"), &cancelled), ends);
    assert!(matches!(refused, Err(Error::Cancelled)), "{refused:?}");
    questions.session_closed(&first.session).await;
    let continued = questions.ask(next, yes_or_no("Deploy")).await.unwrap();
    assert_eq!((continued.ticket, continued.merged), (ticket, true));
    assert_eq!(questions.count_pending().await.unwrap(), 1, "nobody waits for another one");
}

#[tokio::test]
async fn an_outcome_that_is_being_delivered_is_not_claimed_again() {
    let questions = open(without_undo());
    let key = asker("codex").key;
    let asked = questions.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap().ticket;
    answer(&questions, &asked, "yes").await.unwrap();
    let all = |_: &Question| true;
    let (mut claimed, _) = questions.claim_undelivered(&key, None, 9, all).await.unwrap();
    assert_eq!(claimed.len(), 1);
    let (again, none_left) = questions.claim_undelivered(&key, None, 9, all).await.unwrap();
    assert!(again.is_empty() && !none_left);
    // The outcome did not arrive, so the next call carries it.
    drop(claimed.pop());
    let (claimed, _) = questions.claim_undelivered(&key, None, 9, all).await.unwrap();
    // The same question, asked again meanwhile, is a new one once the outcome has arrived.
    let arrives = async {
        tokio::task::yield_now().await;
        for (_, claim) in claimed {
            claim.confirm().await;
        }
    };
    let (anew, ()) = tokio::join!(questions.ask(asker("codex"), yes_or_no("Deploy")), arrives);
    assert!(!anew.unwrap().merged);
}
