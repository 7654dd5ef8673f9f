//! Questions that are rejected instead of asked.

use super::{MINUTE, answer, asker, open, without_undo, yes_or_no};
use crate::{Availability, Choice, Draft, Error, Input};
use adjutant_base::config::questions::QuestionsConfig;

#[tokio::test]
async fn an_away_user_gets_no_new_question_and_keeps_the_pending_ones() {
    let questions = open(without_undo());
    let before = questions.ask(asker("codex"), yes_or_no("Before")).await.unwrap();
    let until = questions.core.clock.now() + 5 * MINUTE;
    questions.set_availability(Availability::Away { until: Some(until) }).await.unwrap();
    let refused = questions.ask(asker("codex"), yes_or_no("Deploy")).await;
    let Err(Error::NotNow(Availability::Away { until: said })) = refused else { panic!("{refused:?}") };
    assert_eq!(said, Some(until));
    assert!(questions.ask(asker("codex"), yes_or_no("Before")).await.unwrap().merged);
    answer(&questions, &before.ticket, "yes").await.unwrap();
    questions.core.clock.skip(6 * MINUTE);
    questions.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
}

#[tokio::test]
async fn a_draft_over_a_limit_or_without_meaning_is_rejected_with_its_path() {
    let questions = open(QuestionsConfig { pending_per_client: 2, pending: 3, ..without_undo() });
    for (client, title) in [("a", "One"), ("a", "Two"), ("b", "Three")] {
        questions.ask(asker(client), yes_or_no(title)).await.unwrap();
    }
    let own = questions.ask(asker("a"), yes_or_no("More")).await;
    assert!(matches!(own, Err(Error::TooMany { pending: 2, own: true })), "{own:?}");
    let all = questions.ask(asker("c"), yes_or_no("More")).await;
    assert!(matches!(all, Err(Error::TooMany { pending: 3, own: false })), "{all:?}");
    let refused = async |draft: Draft| match questions.ask(asker("d"), draft).await {
        Err(Error::Invalid { path, validator, .. }) => (path.join("."), validator),
        other => panic!("{other:?}"),
    };
    let options = |options: &[(&str, &str)]| {
        let mut draft = yes_or_no("T");
        let options =
            options.iter().map(|(label, value)| Choice { label: (*label).into(), value: (*value).into() });
        draft.fields[0].input =
            Input::Choice { options: options.collect(), min: 1, max: 1, other: false, list: false };
        draft
    };
    let cases = [
        (yes_or_no(" "), "title", "minLength"),
        (yes_or_no(&"x".repeat(1 << 20)), "title", "maxLength"),
        (Draft { message: "x".repeat(1 << 20), ..yes_or_no("T") }, "message", "maxLength"),
        (Draft { message: "\0".to_owned(), ..yes_or_no("T") }, "message", "pattern"),
        (Draft { fields: Vec::new(), ..yes_or_no("T") }, "fields", "minItems"),
        (options(&[]), "options", "minItems"),
        (options(&[("Yes", "1"), ("No", "1")]), "options.1.value", "uniqueItems"),
        (options(&[("Yes", "1"), ("Yes ", "2")]), "options.1.label", "uniqueItems"),
        (options(&[("", "1")]), "options.0.label", "minLength"),
    ];
    for (draft, path, validator) in cases {
        assert_eq!(refused(draft).await, (path.to_owned(), validator));
    }
}
