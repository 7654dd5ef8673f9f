//! Test of the undo window of an answer.

use super::*;

#[test]
fn an_answer_can_be_undone_for_some_seconds() {
    let mut test_inbox = TestInbox::with([deploy()]);
    test_inbox.press("Enter");
    test_inbox.pass(500);
    let acts = test_inbox.press("1 Enter");
    test_inbox.done(
        &acts[0],
        Done::Decided {
            kind: OutcomeKind::Answered,
            denied: false,
            until: Some(test_inbox.now.millis + 3000),
        },
    );
    insta::assert_snapshot!(test_inbox.frame());
    test_inbox.on(Message::Update(Update::Closed {
        ticket: ticket('a'),
        how: ClosedElsewhere {
            kind: OutcomeKind::Answered,
            denied: false,
            by: DecidedBy::User,
            through: Channel::Terminal,
            until: None,
        },
    }));
    let undo = test_inbox.press("u");
    assert_eq!(undo, [Request::Undo { ticket: ticket('a') }]);
    test_inbox.done(&undo[0], Done::Noted);
    assert!(
        test_inbox.frame().contains("1 (•) Yes, deploy now"),
        "as it was filled in:\n{}",
        test_inbox.frame()
    );
    test_inbox.pass(500);
    let acts = test_inbox.press("Enter");
    test_inbox.done(
        &acts[0],
        Done::Decided {
            kind: OutcomeKind::Answered,
            denied: false,
            until: Some(test_inbox.now.millis + 3000),
        },
    );
    test_inbox.pass(3001);
    assert_eq!(test_inbox.press("u"), [], "the strip is gone");
}
