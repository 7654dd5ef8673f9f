//! Answers, denials, the undo window and the approval passphrase.

use std::time::Duration;

use super::{answer, asker, choose, kind, open, without_undo, yes_or_no};
use crate::{Answer, Channel, DecidedBy, Draft, Error, FieldValue, Level, OutcomeKind, Proof, State};
use adjutant_base::config::questions::QuestionsConfig;

#[tokio::test]
async fn the_first_answer_wins_and_reaches_its_asker_once() {
    let questions = open(without_undo());
    let asked = questions.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    assert!(!asked.merged);
    let waiting = questions.wait(&asked.ticket, Duration::from_secs(20));
    let (state, outcome) = tokio::join!(waiting, answer(&questions, &asked.ticket, "yes"));
    let outcome = outcome.unwrap();
    assert_eq!(state.unwrap(), State::Decided(outcome.clone()));
    assert_eq!((outcome.by, outcome.through), (DecidedBy::User, Channel::Browser));
    assert_eq!(outcome.answer, Some(choose("yes")));
    let late = questions.decline(&asked.ticket, None, Channel::Terminal).await;
    assert!(
        matches!(
            late,
            Err(Error::AlreadyDecided { kind: OutcomeKind::Answered, through: Channel::Browser, .. })
        ),
        "{late:?}"
    );
    // The outcome is undelivered: it is delivered once, or joined by asking again.
    let key = asker("codex").key;
    assert_eq!(questions.undelivered(&key, 9).await.unwrap().len(), 1);
    let again = questions.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    assert!(
        again.merged && again.ticket == asked.ticket && kind(&again.state) == Some(OutcomeKind::Answered)
    );
    assert!(questions.mark_delivered(&key, &asked.ticket).await);
    assert!(!questions.mark_delivered(&key, &asked.ticket).await);
    assert!(questions.undelivered(&key, 9).await.unwrap().is_empty());
    let anew = questions.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    assert!(!anew.merged && anew.ticket != asked.ticket);
}

#[tokio::test]
async fn a_secret_reaches_its_asker_and_is_stored_nowhere() {
    let questions = open(without_undo());
    let mut draft = yes_or_no("Which key?");
    draft.fields[0].secret = true;
    let ticket = questions.ask(asker("codex"), draft).await.unwrap().ticket;
    let waiting = questions.wait(&ticket, Duration::from_secs(20));
    let (state, kept) = tokio::join!(waiting, answer(&questions, &ticket, "yes"));
    assert_eq!(state.unwrap().outcome().unwrap().answer, Some(choose("yes")));
    let withheld = Some(Answer::one("answer", FieldValue::Secret));
    assert_eq!(kept.unwrap().answer, withheld);
    assert_eq!(questions.get(&ticket).await.unwrap().state.outcome().unwrap().answer, withheld);
    assert!(questions.mark_delivered(&asker("codex").key, &ticket).await);
    let late = questions.wait(&ticket, Duration::ZERO).await.unwrap();
    assert_eq!(late.outcome().unwrap().answer, withheld, "its asker has it");
}

#[tokio::test]
async fn a_denial_is_final_at_once() {
    let questions = open(QuestionsConfig::default());
    let ask = async |title: &str| {
        let draft = Draft { denials: vec!["no".to_owned()], ..yes_or_no(title) };
        questions.ask(asker("codex"), draft).await.unwrap().ticket
    };
    let (declined, denied, approved) = (ask("Declined").await, ask("Denied").await, ask("Approved").await);
    questions.decline(&declined, None, Channel::Terminal).await.unwrap();
    answer(&questions, &denied, "no").await.unwrap();
    for ticket in [&declined, &denied] {
        assert!(questions.get(ticket).await.unwrap().state.outcome().is_some());
        assert!(matches!(questions.undo(ticket, Channel::Browser).await, Err(Error::Final)));
    }
    let word = async |ticket| {
        let state = questions.get(ticket).await.unwrap().state;
        state.outcome().map(|outcome| outcome.kind.word(outcome.denied))
    };
    assert_eq!((word(&declined).await, word(&denied).await), (Some("declined"), Some("denied")));
    answer(&questions, &approved, "yes").await.unwrap();
    let denial = questions.answer_finally(&approved, Proof::Interface, choose("no"), Channel::Terminal).await;
    assert!(matches!(denial, Err(Error::AlreadyDecided { .. })), "{denial:?}");
}

