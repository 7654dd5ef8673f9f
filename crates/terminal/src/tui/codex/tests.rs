//! Frames and keys of the Codex view without a terminal: messages in, drawn text and effects out.

mod slash_commands;

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;

use super::messages::{Action, Effect, Message, Report};
use super::state::ViewState;
use super::view;
use crate::socket::control::codex::{SentPrompt, ThreadSnapshot, ThreadUpdate};
use crate::tui::theme::Theme;
use adjutant_codex::approval::{Approval, ApprovalKind, Decision};
use adjutant_codex::event::{CodexEvent, End, Item, ItemKind, ItemState, Level, Ready, Usage};
use adjutant_codex::operations::{Operation, TurnRef};
use adjutant_codex::patch::FileChange;
use adjutant_codex::rate_limits::{LimitWindow, RateLimits};
use adjutant_codex::thread_options::{Act, ReviewTarget, ThreadOptions, TurnInput};
use adjutant_codex::{ListedThread, NumberedItem};

struct View {
    state: ViewState,
    now: Instant,
    size: (u16, u16),
}

fn row(id: &str, title: &str, state: &str) -> ListedThread {
    let row = json!({
        "thread": id, "title": title, "state": state, "cwd": "/work", "model": "m", "backend": "app-server",
        "version": "0.169.0", "tokens": 24, "context": 0, "context_window": 0, "archived": 0, "parent": "",
        "created_at": 0, "updated_at": 0, "last_end": null,
    });
    serde_json::from_value(row).unwrap()
}

fn item(id: &str, state: ItemState, kind: ItemKind) -> Item {
    Item { id: id.to_owned(), turn: None, state, kind }
}

fn command(output: &str, exit_code: Option<i64>) -> ItemKind {
    let (command, cwd) = ("cat tides.txt".to_owned(), None);
    ItemKind::Command { command, cwd, output: output.to_owned(), exit_code }
}

fn patch() -> Vec<FileChange> {
    let diff = "@@ -1,2 +1,2 @@\n-low  06:12\n+low  06:14\n high 12:40\n".to_owned();
    vec![FileChange { path: "/code/tides.txt".to_owned(), how: "update".to_owned(), diff }]
}

fn conversation() -> Vec<Item> {
    let many = (1..=40).map(|n| format!("tide {n}")).collect::<Vec<_>>().join("\n");
    let text = |text: &str| text.to_owned();
    vec![
        item("1", ItemState::Done, ItemKind::User { text: text("Put the table of tides in order.") }),
        item("2", ItemState::Done, ItemKind::Reasoning { text: text("One.\nTwo.\nThree.") }),
        item("3", ItemState::Done, command(&many, Some(0))),
        item("4", ItemState::Failed, command("no such file\u{1b}[2J\n", Some(2))),
        item("5", ItemState::Declined, ItemKind::Patch { changes: patch() }),
        item(
            "6",
            ItemState::Done,
            ItemKind::Agent { text: text("Done:\n\n- the *low* tide comes first\u{202e}") },
        ),
    ]
}

fn asked(id: &str, argv: Vec<String>) -> Approval {
    Approval {
        id: id.to_owned(),
        thread: "t-1".to_owned(),
        turn: None,
        item: None,
        kind: ApprovalKind::Command { argv },
        folder: Some("/work".to_owned()),
        reason: Some("May I?".to_owned()),
        choices: vec![Decision::Approve],
        session_scope: None,
        always_scope: None,
        others: serde_json::Map::new(),
    }
}

impl View {
    /// With a thread of these items from the hub; `state` has the events that restore its state.
    fn of(items: Vec<Item>, state: Vec<CodexEvent>, size: (u16, u16)) -> Self {
        let mut view = Self { state: ViewState::new(ThreadOptions::default()), now: Instant::now(), size };
        view.state.open_with(Some("t-1".to_owned()));
        let items = items.into_iter().enumerate().rev();
        let items = items
            .map(|(at, item)| NumberedItem { seq: i64::try_from(at).unwrap() + 1, at: 0, item })
            .collect();
        let row = row("t-1", "Put the table of tides in order.", "idle");
        view.on(Message::Updated {
            number: 1,
            update: ThreadUpdate::Snapshot(Box::new(ThreadSnapshot { row, state, items })),
        });
        view.draw();
        view
    }

    fn on(&mut self, message: Message) -> Vec<Effect> {
        self.state.update(message, self.now)
    }

