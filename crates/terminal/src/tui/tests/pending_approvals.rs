//! Tests of the approvals that are answered together.

use super::*;

fn read_to_the_end(test_inbox: &mut TestInbox) {
    for _ in 0..20 {
        if test_inbox.frame().contains("y approves") {
            return;
        }
        test_inbox.press("PgDn");
    }
    panic!("{}", test_inbox.frame());
}

fn approval(letter: char, line: &str) -> Question {
    Question {
        denials: vec!["deny".into()],
        message: format!("command:\n\n```sh\n{line}\n```\nfolder:\n\n```\n/code/shop\n```\n"),
        ..question(
            letter,
            "Claude Code wants to run a command",
            vec![field(
                "answer",
                choice(&[("Approve", "approve"), ("Always", "always"), ("Deny", "deny")], 1, false),
            )],
        )
    }
}

#[test]
fn a_request_that_does_not_fit_the_screen_is_allowed_only_after_its_end_was_shown() {
    for (key, is_allowed) in [("1", true), ("2", true), ("3", false)] {
        let mut test_inbox = TestInbox::with([approval('b', &"make all\n".repeat(12))]);
        test_inbox.size = (72, 16);
        test_inbox.press("Enter");
        assert!(test_inbox.frame().contains("lines below: PgDn"), "{}", test_inbox.frame());
        test_inbox.pass(500);
        let acts = test_inbox.press(&format!("{key} Enter"));
        assert_eq!(acts.is_empty(), is_allowed, "{key}: {acts:?}");
        if is_allowed {
            assert!(test_inbox.frame().contains("read the request to its end"), "{}", test_inbox.frame());
            while test_inbox.frame().contains("below: PgDn") {
                test_inbox.press("PgDn");
            }
            assert!(matches!(&test_inbox.press("Enter")[..], [Request::Answer { .. }]));
        }
    }
}

#[test]
fn approvals_are_looked_over_and_answered_together() {
    let mut test_inbox = TestInbox::with([deploy(), approval('b', "make all"), approval('c', "make docs")]);
    test_inbox.size = (72, 14);
    let value = |act: &Request| match act {
        Request::Answer { ticket, answer, .. } => {
            (ticket.clone(), answer.get("answer").map(FieldValue::text).unwrap_or_default())
        }
        other => panic!("{other:?}"),
    };
    test_inbox.press("b");
    let frame = test_inbox.frame();
    for part in ["1 of 2 · codex in /code/shop asks", "make all", "/code/shop", "2 of 2", "n denies all 2"] {
        assert!(frame.contains(part), "{part} is not in\n{frame}");
    }
    assert!(!frame.contains("Deploy to production?"), "{frame}");
    test_inbox.pass(500);
    assert_eq!(test_inbox.press("y"), [], "the end was not on the screen");
    read_to_the_end(&mut test_inbox);
    let more = Question { deliveries: 2, ..approval('c', "make docs") };
    test_inbox.on(Message::Update(Update::Question(Box::new(more))));
    assert_eq!(test_inbox.press("y"), [], "a further request has to be read");
    // A later approval is not shown, so it is not answered.
    test_inbox.on(Message::Update(Update::Question(Box::new(approval('d', "make clean")))));
    read_to_the_end(&mut test_inbox);
    assert_eq!(test_inbox.press("y"), [], "too early");
    test_inbox.pass(500);
    let acts = test_inbox.press("y");
    let given: Vec<_> = acts.iter().map(value).collect();
    assert_eq!(given, [(ticket('b'), "approve".to_owned()), (ticket('c'), "approve".to_owned())]);
    for act in &acts {
        test_inbox.done(act, Done::Decided { kind: OutcomeKind::Answered, denied: false, until: None });
    }
    test_inbox.press("b");
    test_inbox.pass(500);
    let denied: Vec<_> = test_inbox.press("n").iter().map(value).collect();
    assert_eq!(denied, [(ticket('d'), "deny".to_owned())]);
    let one = TestInbox::with([deploy(), approval('b', "make all")]).frame();
    assert!(one.contains("b approvals together"), "the key is there for one approval too: {one}");
    let none = TestInbox::with([deploy()]).frame();
    assert!(!none.contains("b approvals together"), "{none}");
}
