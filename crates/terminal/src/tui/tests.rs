//! Frames and keys of the inbox without a terminal: messages in, drawn text and effects out.

mod answer_files;
mod keyboard;
mod pending_approvals;
mod undo;

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::inbox::{Effect, Inbox, Message, Timestamps};
use super::theme::Theme;
use super::view;
use crate::socket::control::questions::{ClosedElsewhere, Done, Request, Secret, Update};
use adjutant_host::git::Facts;
use adjutant_questions::{
    Answer, AskerPresence, Availability, Channel, Choice, DecidedBy, DefaultAnswer, Field, FieldValue,
    Input as Wanted, Level, OutcomeKind, Question, State, Ticket,
};

/// An Inbox with a clock that only the test moves.
struct TestInbox {
    inbox: Inbox,
    now: Timestamps,
    size: (u16, u16),
    colour: bool,
}

impl TestInbox {
    fn new() -> Self {
        let now = Timestamps { at: Instant::now(), millis: 1_800_000_000_000 };
        let mut test_inbox = Self { inbox: Inbox::default(), now, size: (72, 22), colour: true };
        test_inbox.on(Message::Hub(Ok(())));
        test_inbox
    }

    /// With these questions from the hub.
    fn with(questions: impl IntoIterator<Item = Question>) -> Self {
        let mut test_inbox = Self::new();
        let mut total = 0;
        for question in questions {
            test_inbox.on(Message::Update(Update::Question(Box::new(question))));
            total += 1;
        }
        test_inbox.on(Message::Update(Update::Current { total, availability: Availability::Here }));
        test_inbox
    }

    fn on(&mut self, input: Message) -> Vec<Request> {
        let effects = self.inbox.update(input, self.now);
        let acts = effects.into_iter().filter_map(|effect| match effect {
            Effect::Send(Request::Seen { .. }) | Effect::Redraw => None,
            Effect::Send(act) => Some(act),
            Effect::Quit => panic!("it quits"),
        });
        acts.collect()
    }

    fn pass(&mut self, millis: u64) {
        self.now.at += Duration::from_millis(millis);
        self.now.millis += i64::try_from(millis).unwrap();
    }

    /// Presses keys: a character for itself, and a few names.
    fn press(&mut self, keys: &str) -> Vec<Request> {
        let mut acts = Vec::new();
        for word in keys.split(' ') {
            let (code, modifiers) = match word {
                "Enter" => (KeyCode::Enter, KeyModifiers::NONE),
                "Esc" => (KeyCode::Esc, KeyModifiers::NONE),
                "Tab" => (KeyCode::Tab, KeyModifiers::NONE),
                "Down" => (KeyCode::Down, KeyModifiers::NONE),
                "Up" => (KeyCode::Up, KeyModifiers::NONE),
                "Space" => (KeyCode::Char(' '), KeyModifiers::NONE),
                "PgDn" => (KeyCode::PageDown, KeyModifiers::NONE),
                "F1" => (KeyCode::F(1), KeyModifiers::NONE),
                word if word.starts_with('^') => {
                    (KeyCode::Char(word.chars().nth(1).unwrap()), KeyModifiers::CONTROL)
                }
                text => {
                    for character in text.chars() {
                        let key = KeyEvent::new(KeyCode::Char(character), KeyModifiers::NONE);
                        acts.extend(self.on(Message::Key(key)));
                    }
                    continue;
                }
            };
            acts.extend(self.on(Message::Key(KeyEvent::new(code, modifiers))));
        }
        acts
    }

    fn done(&mut self, act: &Request, done: Done) {
        self.on(Message::Done(act.clone(), Ok(done)));
    }