    fn happens(&mut self, events: Vec<CodexEvent>) {
        self.on(Message::Updated { number: 1, update: ThreadUpdate::Events { events } });
        self.draw();
    }

    /// Presses keys: a character for itself, and a few names. A frame is drawn after each word.
    fn press(&mut self, keys: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        for word in keys.split(' ') {
            let (code, modifiers) = match word {
                "Enter" => (KeyCode::Enter, KeyModifiers::NONE),
                "Esc" => (KeyCode::Esc, KeyModifiers::NONE),
                "Tab" => (KeyCode::Tab, KeyModifiers::NONE),
                "Up" => (KeyCode::Up, KeyModifiers::NONE),
                "Home" => (KeyCode::Home, KeyModifiers::NONE),
                "PgDn" => (KeyCode::PageDown, KeyModifiers::NONE),
                "Alt-Enter" => (KeyCode::Enter, KeyModifiers::ALT),
                word if word.starts_with('^') => {
                    (KeyCode::Char(word.chars().nth(1).unwrap()), KeyModifiers::CONTROL)
                }
                text => {
                    for character in text.chars() {
                        let key = KeyEvent::new(KeyCode::Char(character), KeyModifiers::NONE);
                        effects.extend(self.on(Message::Key(key)));
                    }
                    continue;
                }
            };
            effects.extend(self.on(Message::Key(KeyEvent::new(code, modifiers))));
            self.draw();
        }
        effects
    }