#[tokio::test]
async fn an_approval_decides_the_requests_that_were_shown() {
    let questions = open(without_undo());
    let draft = || Draft { denials: vec!["no".to_owned()], ..yes_or_no("Run it") };
    let asked = |request: &str| {
        let route = crate::Route { request: request.to_owned(), ..crate::Route::default() };
        crate::Asker { route, ..asker("codex") }
    };
    let ticket = questions.ask(asked("1"), draft()).await.unwrap().ticket;
    assert_eq!(questions.ask(asked("2"), draft()).await.unwrap().ticket, ticket);
    let answer = async |shown| {
        questions.answer((&ticket, shown), Proof::Interface, choose("yes"), None, Channel::Terminal).await
    };
    for shown in [0, 1, 3] {
        let early = answer(shown).await;
        assert!(matches!(early, Err(Error::MoreCalls { calls: 2 })), "{early:?}");
    }
    assert_eq!(questions.get(&ticket).await.unwrap().state, State::Pending);
    answer(2).await.unwrap();
}

#[tokio::test]
async fn an_answer_is_held_until_it_can_no_longer_be_taken_back() {
    let questions = open(QuestionsConfig::default());
    let asked = questions.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    answer(&questions, &asked.ticket, "yes").await.unwrap();
    let state = questions.wait(&asked.ticket, Duration::ZERO).await.unwrap();
    assert!(matches!(state, State::Held { .. }), "{state:?}");
    assert_eq!(questions.pending(None, 9).await.unwrap().total, 0, "other channels withdraw it at once");
    assert!(matches!(answer(&questions, &asked.ticket, "no").await, Err(Error::AlreadyDecided { .. })));
    questions.undo(&asked.ticket, Channel::Browser).await.unwrap();
    assert_eq!(questions.get(&asked.ticket).await.unwrap().state, State::Pending);
    answer(&questions, &asked.ticket, "no").await.unwrap();
    questions.core.clock.skip(3_001);
    questions.run_due().await.unwrap();
    assert!(matches!(questions.undo(&asked.ticket, Channel::Browser).await, Err(Error::Final)));
    let State::Decided(outcome) = questions.get(&asked.ticket).await.unwrap().state else {
        panic!("not final")
    };
    assert_eq!(outcome.answer, Some(choose("no")));
    let happened = questions.audit(&asked.ticket).await.unwrap();
    let kinds: Vec<_> = happened.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["asked", "answered", "undone", "answered", "final"]);
}

#[tokio::test]
async fn a_high_risk_question_needs_the_passphrase_and_wrong_passphrases_lock_it() {
    let home = tempfile::tempdir().unwrap();
    let questions =
        open(QuestionsConfig { passphrase: Some(home.path().join("passphrase")), ..without_undo() });
    let asked =
        questions.ask(asker("codex"), Draft { level: Level::High, ..yes_or_no("Pay") }).await.unwrap();
    let with = async |proof: Proof| {
        questions.answer((&asked.ticket, 1), proof, choose("yes"), None, Channel::Browser).await
    };
    assert!(matches!(with(Proof::Passphrase("anything".to_owned())).await, Err(Error::NoPassphrase)));
    assert!(matches!(questions.set_passphrase(None, "short".to_owned()).await, Err(Error::WeakPassphrase)));
    questions.set_passphrase(None, "correct horse".to_owned()).await.unwrap();
    assert!(matches!(
        questions.set_passphrase(None, "of an agent".to_owned()).await,
        Err(Error::NeedsPassphrase)
    ));
    assert!(matches!(with(Proof::Interface).await, Err(Error::NeedsPassphrase)));
    for _ in 0..3 {
        let wrong = with(Proof::Passphrase("battery staple".to_owned())).await;
        assert!(matches!(wrong, Err(Error::WrongPassphrase)), "{wrong:?}");
    }
    let locked = with(Proof::Passphrase("correct horse".to_owned())).await;
    assert!(matches!(locked, Err(Error::Locked { .. })), "{locked:?}");
    // Guesses through one channel delay no other.
    questions.check_passphrase("correct horse".to_owned(), Channel::Terminal).await.unwrap();
    questions.core.clock.skip(6_000);
    with(Proof::Passphrase("correct horse".to_owned())).await.unwrap();
    let refused = questions.audit(&asked.ticket).await.unwrap();
    assert_eq!(refused.iter().filter(|event| event.kind == "refused").count(), 3);
}
