//! Defaults, deadlines, snoozes and the history.

use std::time::Duration;

use super::{MINUTE, answer, asker, choose, kind, open, without_undo, yes_or_no};
use crate::{Channel, DecidedBy, DefaultAnswer, Draft, Error, Filter, OutcomeKind, State};
use adjutant_base::config::questions::QuestionsConfig;

#[tokio::test]
async fn the_default_answer_applies_only_to_a_question_that_was_seen_for_long_enough() {
    let questions = open(without_undo());
    let with_default = |title: &str| Draft {
        default: Some(DefaultAnswer { answer: choose("no"), after: Duration::from_secs(20) }),
        timeout: Some(Duration::from_hours(200)),
        ..yes_or_no(title)
    };
    let unseen = questions.ask(asker("a"), with_default("Unseen")).await.unwrap().ticket;
    let glanced = questions.ask(asker("b"), with_default("Glanced")).await.unwrap().ticket;
    let read = questions.ask(asker("c"), with_default("Read")).await.unwrap().ticket;
    questions.mark_seen(&glanced, Channel::Terminal).await.unwrap();
    for _ in 0..4 {
        questions.mark_seen(&read, Channel::Browser).await.unwrap();
        questions.core.clock.skip(6_000);
        questions.run_due().await.unwrap();
        assert_eq!(questions.get(&read).await.unwrap().state, State::Pending);
    }
    // The hour between two views does not count as seen.
    questions.core.clock.skip(60 * MINUTE);
    questions.mark_seen(&read, Channel::Browser).await.unwrap();
    questions.run_due().await.unwrap();
    assert_eq!(questions.get(&read).await.unwrap().state, State::Pending);
    questions.core.clock.skip(6_000);
    questions.mark_seen(&read, Channel::Browser).await.unwrap();
    questions.run_due().await.unwrap();
    let State::Decided(outcome) = questions.get(&read).await.unwrap().state else {
        panic!("the default is due")
    };
    assert_eq!(
        (outcome.by, outcome.through, outcome.answer),
        (DecidedBy::Default, Channel::None, Some(choose("no")))
    );
    // A week without a channel decides nothing.
    for _ in 0..7 * 24 {
        questions.core.clock.skip(60 * MINUTE);
        questions.run_due().await.unwrap();
    }
    let history = questions.history(&Filter::default(), None, 9).await.unwrap();
    for question in history.questions.iter().filter(|question| question.ticket != read) {
        let State::Decided(outcome) = &question.state else { panic!("history is of decided questions") };
        assert_eq!((outcome.kind, outcome.by), (OutcomeKind::TimedOut, DecidedBy::Nobody));
    }
    assert_eq!(
        questions.wait(&unseen, Duration::ZERO).await.unwrap().outcome().map(|end| end.seen_ms),
        Some(0)
    );
    assert_eq!(kind(&questions.get(&glanced).await.unwrap().state), Some(OutcomeKind::TimedOut));
}

#[tokio::test]
async fn a_snooze_moves_the_deadline_and_a_cancel_ends_the_question() {
    let questions = open(without_undo());
    let draft = Draft { timeout: Some(Duration::from_mins(10)), ..yes_or_no("Deploy") };
    let asked = questions.ask(asker("codex"), draft).await.unwrap();
    let deadline = questions.get(&asked.ticket).await.unwrap().deadline;
    assert!(matches!(questions.snooze(&asked.ticket, 61, Channel::Browser).await, Err(Error::Snooze)));
    let until = questions.snooze(&asked.ticket, 30, Channel::Browser).await.unwrap();
    let question = questions.get(&asked.ticket).await.unwrap();
    assert_eq!(question.snoozed_until, Some(until));
    assert!((question.deadline - deadline - 30 * MINUTE).abs() < 1_000);
    questions.core.clock.skip(31 * MINUTE);
    questions.run_due().await.unwrap();
    let question = questions.get(&asked.ticket).await.unwrap();
    assert_eq!((question.snoozed_until, question.state), (None, State::Pending));
    let cancelled = questions.cancel(&asker("codex").key, &asked.ticket).await.unwrap();
    assert_eq!(kind(&cancelled), Some(OutcomeKind::Cancelled));
    let stranger = questions.cancel("nobody", &asked.ticket).await;
    assert!(matches!(stranger, Err(Error::Unknown { .. })), "{stranger:?}");
}

#[tokio::test]
async fn pruning_removes_old_outcomes_and_keeps_pending_questions() {
    let keep = Duration::from_hours(24);
    let questions = open(QuestionsConfig { keep, ..without_undo() });
    let old = questions.ask(asker("codex"), yes_or_no("Old")).await.unwrap();
    let waits = questions
        .ask(asker("codex"), Draft { timeout: Some(Duration::from_hours(100)), ..yes_or_no("Pending") })
        .await
        .unwrap();
    answer(&questions, &old.ticket, "yes").await.unwrap();
    questions.core.clock.skip(24 * 60 * MINUTE - MINUTE);
    let young = questions.ask(asker("codex"), yes_or_no("Young")).await.unwrap();
    answer(&questions, &young.ticket, "yes").await.unwrap();
    questions.prune().await.unwrap();
    assert_eq!(questions.history(&Filter::default(), None, 9).await.unwrap().total, 2, "one more minute");
    questions.core.clock.skip(2 * MINUTE);
    questions.prune().await.unwrap();
    assert_eq!(questions.history(&Filter::default(), None, 9).await.unwrap().total, 2, "it is undelivered");
    assert!(questions.mark_delivered(&asker("codex").key, &old.ticket).await);
    questions.prune().await.unwrap();
    let left = questions.history(&Filter::default(), None, 9).await.unwrap();
    assert_eq!(left.questions.iter().map(|q| q.title.as_str()).collect::<Vec<_>>(), ["Young"]);
    assert!(matches!(questions.get(&old.ticket).await, Err(Error::Unknown { .. })));
    assert!(questions.audit(&old.ticket).await.unwrap().is_empty(), "its audit goes with it");
    assert_eq!(questions.get(&waits.ticket).await.unwrap().state, State::Pending);
}