    fn draw(&mut self) -> String {
        let theme = Theme { colour: true };
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        self.state.lay_out(self.size.0, self.size.1, theme);
        terminal.draw(|frame| view::draw(frame, &self.state, theme)).unwrap();
        let text = terminal.backend().to_string();
        let rows = text.lines().map(|line| line.trim_matches('"').trim_end());
        rows.collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}

fn ready() -> CodexEvent {
    CodexEvent::Ready(Ready::default())
}

fn running() -> Vec<CodexEvent> {
    vec![ready(), CodexEvent::TurnStarted { turn: "u-1".to_owned() }]
}

#[test]
fn a_wide_screen_shows_the_thread_and_the_list() {
    let mut view = View::of(conversation(), vec![ready()], (100, 36));
    let threads = vec![
        row("t-1", "Put the table of tides in order.", "idle"),
        row("t-2", "Another that asks something", "asking"),
        row("t-3", "One\u{202e} that runs", "running"),
    ];
    view.on(Message::Threads { number: 0, threads });
    insta::assert_snapshot!("codex_thread", view.draw());
}

#[test]
fn an_item_is_opened_found_and_copied() {
    let mut view = View::of(conversation(), vec![ready()], (60, 24));
    let effects = view.press("Tab / tide Enter");
    assert!(effects.is_empty());
    assert!(view.draw().contains("▌ ± /code/tides.txt"), "{}", view.draw());
    view.press("n n");
    assert!(view.draw().contains("▌ $ cat tides.txt"), "{}", view.draw());
    view.press("Home");
    let [Effect::Copy(text)] = &view.press("c")[..] else { panic!("no copy") };
    assert!(text.contains("Put the table of tides"), "{text}");
    view.press("/ Three Enter");
    view.press("Enter");
    let opened = view.draw();
    assert!(opened.contains("Three.") && opened.contains("Enter shows less"), "{opened}");
}

#[test]
fn an_approval_must_be_visible_before_it_is_approved() {
    let mut view = View::of(Vec::new(), running(), (60, 20));
    view.happens(vec![CodexEvent::ApprovalRequested {
        approval: asked("a-1", vec!["touch made.txt".to_owned()]),
    }]);
    insta::assert_snapshot!("codex_asks", view.draw());
    assert!(view.press("^y").is_empty(), "what comes in the first moment was meant for something else");
    view.now += Duration::from_secs(1);
    assert!(view.press("^t").is_empty(), "it is not offered");
    let effects = view.press("^y");
    let [Effect::Run(Action::Decide { approval, decision: Decision::Approve })] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(approval, "a-1");

    // One that does not fit is shown whole first.
    let long = (0..60).map(|n| format!("echo {n}")).collect::<Vec<_>>().join("\n");
    let settled = CodexEvent::ApprovalResolved {
        approval: "a-1".to_owned(),
        decision: Some(Decision::Approve),
        by: adjutant_codex::approval::Decider::User,
    };
    view.happens(vec![settled, CodexEvent::ApprovalRequested { approval: asked("a-2", vec![long]) }]);
    view.now += Duration::from_secs(1);
    assert!(view.press("^y").is_empty());
    assert!(view.draw().contains("Ctrl-O shows all"), "{}", view.draw());
    view.press("^o");
    assert!(view.press("^y").is_empty(), "its end was not on the screen yet");
    view.press("PgDn PgDn PgDn PgDn PgDn PgDn PgDn PgDn PgDn");
    assert!(view.draw().contains("$ echo 0") || view.draw().contains("echo 59"), "{}", view.draw());
    assert_eq!(view.press("^y").len(), 1);

    // A no needs no reading, and what is typed is why.
    view.press("too long");
    let effects = view.press("^d");
    let [Effect::Run(Action::Decide { decision: Decision::Deny { note }, .. })] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(note.as_deref(), Some("toolong"));
}

#[test]
fn a_key_of_the_inbox_has_no_other_meaning_here() {
    let mut view = View::of(Vec::new(), running(), (80, 24));
    let every_choice = vec![Decision::Approve, Decision::ApproveForSession, Decision::ApproveAlways];
    let approval = Approval { choices: every_choice, ..asked("a-1", vec!["touch made.txt".to_owned()]) };
    view.happens(vec![CodexEvent::ApprovalRequested { approval }]);
    view.now += Duration::from_secs(1);
    // There they snooze a question, add a note or a file, and ask for another question.
    for key in ["^s", "^n", "^f", "^r"] {
        assert!(view.press(key).is_empty(), "{key}");
    }
    assert!(matches!(&view.press("^l")[..], [Effect::Redraw]));
    let frame = view.draw();
    for (key, hint, wanted) in [
        ("^y", "Ctrl-Y approve", Decision::Approve),
        ("^t", "Ctrl-T approve for this session", Decision::ApproveForSession),
        ("^p", "Ctrl-P approve, and do not ask again", Decision::ApproveAlways),
    ] {
        assert!(frame.replace("\n  ", " ").contains(hint), "{frame}");
        let effects = view.press(key);
        let [Effect::Run(Action::Decide { decision, .. })] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(*decision, wanted);
    }
}

#[test]
fn an_approval_shows_the_action_then_its_folder_its_reason_and_the_rest() {
    let mut view = View::of(Vec::new(), running(), (90, 30));
    let scope = Some("the same command in the same folder".to_owned());
    let argv = ["touch", "made.txt"].map(str::to_owned).to_vec();
    let approval = Approval { session_scope: scope, ..asked("a-1", argv) };
    view.happens(vec![CodexEvent::ApprovalRequested { approval }]);
    let frame = view.draw();
    let places = ["$ touch made.txt", "folder: /work", "┃ May I?", "arguments: ", "for this session: "]
        .map(|text| frame.find(text).unwrap_or_else(|| panic!("no `{text}` in\n{frame}")));
    assert!(places.is_sorted(), "{frame}");
}

#[test]
fn a_prompt_begins_a_thread_goes_into_a_turn_or_waits_for_its_end() {
    let mut view =
        View { state: ViewState::new(ThreadOptions::default()), now: Instant::now(), size: (60, 12) };
    view.draw();
    let effects = view.press("hello Enter");
    let [Effect::Run(Action::Send(order))] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((order.thread.as_deref(), order.start.turn.text.as_str()), (None, "hello"));
    assert!(view.press("more Enter").is_empty(), "the thread is on its way");
    let sent = Ok(SentPrompt { thread: "t-1".to_owned(), ahead: 0 });
    let effects = view.on(Message::Sent { prompt: "hello".to_owned(), sent });
    assert!(matches!(&effects[..], [Effect::Open { thread, number: 1 }] if thread == "t-1"), "{effects:?}");

    view.happens(running());
    let effects = view.press("Enter");
    let [Effect::Run(Action::Steer { input, .. })] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(input.text, "more");
    let input = TurnInput { files: vec!["/tides".to_owned()], ..input.clone() };
    let refused = Err("codex mcp-server cannot add text to a running turn".to_owned());
    view.on(Message::Steered { input, done: refused });
    let frame = view.draw();
    assert!(frame.contains("> more") && frame.contains("file /tides"), "what was refused is back: {frame}");
    let effects = view.press("Alt-Enter");
    assert!(
        matches!(&effects[..], [Effect::Run(Action::Send(order))] if order.thread.is_some()),
        "{effects:?}"
    );

    let effects = view.press("^c");
    assert!(matches!(&effects[..], [Effect::Run(Action::Interrupt { .. })]), "{effects:?}");
    assert!(matches!(view.press("^c")[..], [Effect::Quit]));
    let end = CodexEvent::TurnEnded { turn: None, end: End::Interrupted, message: None };
    view.happens(vec![end]);
    assert!(view.draw().contains("the turn was interrupted"), "{}", view.draw());
}

#[test]
fn a_long_thread_is_paged_and_bounded() {
    let items = (0..200)
        .map(|n| item(&format!("i{n}"), ItemState::Done, ItemKind::Agent { text: format!("word {n}") }));
    let mut view = View::of(items.collect(), vec![ready()], (60, 20));
    assert!(view.draw().contains("word 199"));
    view.press("Tab");
    let effects = view.press("Home");
    let [Effect::Run(Action::Older { before: 1, .. })] = &effects[..] else { panic!("{effects:?}") };
    let older = (0..5).rev().map(|n| NumberedItem {
        seq: n - 5,
        at: 0,
        item: item(&format!("o{n}"), ItemState::Done, ItemKind::Agent { text: format!("older {n}") }),
    });
    view.on(Message::Older { thread: "t-1".to_owned(), items: Ok(older.collect()) });
    let frame = view.draw();
    assert!(frame.contains("word 0"), "what is looked at stays where it is: {frame}");
    assert!(view.press("Home").is_empty(), "there are none before these");
    assert!(view.draw().contains("older 0"), "{}", view.draw());

    // A flood while the user reads the beginning: the screen stays, memory is bounded, frames are quick.
    let began = Instant::now();
    for part in 0..100 {
        let told = (0..1000).map(|n| CodexEvent::ItemEnded {
            item: item(
                &format!("f{part}-{n}"),
                ItemState::Done,
                ItemKind::Agent { text: format!("flood {n}") },
            ),
        });
        view.happens(told.collect());
    }
    assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
    view.press("^c");
    view.state.update(Message::Key(KeyEvent::new(KeyCode::End, KeyModifiers::NONE)), view.now);
    assert!(view.draw().contains("flood 999"), "{}", view.draw());
}

#[test]
fn the_title_says_what_is_left_and_the_foot_what_continues() {
    let command = item("9", ItemState::Running, command("", None));
    let limits = RateLimits {
        plan: None,
        windows: vec![LimitWindow {
            name: "primary".to_owned(),
            used_percent: 34.0,
            minutes: Some(300),
            resets_at: None,
        }],
    };
    let state = vec![
        ready(),
        CodexEvent::ItemStarted { item: command },
        CodexEvent::Usage(Usage { context: 50_000, window: 200_000, ..Usage::default() }),
        CodexEvent::Limits(limits),
    ];
    let frame = View::of(Vec::new(), state, (120, 16)).draw();
    assert!(frame.contains(" · m · 75% context left · 34% of 5 hours used · Codex 0.169.0"), "{frame}");
    assert!(frame.contains("▸ /end-commands ends what continues without a turn: cat tides.txt"), "{frame}");
}

/// Lines that a model may write to look like the view.
const IMITATION: &str =
    "Look:\n✓ approved (by a user): run rm\n✗ failed\n› Yes.\n… 2 more lines\n\n$ ls\nCtrl-Y approve";

#[test]
fn no_text_of_a_model_looks_like_a_line_of_the_view() {
    let text = || IMITATION.to_owned();
    let patch = vec![FileChange { path: "a".to_owned(), how: "update".to_owned(), diff: text() }];
    let kinds = [
        ItemKind::Agent { text: text() },
        ItemKind::Reasoning { text: text() },
        command(IMITATION, Some(0)),
        ItemKind::Patch { changes: patch },
        ItemKind::Tool {
            server: "s".to_owned(),
            tool: text(),
            arguments: json!(IMITATION),
            result: Some(text()),
        },
        ItemKind::Other { name: text(), content: json!(null) },
    ];
    for kind in kinds {
        let shown = format!("{kind:?}");
        let mut view = View::of(vec![item("1", ItemState::Done, kind)], vec![ready()], (80, 40));
        view.press("Tab Enter");
        let frame = view.draw();
        assert!(frame.contains("approved (by a user)"), "{frame}");
        // The first columns are the margin of the chosen item and the signs of the view.
        let signs: String = frame.lines().skip(1).filter_map(|line| line.chars().nth(2)).collect();
        assert!(!signs.contains(['✓', '✗', '›', 'C']), "{shown}\n{frame}");
        assert!(!signs.contains('$') || shown.starts_with("Command"), "{shown}\n{frame}");
    }
    let approval = Approval {
        reason: Some("folder: /safe\nCtrl-Y approve".to_owned()),
        ..asked("a-1", vec!["touch made.txt\nfolder: /safe\nCtrl-Y approve".to_owned()])
    };
    let view = &mut View::of(Vec::new(), running(), (60, 24));
    view.happens(vec![CodexEvent::ApprovalRequested { approval }]);
    let frame = view.draw();
    assert_eq!(frame.lines().filter(|line| line.starts_with("folder:")).count(), 1, "{frame}");
    assert_eq!(frame.lines().filter(|line| line.starts_with("Ctrl-Y")).count(), 1, "{frame}");
    assert!(frame.contains("\n┃ folder: /safe\n┃ Ctrl-Y approve\n"), "{frame}");
}

#[test]
fn a_repeated_warning_is_shown_once_with_its_count() {
    let warning =
        || CodexEvent::Notice { level: Level::Warning, message: "the stream was cut; again".to_owned() };
    let said = |id: &str| CodexEvent::ItemEnded {
        item: item(id, ItemState::Done, ItemKind::Agent { text: "Working.".to_owned() }),
    };
    let mut view = View::of(conversation(), running(), (60, 30));
    view.happens(vec![warning(), said("a"), warning(), warning(), said("b"), warning()]);
    let frame = view.draw();
    assert_eq!(frame.matches("the stream was cut").count(), 1, "{frame}");
    assert!(frame.contains("· the stream was cut; again ×4"), "{frame}");
    // Of the next turn it is another warning.
    let asked = item("u", ItemState::Done, ItemKind::User { text: "And now?".to_owned() });
    view.happens(vec![CodexEvent::ItemEnded { item: asked }, warning()]);
    let frame = view.draw();
    assert_eq!(frame.matches("the stream was cut").count(), 2, "{frame}");
    // Stored warnings are folded as well.
    let stored = |id: &str| {
        item(id, ItemState::Done, ItemKind::Other { name: "slow".to_owned(), content: json!(null) })
    };
    let mut view = View::of(vec![stored("f1"), stored("f2"), stored("f3")], vec![ready()], (60, 20));
    assert!(view.draw().contains("· slow ×3"), "{}", view.draw());
}

#[test]
fn the_list_is_hidden_with_one_thread() {
    let mut view = View::of(conversation(), vec![ready()], (100, 36));
    view.on(Message::Threads { number: 0, threads: vec![row("t-1", "The only one", "idle")] });
    assert!(!view.draw().contains("Threads"), "{}", view.draw());
    view.press("Tab Tab");
    assert!(view.draw().contains("The only one"), "{}", view.draw());
}

#[test]
fn markdown_of_the_agent_is_rendered() {
    let text = "## Tides\n\n| port | low |\n|---|---|\n| Bergen | 06:12 |\n| Oslo | 07:40 |\n\nIn *order* now, with `sort`:\n\n\
                ```sh\nsort -k2 tides.txt\n```\n\n1. read [the table](https://tides.test/table)\n2. sort it\n   - by time\n\n> Mind the spring tide.\n";
    let agent = || {
        vec![
            item("1", ItemState::Done, ItemKind::User { text: "Put the table in order.".to_owned() }),
            item("2", ItemState::Done, command("low 06:12\n", Some(1))),
            item("3", ItemState::Done, ItemKind::Agent { text: text.to_owned() }),
        ]
    };
    insta::assert_snapshot!("codex_markdown_80x24", View::of(agent(), vec![ready()], (80, 24)).draw());
    let mut view = View::of(agent(), vec![ready()], (200, 50));
    let threads = vec![row("t-1", "Put the table in order.", "idle"), row("t-2", "Another thread", "asking")];
    view.on(Message::Threads { number: 0, threads });
    insta::assert_snapshot!("codex_markdown_200x50", view.draw());
}

#[test]
fn small_and_narrow_screens_are_drawn() {
    let mut state = running();
    state.push(CodexEvent::ApprovalRequested {
        approval: asked("a-1", vec!["touch".to_owned(), json!("é 日本").to_string()]),
    });
    let mut view = View::of(conversation(), state, (60, 20));
    for width in [1, 2, 19, 20, 21, 40, 89, 90, 200] {
        for height in [1, 2, 7, 8, 9, 15, 50] {
            view.size = (width, height);
            view.draw();
            view.press("Tab");
        }
    }
}
