//! Tests of the keys of the list and of a question.

use super::*;

#[test]
fn keys_that_were_meant_for_the_list_choose_nothing() {
    let mut test_inbox = TestInbox::with([deploy()]);
    assert_eq!(test_inbox.press("Enter 1 Enter"), [], "the cooldown");
    test_inbox.pass(500);
    assert_eq!(test_inbox.press("Enter"), [], "nothing is chosen");
    assert!(test_inbox.frame().contains("! an answer is needed"), "{}", test_inbox.frame());
    let acts = test_inbox.press("2 Enter");
    let answer = Answer(vec![("answer".into(), FieldValue::Choices(vec!["no".into()]))]);
    assert_eq!(
        acts,
        [Request::Answer {
            ticket: ticket('a'),
            shown: 1,
            answer,
            note: None,
            passphrase: None,
            files: Vec::new()
        }]
    );
    assert_eq!(test_inbox.press("Enter"), [], "it is on its way");
}

#[test]
fn a_wide_terminal_has_the_list_and_the_selected_question_next_to_each_other() {
    let second = question(
        'b',
        "Which licence?",
        vec![field("answer", choice(&[("MIT", "mit"), ("ISC", "isc")], 1, false))],
    );
    let mut test_inbox = TestInbox::with([deploy(), second]);
    test_inbox.size = (119, 20);
    assert!(!test_inbox.frame().contains("region"), "{}", test_inbox.frame());
    test_inbox.size = (200, 24);
    let list = test_inbox.frame();
    assert!(list.contains("Which licence?") && list.contains("+replicas = 4"), "{list}");
    assert!(
        list.contains("Enter opens") && !list.contains("in a moment"),
        "the keys are those of the list: {list}"
    );
    let longest = list.lines().map(|line| line.chars().count()).max();
    assert_eq!(longest, Some(200), "the list has the columns that the question leaves: {list}");
    test_inbox.press("Down");
    let next = test_inbox.frame();
    assert!(next.contains("1 ( ) MIT") && !next.contains("+replicas = 4"), "{next}");
    assert_eq!(test_inbox.press("1"), [], "it opens the first question");
    test_inbox.pass(500);
    let open = test_inbox.frame();
    assert!(open.contains("Which licence?") && open.contains("1-9 choose"), "{open}");
    assert!(open.contains("›1 Deploy to production?"), "the list marks it: {open}");
    test_inbox.size = (120, 24);
    insta::assert_snapshot!("inbox_two_panes", test_inbox.frame());
}

#[test]
fn one_key_answers_as_the_agent_recommends() {
    let options = [("Now", "now"), ("Tonight (Recommended)", "tonight")];
    let mut test_inbox =
        TestInbox::with([question('a', "When?", vec![field("answer", choice(&options, 1, true))])]);
    assert_eq!(test_inbox.press("Enter r"), [], "the cooldown");
    test_inbox.pass(500);
    assert!(test_inbox.frame().contains("r recommended"), "{}", test_inbox.frame());
    // In a text the same letter is text.
    test_inbox.press("3 r");
    assert!(!test_inbox.frame().contains("r recommended"), "{}", test_inbox.frame());
    test_inbox.press("Esc Enter");
    test_inbox.pass(500);
    let acts = test_inbox.press("r");
    let Request::Answer { answer, .. } = &acts[0] else { panic!("{acts:?}") };
    assert_eq!(answer.0, [("answer".to_owned(), FieldValue::Choices(vec!["tonight".into()]))]);
    let mut without = TestInbox::with([deploy()]);
    without.press("Enter");
    without.pass(500);
    assert_eq!(without.press("r"), []);
}

#[test]
fn escape_goes_one_step_back_and_no_further() {
    let mut test_inbox = TestInbox::with([deploy()]);
    test_inbox.press("Enter");
    test_inbox.pass(500);
    test_inbox.press("^n because Enter ^n more Esc");
    assert!(test_inbox.frame().contains("note: because"), "{}", test_inbox.frame());
    test_inbox.press("Esc");
    assert!(test_inbox.inbox.form.is_none());
    test_inbox.press("Esc Esc");
    assert_eq!(test_inbox.inbox.questions.len(), 1);
}