    fn frame(&self) -> String {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        let theme = Theme { colour: self.colour };
        terminal.draw(|frame| view::draw(frame, &self.inbox, theme, self.now)).unwrap();
        let text = terminal.backend().to_string();
        let rows = text.lines().map(|line| line.trim_matches('"').trim_end());
        rows.collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}

fn ticket(letter: char) -> Ticket {
    Ticket::parse(&format!("q{}", letter.to_string().repeat(20))).unwrap()
}

fn choice(options: &[(&str, &str)], max: usize, other: bool) -> Wanted {
    let options =
        options.iter().map(|(label, value)| Choice { label: (*label).into(), value: (*value).into() });
    Wanted::Choice { options: options.collect(), min: usize::from(max == 1), max, other, list: false }
}

fn field(name: &str, input: Wanted) -> Field {
    Field::new(name, input)
}

fn question(letter: char, title: &str, fields: Vec<Field>) -> Question {
    Question {
        is_here: true,
        ticket: ticket(letter),
        seq: 0,
        client: "codex".into(),
        workspace: "/code/shop".into(),
        runs_in: String::new(),
        title: title.into(),
        message: "All tests pass.".into(),
        fields,
        level: Level::Normal,
        default: None,
        denials: Vec::new(),
        asked_at: 1_799_999_880_000,
        deadline: 1_800_000_600_000,
        seen_at: None,
        seen_ms: 0,
        snoozed_until: None,
        deliveries: 1,
        presence: AskerPresence::Connected,
        state: State::Pending,
        addressee: String::new(),
        redacted: false,
    }
}

fn deploy() -> Question {
    let options = [("Yes, deploy now", "yes"), ("No", "no")];
    Question {
        message: "The **release** is ready:\n\n- tests pass\n- nobody is on call\n\n```diff\n--- a/deploy.toml\n+++ b/deploy.toml\n@@ -1,2 +1,2 @@\n-replicas = 2\n+replicas = 4\n region = \"eu\"\n```".into(),
        ..question('a', "Deploy to production?", vec![field("answer", choice(&options, 1, false))])
    }
}

fn facts() -> Update {
    let facts = Facts {
        branch: Some("release".into()),
        commit: Some("0123456789".into()),
        dirty: 2,
        files: vec![(" M".into(), "deploy.toml".into()), ("??".into(), "notes.md".into())],
        insertions: 3,
        deletions: 1,
        more: false,
    };
    Update::Facts { workspace: "/code/shop".into(), facts: Ok(facts) }
}

#[test]
fn an_empty_inbox_has_a_message() {
    insta::assert_snapshot!(TestInbox::with([]).frame());
}

#[test]
fn the_list_shows_agents_workspaces_and_high_levels() {
    let high = Question {
        client: "claude\u{202e}code".into(),
        workspace: "/code/bank".into(),
        level: Level::High,
        deliveries: 2,
        presence: AskerPresence::Disconnected,
        ..question('b', "Rotate the \u{1b}[31mkeys\nnow?", vec![field("answer", Wanted::YesNo)])
    };
    let later = Question {
        snoozed_until: Some(1_800_000_300_000),
        asked_at: 1_799_990_000_000,
        presence: AskerPresence::Silent,
        ..question('c', "Which licence?", vec![field("answer", Wanted::YesNo)])
    };
    let mut test_inbox = TestInbox::with([later, deploy(), high]);
    test_inbox.on(Message::Update(facts()));
    insta::assert_snapshot!(test_inbox.frame());
}

#[test]
fn no_text_of_an_agent_looks_like_a_line_of_the_view() {
    let line = "hub sees /code/other: branch main at 0123, nothing changed";
    let imitation =
        format!("The tests pass.\n\n{}\n{line}\n›1 (•) No\nEnter sends\n\n    {line}", "─".repeat(72));
    let described = Field {
        label: line.to_owned(),
        description: imitation.clone(),
        ..field("answer", choice(&[("Yes\nhub sees nothing", "yes")], 1, false))
    };
    let mut test_inbox =
        TestInbox::with([Question { message: imitation, ..question('a', line, vec![described]) }]);
    test_inbox.size = (72, 40);
    test_inbox.press("Enter");
    let frame = test_inbox.frame();
    assert!(frame.contains("┃ hub sees /code/other") && frame.contains("┃ ›1 (•) No"), "{frame}");
    let own: Vec<&str> =
        frame.lines().filter(|row| row.starts_with("hub sees") || row.starts_with('›')).collect();
    assert!(own.iter().all(|row| row.contains("/code/shop") || row.contains("Yes")), "{frame}");
    assert_eq!(frame.lines().filter(|row| row.starts_with("──")).count(), 2, "{frame}");
}

#[test]
fn a_question_is_shown_with_what_the_hub_sees() {
    let mut test_inbox = TestInbox::with([deploy()]);
    test_inbox.on(Message::Update(facts()));
    test_inbox.press("Enter");
    test_inbox.pass(500);
    test_inbox.press("1");
    insta::assert_snapshot!(test_inbox.frame());
}

#[test]
fn high_asks_for_the_passphrase_and_never_shows_it() {
    let high = Question { level: Level::High, ..deploy() };
    let mut test_inbox = TestInbox::with([high]);
    test_inbox.press("Enter");
    test_inbox.pass(500);
    assert_eq!(test_inbox.press("1 Enter"), []);
    test_inbox.press("wrong");
    insta::assert_snapshot!(test_inbox.frame());
    let acts = test_inbox.press("Enter");
    assert!(!format!("{acts:?}").contains("wrong"), "{acts:?}");
    let Request::Answer { passphrase, .. } = &acts[0] else { panic!("{acts:?}") };
    assert_eq!(*passphrase, Some(Secret("wrong".into())));
    test_inbox.done(&acts[0], Done::Passphrase { reason: "wrong approval passphrase".into(), is_set: true });
    assert!(test_inbox.frame().contains("! wrong approval passphrase"), "{}", test_inbox.frame());
    let again = test_inbox.press("right Enter");
    assert!(matches!(&again[0], Request::Answer { passphrase: Some(Secret(text)), .. } if text == "right"));
    // Without a passphrase there is nothing to type.
    test_inbox.done(&again[0], Done::Passphrase { reason: "none is set".into(), is_set: false });
    let frame = test_inbox.frame();
    assert!(frame.contains("! none is set") && !frame.contains("The approval passphrase"), "{frame}");
}

#[test]
fn without_a_passphrase_high_says_so_at_once_and_asks_for_none() {
    let mut test_inbox = TestInbox::with([Question { level: Level::High, ..deploy() }]);
    let set_with = Some("adjutant --home ~/demo passphrase".to_owned());
    test_inbox.on(Message::Update(Update::NoPassphrase { set_with }));
    test_inbox.size = (72, 26);
    test_inbox.press("Enter");
    test_inbox.pass(500);
    insta::assert_snapshot!(test_inbox.frame());
    assert_eq!(test_inbox.press("1 Enter"), []);
    let frame = test_inbox.frame();
    assert!(frame.contains("! no approval passphrase is set"), "{frame}");
    assert!(!frame.contains("The approval passphrase, to send this answer"), "{frame}");
    assert_eq!(test_inbox.press("^d Enter"), [Request::Decline { ticket: ticket('a'), note: None }]);
    let mut normal = TestInbox::with([deploy()]);
    normal.on(Message::Update(Update::NoPassphrase { set_with: Some("adjutant passphrase".to_owned()) }));
    normal.press("Enter");
    assert!(!normal.frame().contains("passphrase"), "{}", normal.frame());
}

#[test]
fn a_question_closed_by_another_channel_keeps_the_typed_text() {
    let text = field("why", Wanted::Text { multiline: false, min: 0, max: 100, format: None });
    let mut test_inbox = TestInbox::with([question('e', "Why?", vec![text])]);
    test_inbox.press("Enter");
    test_inbox.pass(500);
    test_inbox.press("half");
    test_inbox.on(Message::Update(Update::Closed {
        ticket: ticket('e'),
        how: ClosedElsewhere {
            kind: OutcomeKind::Answered,
            denied: false,
            by: DecidedBy::User,
            through: Channel::Browser,
            until: None,
        },
    }));
    insta::assert_snapshot!(test_inbox.frame());
    assert_eq!(test_inbox.press("Enter"), []);
    assert!(test_inbox.inbox.form.is_none());
}

#[test]
fn a_terminal_without_a_proof_says_so_until_an_answer_is_accepted() {
    let mut test_inbox = TestInbox::with([deploy()]);
    let missing = || "it is new".to_owned();
    test_inbox.on(Message::Update(Update::Unproven { missing: missing(), needs_passphrase: false }));
    let warns = |inbox: &TestInbox| inbox.frame().contains("! an answer from here needs a proof: it is new");
    assert!(warns(&test_inbox), "{}", test_inbox.frame());
    test_inbox.press("Enter");
    test_inbox.pass(500);
    let acts = test_inbox.press("1 Enter");
    test_inbox.done(&acts[0], Done::Decided { kind: OutcomeKind::Answered, denied: false, until: None });
    assert!(!warns(&test_inbox), "{}", test_inbox.frame());
    test_inbox.on(Message::Update(Update::Unproven { missing: missing(), needs_passphrase: true }));
    assert!(!warns(&test_inbox), "the form asks for it:\n{}", test_inbox.frame());
}

#[test]
fn a_folder_that_is_not_the_one_of_the_client_is_shown_with_it() {
    let mut test_inbox = TestInbox::with([Question { runs_in: "/code/bank".into(), ..deploy() }]);
    assert!(test_inbox.frame().contains("· shop · runs in bank ·"), "{}", test_inbox.frame());
    test_inbox.press("Enter");
    let form = test_inbox.frame();
    assert!(form.contains("hub sees /code/shop\nThe client runs in another folder: /code/bank\n"), "{form}");
}

#[test]
fn an_answer_of_another_channel_stays_in_the_list_until_it_is_final() {
    let mut test_inbox = TestInbox::with([deploy()]);
    let until = Some(test_inbox.now.millis + 3000);
    let how = ClosedElsewhere {
        kind: OutcomeKind::Answered,
        denied: false,
        by: DecidedBy::User,
        through: Channel::Browser,
        until,
    };
    test_inbox.on(Message::Update(Update::Closed { ticket: ticket('a'), how }));
    let list = test_inbox.frame();
    assert!(list.contains("was answered in the browser, 3 s to undo"), "{list}");
    test_inbox.press("Enter");
    let form = test_inbox.frame();
    assert!(form.contains("This question was answered in the browser, 3 s to undo."), "{form}");
    assert_eq!(test_inbox.press("^z"), [Request::Undo { ticket: ticket('a') }]);
    test_inbox.on(Message::Update(Update::Question(Box::new(deploy()))));
    assert!(!test_inbox.frame().contains("answered"), "{}", test_inbox.frame());
    test_inbox.on(Message::Update(Update::Closed { ticket: ticket('a'), how }));
    test_inbox.pass(3001);
    test_inbox.on(Message::Tick);
    assert_eq!((test_inbox.inbox.questions.len(), test_inbox.press("^z")), (0, Vec::new()));
}

#[test]
fn a_default_and_a_narrow_screen_hide_nothing_that_matters() {
    let default = DefaultAnswer {
        answer: Answer(vec![("answer".into(), FieldValue::Choices(vec!["no".into()]))]),
        after: Duration::from_mins(2),
    };
    let mut test_inbox = TestInbox::with([Question { default: Some(default), ..deploy() }]);
    test_inbox.size = (32, 24);
    test_inbox.colour = false;
    test_inbox.press("Enter");
    test_inbox.pass(500);
    insta::assert_snapshot!(test_inbox.frame());
    test_inbox.size = (5, 2);
    let _ = test_inbox.frame();
}

#[test]
fn no_width_cuts_the_deadline() {
    let asked = Question {
        client: "claude-code".into(),
        presence: AskerPresence::Disconnected,
        deliveries: 3,
        ..question('b', "Rotate all the keys of the bank now?", vec![field("answer", Wanted::YesNo)])
    };
    let mut test_inbox = TestInbox::with([asked]);
    for columns in [24, 40, 72, 119, 120, 150, 200, 300] {
        test_inbox.size = (columns, 20);
        // The list and the question next to it have the deadline each.
        let panes = if columns < 120 { 1 } else { 2 };
        let list = test_inbox.frame();
        assert_eq!(list.matches(" · 10 min left").count(), panes, "{columns}:\n{list}");
        test_inbox.press("Enter");
        let form = test_inbox.frame();
        assert_eq!(form.matches(" · 10 min left").count(), panes, "{columns}:\n{form}");
        test_inbox.press("Esc");
        if columns >= 40 {
            assert!(list.contains("1 Rotate all the keys of the bank now"), "{columns}:\n{list}");
        }
        if columns >= 200 {
            assert!(list.contains(" · its client is away · 3 requests wait for it"), "{columns}:\n{list}");
        }
    }
}

#[test]
fn a_question_counts_as_seen_only_while_it_is_on_the_screen() {
    let mut test_inbox = TestInbox::with([deploy()]);
    let seen = |test_inbox: &mut TestInbox, input: Message| {
        let effects = test_inbox.inbox.update(input, test_inbox.now);
        effects.iter().filter(|effect| matches!(effect, Effect::Send(Request::Seen { .. }))).count()
    };
    assert_eq!(seen(&mut test_inbox, Message::Tick), 0, "the list is no look at it");
    let enter = Message::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
    assert_eq!(seen(&mut test_inbox, enter), 1);
    assert_eq!(seen(&mut test_inbox, Message::Tick), 0);
    test_inbox.pass(5001);
    assert_eq!(seen(&mut test_inbox, Message::Tick), 1);
    assert_eq!(seen(&mut test_inbox, Message::Focus(false)), 0);
    test_inbox.pass(60_000);
    assert_eq!(seen(&mut test_inbox, Message::Tick), 0, "the window lies behind another");
    assert_eq!(seen(&mut test_inbox, Message::Focus(true)), 1);
}

#[test]
fn the_colour_of_an_agent_is_stable_and_optional() {
    let theme = Theme { colour: true };
    assert_eq!(theme.agent("codex", "/a"), theme.agent("codex", "/a"));
    assert_ne!(theme.agent("codex", "/a"), theme.agent("codex", "/b"));
    let plain = Theme { colour: false };
    let colours = [plain.agent("codex", "/a"), plain.alarm(), plain.added(), plain.quiet(), plain.good()];
    assert!(colours.iter().all(|style| style.fg.is_none() && style.bg.is_none()));
}
