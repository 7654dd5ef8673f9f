//! Tests of the commands that begin with a slash.

use super::*;

#[test]
fn commands_do_what_codex_offers() {
    let mut view = View::of(conversation(), vec![ready()], (80, 24));
    let typed = |view: &mut View, line: &str| {
        for character in line.chars() {
            view.on(Message::Key(KeyEvent::new(KeyCode::Char(character), KeyModifiers::NONE)));
        }
        view.press("Enter")
    };
    let operations = [
        ("/fork", Operation::Fork { before: None }),
        ("/fork 2", Operation::Fork { before: Some(TurnRef::FromEnd(2)) }),
        ("/revert", Operation::Revert { before: TurnRef::FromEnd(1) }),
        ("/rename Tides of 2027", Operation::Rename { name: "Tides of 2027".to_owned() }),
        ("/archive", Operation::Archive),
        ("/delete yes", Operation::Delete),
        ("/end-commands", Operation::EndCommands),
    ];
    for (line, wanted) in operations {
        let effects = typed(&mut view, line);
        let [Effect::Run(Action::Operate { operation, .. })] = &effects[..] else {
            panic!("{line}: {effects:?}")
        };
        assert_eq!(*operation, wanted, "{line}");
    }
    let branch = ReviewTarget::BaseBranch { branch: "main".to_owned() };
    let acts = [
        ("/compact", Act::Compact),
        ("/review", Act::Review(ReviewTarget::UncommittedChanges)),
        ("/review branch main", Act::Review(branch)),
    ];
    for (line, wanted) in acts {
        let effects = typed(&mut view, line);
        let [Effect::Run(Action::Send(prompt))] = &effects[..] else { panic!("{line}: {effects:?}") };
        assert_eq!((prompt.thread.as_deref(), &prompt.start.turn.act), (Some("t-1"), &wanted), "{line}");
    }
    // An invalid line stays, so that the user corrects it.
    for line in ["/delete", "/rename", "/fork all", "/image /nowhere", "/nothing"] {
        assert!(typed(&mut view, line).is_empty(), "{line}");
        assert!(view.draw().contains(&format!("> {line}")), "{line}: {}", view.draw());
        view.press("^u");
    }
    // The next prompt has the model; a prompt may begin with a stroke.
    assert!(typed(&mut view, "/model large high").is_empty());
    assert!(view.draw().contains("── model large, effort high ─"), "{}", view.draw());
    let effects = typed(&mut view, "//etc/hosts");
    let [Effect::Run(Action::Send(prompt))] = &effects[..] else { panic!("{effects:?}") };
    let turn = &prompt.start.turn;
    let given = (turn.text.as_str(), turn.model.as_deref(), turn.effort.as_deref());
    assert_eq!(given, ("/etc/hosts", Some("large"), Some("high")));
    view.on(Message::Sent {
        prompt: String::new(),
        sent: Ok(SentPrompt { thread: "t-1".to_owned(), ahead: 0 }),
    });
    assert!(!view.draw().contains("model large"), "{}", view.draw());

    let effects = typed(&mut view, "/diff");
    assert!(
        matches!(&effects[..], [Effect::Run(Action::Report { report: Report::Diff, .. })]),
        "{effects:?}"
    );
    view.on(Message::Reported { thread: "t-1".to_owned(), kind: Ok(ItemKind::Patch { changes: patch() }) });
    assert!(view.draw().contains("± /code/tides.txt"), "{}", view.draw());
    let effects = typed(&mut view, "/agents");
    let [Effect::Watch { text, number }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(text, "agent of t-1");
    view.on(Message::Threads { number: *number, threads: vec![row("t-3", "agent of t-1", "idle")] });
    assert!(view.draw().contains("Threads with `agent of t-1`"), "{}", view.draw());
    let effects = view.press("Enter");
    assert!(matches!(&effects[..], [Effect::Open { thread, .. }] if thread == "t-3"), "{effects:?}");
    let effects = view.on(Message::Operated(Ok(Some("t-2".to_owned()))));
    assert!(matches!(&effects[..], [Effect::Open { thread, .. }] if thread == "t-2"), "{effects:?}");
    view.on(Message::Operated(Ok(None)));
    assert!(view.draw().contains("a new thread"), "{}", view.draw());
}