#[test]
fn every_kind_of_field_is_filled_in_by_keys_alone() {
    let fields = vec![
        Field {
            label: "Targets".into(),
            ..field("targets", choice(&[("Linux", "l"), ("Mac", "m"), ("BSD", "b")], 2, false))
        },
        Field { label: "Licence".into(), ..field("licence", choice(&[("MIT", "mit")], 1, true)) },
        Field {
            label: "Name".into(),
            ..field("name", Wanted::Text { multiline: false, min: 0, max: 100, format: None })
        },
        Field {
            label: "Port".into(),
            ..field("port", Wanted::Number { whole: true, min: Some(1.0), max: Some(65535.0) })
        },
        Field { label: "When".into(), ..field("when", Wanted::Date { time: false }) },
        Field { label: "Sure".into(), required: false, ..field("sure", Wanted::YesNo) },
    ];
    let mut test_inbox = TestInbox::with([question('d', "Release form", fields)]);
    test_inbox.size = (60, 30);
    test_inbox.press("Enter");
    test_inbox.pass(500);
    test_inbox.press("1 3 Enter 2 Apache-2.0 Enter Ad jutant Enter 99999 Enter");
    insta::assert_snapshot!(test_inbox.frame());
    let acts = test_inbox.press("^u 8080 Enter 2026-11-21 Enter y Enter");
    let answer = Answer(vec![
        ("targets".into(), FieldValue::Choices(vec!["l".into(), "b".into()])),
        ("licence".into(), FieldValue::Other("Apache-2.0".into())),
        ("name".into(), FieldValue::Text("Adjutant".into())),
        ("port".into(), FieldValue::Number(8080.0)),
        ("when".into(), FieldValue::Date("2026-11-21".into())),
        ("sure".into(), FieldValue::YesNo(true)),
    ]);
    assert_eq!(
        acts,
        [Request::Answer {
            ticket: ticket('d'),
            shown: 1,
            answer,
            note: None,
            passphrase: None,
            files: Vec::new()
        }]
    );
}

#[test]
fn snooze_redirect_and_decline_are_requests() {
    let out = |keys: &str| {
        let mut test_inbox = TestInbox::with([deploy()]);
        test_inbox.press("Enter");
        test_inbox.pass(500);
        test_inbox.press(keys)
    };
    let ticket = ticket('a');
    assert_eq!(out("^s Enter"), [Request::Snooze { ticket: ticket.clone(), minutes: 10 }]);
    assert_eq!(out("^s 45 Enter"), [Request::Snooze { ticket: ticket.clone(), minutes: 45 }]);
    assert_eq!(out("^s 61 Enter"), []);
    assert_eq!(out("^r Enter"), []);
    assert_eq!(
        out("^r shorter Enter"),
        [Request::Redirect { ticket: ticket.clone(), note: "shorter".into() }]
    );
    assert_eq!(out("^d Enter"), [Request::Decline { ticket: ticket.clone(), note: None }]);
    assert_eq!(out("^d no Enter"), [Request::Decline { ticket, note: Some("no".into()) }]);
}

#[test]
fn keys_set_the_availability() {
    let mut test_inbox = TestInbox::with([question('a', "Deploy?", vec![field("answer", Wanted::YesNo)])]);
    assert!(test_inbox.press("a").is_empty());
    let frame = test_inbox.frame();
    assert!(frame.contains("3 away for 1 h"), "{frame}");
    assert!(test_inbox.press("Esc").is_empty() && !test_inbox.frame().contains("3 away"));
    let until = Some(test_inbox.now.millis + 3_600_000);
    let away = Availability::Away { until };
    assert_eq!(test_inbox.press("a 3"), [Request::Availability(away)]);
    test_inbox.on(Message::Done(Request::Availability(away), Ok(Done::Available(away))));
    test_inbox.pass(60_000);
    let frame = test_inbox.frame();
    assert!(frame.contains("Adjutant Inbox · away, 59 min left · 1 question"), "{frame}");
    assert_eq!(test_inbox.press("a 1"), [Request::Availability(Availability::Here)]);
    test_inbox.on(Message::Update(Update::Current { total: 1, availability: Availability::Here }));
    assert!(test_inbox.frame().contains("Adjutant Inbox · 1 question"));
    assert_eq!(test_inbox.press("a 4"), [Request::Availability(Availability::Away { until: None })]);
}

#[test]
fn f1_in_the_list_shows_its_keys_until_the_next_key() {
    let mut test_inbox = TestInbox::with([deploy()]);
    assert!(test_inbox.frame().ends_with("q quits  F1 keys"), "{}", test_inbox.frame());
    test_inbox.press("F1");
    insta::assert_snapshot!(test_inbox.frame());
    for open in ["?", "F1"] {
        test_inbox.inbox.layer = None;
        test_inbox.press(open);
        assert!(test_inbox.frame().contains("all approvals together"), "{}", test_inbox.frame());
        // The key that closes it has no other meaning, or a look at the keys could quit.
        test_inbox.press("q");
        assert!(!test_inbox.frame().contains("all approvals together"), "{}", test_inbox.frame());
    }
    test_inbox.size = (120, 24);
    test_inbox.press("?");
    let wide = test_inbox.frame();
    assert!(wide.contains("all approvals together") && wide.contains("1 ( ) Yes, deploy now"), "{wide}");
}
