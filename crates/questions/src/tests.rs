//! What the desk promises, told on a store in memory with a clock of its own.

mod silent;

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;

use super::{
    Answer, Asker, Availability, By, Choice, Default, Draft, Error, Field, Filter, Given, Input, Kind, Level,
    Outcome, Popups, Presenter, Proof, State, Ticket, Waits,
};
use crate::config::Database;
use crate::config::popups::PopupsConfig;
use crate::events::Events;
use crate::store::Store;

const MINUTE: i64 = 60_000;

fn desk(settings: PopupsConfig) -> Popups {
    Popups::new(settings, Store::new(Database::Memory), Events::new())
}

fn at_once() -> PopupsConfig {
    PopupsConfig { undo: Duration::ZERO, ..PopupsConfig::default() }
}

fn asker(name: &str) -> Asker {
    Asker {
        key: format!("socket:{name}:"),
        client: name.to_owned(),
        session: format!("s-{name}"),
        ..Asker::default()
    }
}

fn yes_or_no(title: &str) -> Draft {
    let option = |label: &str| Choice { label: label.to_owned(), value: label.to_lowercase() };
    Draft {
        title: title.to_owned(),
        message: "Deploy now?".to_owned(),
        workspace: "/work".to_owned(),
        fields: vec![Field {
            name: "answer".to_owned(),
            label: String::new(),
            description: String::new(),
            required: true,
            input: Input::Choice {
                options: vec![option("Yes"), option("No")],
                min: 1,
                max: 1,
                other: false,
                list: false,
            },
        }],
        ..Draft::default()
    }
}

fn choose(value: &str) -> Answer {
    Answer::one("answer", Given::Choices(vec![value.to_owned()]))
}

async fn answer(desk: &Popups, ticket: &Ticket, value: &str) -> Result<Outcome, Error> {
    desk.answer(ticket, Proof::Door, choose(value), None, Presenter::Browser).await
}

fn kind(state: &State) -> Option<Kind> {
    state.outcome().map(|outcome| outcome.kind)
}

#[tokio::test]
async fn the_first_answer_wins_and_reaches_who_asked_once() {
    let desk = desk(at_once());
    let asked = desk.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    assert!(!asked.merged);
    let waiting = desk.wait(&asked.ticket, Duration::from_secs(20));
    let (state, outcome) = tokio::join!(waiting, answer(&desk, &asked.ticket, "yes"));
    let outcome = outcome.unwrap();
    assert_eq!(state.unwrap(), State::Decided(outcome.clone()));
    assert_eq!((outcome.by, outcome.through), (By::Person, Presenter::Browser));
    assert_eq!(outcome.answer, Some(choose("yes")));
    let late = desk.decline(&asked.ticket, None, Presenter::Terminal).await;
    assert!(
        matches!(late, Err(Error::AlreadyDecided { kind: Kind::Answered, through: Presenter::Browser, .. })),
        "{late:?}"
    );
    // Nobody told the caller yet: it is handed over once, or joined by asking again.
    let key = asker("codex").key;
    assert_eq!(desk.undelivered(&key, 9).await.unwrap().len(), 1);
    let again = desk.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    assert!(again.merged && again.ticket == asked.ticket && kind(&again.state) == Some(Kind::Answered));
    assert!(desk.delivered(&key, &asked.ticket).await);
    assert!(!desk.delivered(&key, &asked.ticket).await);
    assert!(desk.undelivered(&key, 9).await.unwrap().is_empty());
    let anew = desk.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    assert!(!anew.merged && anew.ticket != asked.ticket);
}

#[tokio::test]
async fn one_answer_serves_all_who_asked_the_same_and_nobody_else() {
    let desk = desk(at_once());
    let first = desk.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    let mut second = asker("codex");
    second.key = "socket:codex:/elsewhere".to_owned();
    let joined = desk.ask(second.clone(), yes_or_no(" Deploy ")).await.unwrap();
    assert_eq!((joined.ticket.clone(), joined.merged), (first.ticket.clone(), true));
    let other = desk.ask(asker("copilot"), yes_or_no("Deploy")).await.unwrap();
    assert_ne!(other.ticket, first.ticket);
    assert_eq!(desk.get(&first.ticket).await.unwrap().deliveries, 2);
    answer(&desk, &first.ticket, "no").await.unwrap();
    for key in [&asker("codex").key, &second.key] {
        assert_eq!(desk.undelivered(key, 9).await.unwrap().len(), 1);
        assert!(desk.delivered(key, &first.ticket).await);
    }
    assert!(matches!(desk.get_as(&asker("copilot").key, &first.ticket).await, Err(Error::Unknown { .. })));
    assert_eq!(desk.get(&other.ticket).await.unwrap().state, State::Pending);
}

#[tokio::test]
async fn an_answer_is_held_until_it_can_no_longer_be_taken_back() {
    let desk = desk(PopupsConfig::default());
    let asked = desk.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    answer(&desk, &asked.ticket, "yes").await.unwrap();
    let state = desk.wait(&asked.ticket, Duration::ZERO).await.unwrap();
    assert!(matches!(state, State::Held { .. }), "{state:?}");
    assert_eq!(desk.pending(None, 9).await.unwrap().total, 0, "other presenters withdraw it at once");
    assert!(matches!(answer(&desk, &asked.ticket, "no").await, Err(Error::AlreadyDecided { .. })));
    desk.take_back(&asked.ticket, Presenter::Browser).await.unwrap();
    assert_eq!(desk.get(&asked.ticket).await.unwrap().state, State::Pending);
    answer(&desk, &asked.ticket, "no").await.unwrap();
    desk.0.clock.skip(3_001);
    desk.0.look().await.unwrap();
    assert!(matches!(desk.take_back(&asked.ticket, Presenter::Browser).await, Err(Error::Final)));
    let State::Decided(outcome) = desk.get(&asked.ticket).await.unwrap().state else { panic!("not final") };
    assert_eq!(outcome.answer, Some(choose("no")));
    let happened = desk.happened(&asked.ticket).await.unwrap();
    let kinds: Vec<_> = happened.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["asked", "answered", "taken_back", "answered", "final"]);
}

#[tokio::test]
async fn silence_decides_only_what_was_seen_for_long_enough() {
    let desk = desk(at_once());
    let with_default = |title: &str| Draft {
        default: Some(Default { answer: choose("no"), after: Duration::from_secs(20) }),
        timeout: Some(Duration::from_hours(200)),
        ..yes_or_no(title)
    };
    let unseen = desk.ask(asker("a"), with_default("Unseen")).await.unwrap().ticket;
    let glanced = desk.ask(asker("b"), with_default("Glanced")).await.unwrap().ticket;
    let read = desk.ask(asker("c"), with_default("Read")).await.unwrap().ticket;
    desk.seen(&glanced, Presenter::Terminal).await.unwrap();
    for _ in 0..4 {
        desk.seen(&read, Presenter::Browser).await.unwrap();
        desk.0.clock.skip(6_000);
        desk.0.look().await.unwrap();
        assert_eq!(desk.get(&read).await.unwrap().state, State::Pending);
    }
    // Between two looks an hour apart nobody was there.
    desk.0.clock.skip(60 * MINUTE);
    desk.seen(&read, Presenter::Browser).await.unwrap();
    desk.0.look().await.unwrap();
    assert_eq!(desk.get(&read).await.unwrap().state, State::Pending);
    desk.0.clock.skip(6_000);
    desk.seen(&read, Presenter::Browser).await.unwrap();
    desk.0.look().await.unwrap();
    let State::Decided(outcome) = desk.get(&read).await.unwrap().state else { panic!("the default is due") };
    assert_eq!(
        (outcome.by, outcome.through, outcome.answer),
        (By::Default, Presenter::None, Some(choose("no")))
    );
    // A week without a presenter decides nothing.
    for _ in 0..7 * 24 {
        desk.0.clock.skip(60 * MINUTE);
        desk.0.look().await.unwrap();
    }
    let history = desk.history(&Filter::default(), None, 9).await.unwrap();
    for question in history.questions.iter().filter(|question| question.ticket != read) {
        let State::Decided(outcome) = &question.state else { panic!("history is of decided questions") };
        assert_eq!((outcome.kind, outcome.by), (Kind::TimedOut, By::Nobody));
    }
    assert_eq!(desk.wait(&unseen, Duration::ZERO).await.unwrap().outcome().map(|end| end.seen_ms), Some(0));
    assert_eq!(kind(&desk.get(&glanced).await.unwrap().state), Some(Kind::TimedOut));
}

#[tokio::test]
async fn a_client_that_comes_back_finds_its_question_and_one_that_stays_away_loses_it() {
    let desk = desk(at_once());
    let asked = desk.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    desk.gone("s-codex").await;
    assert_eq!(desk.get(&asked.ticket).await.unwrap().waits, Waits::Away);
    desk.0.clock.skip(9 * MINUTE);
    desk.0.look().await.unwrap();
    let again = desk.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    assert!(again.merged && again.ticket == asked.ticket);
    desk.0.clock.skip(9 * MINUTE);
    desk.0.look().await.unwrap();
    assert_eq!(desk.get(&asked.ticket).await.unwrap().state, State::Pending);
    desk.gone("s-codex").await;
    desk.0.clock.skip(11 * MINUTE);
    desk.0.look().await.unwrap();
    assert_eq!(kind(&desk.get(&asked.ticket).await.unwrap().state), Some(Kind::ClientGone));
    assert!(desk.undelivered(&asker("codex").key, 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_snooze_moves_the_deadline_and_a_cancel_ends_the_question() {
    let desk = desk(at_once());
    let draft = Draft { timeout: Some(Duration::from_mins(10)), ..yes_or_no("Deploy") };
    let asked = desk.ask(asker("codex"), draft).await.unwrap();
    let deadline = desk.get(&asked.ticket).await.unwrap().deadline;
    assert!(matches!(desk.snooze(&asked.ticket, 61, Presenter::Browser).await, Err(Error::Snooze)));
    let until = desk.snooze(&asked.ticket, 30, Presenter::Browser).await.unwrap();
    let question = desk.get(&asked.ticket).await.unwrap();
    assert_eq!(question.snoozed_until, Some(until));
    assert!((question.deadline - deadline - 30 * MINUTE).abs() < 1_000);
    desk.0.clock.skip(31 * MINUTE);
    desk.0.look().await.unwrap();
    let question = desk.get(&asked.ticket).await.unwrap();
    assert_eq!((question.snoozed_until, question.state), (None, State::Pending));
    let cancelled = desk.cancel(&asker("codex").key, &asked.ticket).await.unwrap();
    assert_eq!(kind(&cancelled), Some(Kind::Cancelled));
    let stranger = desk.cancel("nobody", &asked.ticket).await;
    assert!(matches!(stranger, Err(Error::Unknown { .. })), "{stranger:?}");
}

#[tokio::test]
async fn a_high_question_takes_the_passphrase_and_guesses_cost_time() {
    let home = tempfile::tempdir().unwrap();
    let desk = desk(PopupsConfig { passphrase: Some(home.path().join("desk-passphrase")), ..at_once() });
    let asked = desk.ask(asker("codex"), Draft { level: Level::High, ..yes_or_no("Pay") }).await.unwrap();
    let with =
        async |proof: Proof| desk.answer(&asked.ticket, proof, choose("yes"), None, Presenter::Browser).await;
    assert!(matches!(with(Proof::Passphrase("anything".to_owned())).await, Err(Error::NoPassphrase)));
    assert!(matches!(desk.set_passphrase(None, "short".to_owned()).await, Err(Error::WeakPassphrase)));
    desk.set_passphrase(None, "correct horse".to_owned()).await.unwrap();
    assert!(matches!(desk.set_passphrase(None, "of an agent".to_owned()).await, Err(Error::NeedsPassphrase)));
    assert!(matches!(with(Proof::Door).await, Err(Error::NeedsPassphrase)));
    for _ in 0..3 {
        let wrong = with(Proof::Passphrase("battery staple".to_owned())).await;
        assert!(matches!(wrong, Err(Error::WrongPassphrase)), "{wrong:?}");
    }
    let locked = with(Proof::Passphrase("correct horse".to_owned())).await;
    assert!(matches!(locked, Err(Error::Locked { .. })), "{locked:?}");
    desk.0.clock.skip(6_000);
    with(Proof::Passphrase("correct horse".to_owned())).await.unwrap();
    let refused = desk.happened(&asked.ticket).await.unwrap();
    assert_eq!(refused.iter().filter(|event| event.kind == "refused").count(), 3);
}

#[tokio::test]
async fn who_is_away_is_asked_nothing_new_and_gets_what_was_asked() {
    let desk = desk(at_once());
    let before = desk.ask(asker("codex"), yes_or_no("Before")).await.unwrap();
    let until = desk.0.clock.now() + 5 * MINUTE;
    desk.set_availability(Availability::Away { until: Some(until) }).await.unwrap();
    let refused = desk.ask(asker("codex"), yes_or_no("Deploy")).await;
    let Err(Error::NotNow(Availability::Away { until: said })) = refused else { panic!("{refused:?}") };
    assert_eq!(said, Some(until));
    assert!(desk.ask(asker("codex"), yes_or_no("Before")).await.unwrap().merged);
    answer(&desk, &before.ticket, "yes").await.unwrap();
    desk.0.clock.skip(6 * MINUTE);
    desk.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
}

#[tokio::test]
async fn what_is_too_much_or_means_nothing_is_refused_with_its_place() {
    let desk = desk(PopupsConfig { pending_per_client: 2, pending: 3, ..at_once() });
    for (client, title) in [("a", "One"), ("a", "Two"), ("b", "Three")] {
        desk.ask(asker(client), yes_or_no(title)).await.unwrap();
    }
    let own = desk.ask(asker("a"), yes_or_no("More")).await;
    assert!(matches!(own, Err(Error::TooMany { pending: 2, own: true })), "{own:?}");
    let all = desk.ask(asker("c"), yes_or_no("More")).await;
    assert!(matches!(all, Err(Error::TooMany { pending: 3, own: false })), "{all:?}");
    let refused = async |draft: Draft| match desk.ask(asker("d"), draft).await {
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

/// What may happen to one of three questions.
#[derive(Clone, Debug)]
enum Act {
    Ask(u8, u8),
    Answer(u8),
    Refuse(u8),
    TakeBack(u8),
    Snooze(u8),
    Seen(u8),
    Cancel(u8, u8),
    Gone(u8),
    Fetch(u8),
    /// So many seconds go by.
    Wait(u16),
}

fn act() -> impl Strategy<Value = Act> {
    let (question, client) = (0..3_u8, 0..2_u8);
    prop_oneof![
        3 => (question.clone(), client.clone()).prop_map(|(q, c)| Act::Ask(q, c)),
        2 => question.clone().prop_map(Act::Answer),
        1 => question.clone().prop_map(Act::Refuse),
        1 => question.clone().prop_map(Act::TakeBack),
        1 => question.clone().prop_map(Act::Snooze),
        3 => question.clone().prop_map(Act::Seen),
        1 => (question, client.clone()).prop_map(|(q, c)| Act::Cancel(q, c)),
        1 => client.clone().prop_map(Act::Gone),
        1 => client.prop_map(Act::Fetch),
        4 => (1..900_u16).prop_map(Act::Wait),
    ]
}

/// The desk, and what is known of it from outside.
struct World {
    desk: Popups,
    tickets: HashMap<u8, Ticket>,
    ends: HashMap<Ticket, Outcome>,
    fetched: Vec<(String, Ticket)>,
}

impl World {
    async fn act(&mut self, act: Act) {
        let desk = self.desk.clone();
        let who = |client: u8| asker(["ann", "bob"][usize::from(client)]);
        match act {
            Act::Ask(question, client) => {
                let draft = Draft {
                    default: Some(Default { answer: choose("no"), after: Duration::from_secs(20) }),
                    timeout: Some(Duration::from_mins(30)),
                    ..yes_or_no(&format!("Question {question}"))
                };
                // Both clients are sessions of one agent, so they ask as one.
                let who = Asker { client: "codex".to_owned(), ..who(client) };
                let ticket = desk.ask(who, draft).await.unwrap().ticket;
                self.tickets.insert(question, ticket);
            }
            Act::Wait(seconds) => {
                desk.0.clock.skip(i64::from(seconds) * 1_000);
                desk.0.look().await.unwrap();
            }
            Act::Gone(client) => desk.gone(&who(client).session).await,
            Act::Fetch(client) => {
                let key = who(client).key;
                for question in desk.undelivered(&key, 9).await.unwrap() {
                    assert!(desk.delivered(&key, &question.ticket).await);
                    let fetched = (key.clone(), question.ticket);
                    assert!(!self.fetched.contains(&fetched), "an outcome is handed over once");
                    self.fetched.push(fetched);
                }
            }
            Act::Answer(q)
            | Act::Refuse(q)
            | Act::TakeBack(q)
            | Act::Snooze(q)
            | Act::Seen(q)
            | Act::Cancel(q, _) => {
                let Some(ticket) = self.tickets.get(&q).cloned() else { return };
                let before = desk.get(&ticket).await.unwrap().state;
                let pending = before == State::Pending;
                match act {
                    Act::Answer(_) => assert_eq!(answer(&desk, &ticket, "yes").await.is_ok(), pending),
                    Act::Refuse(_) => {
                        assert_eq!(desk.decline(&ticket, None, Presenter::Phone).await.is_ok(), pending);
                    }
                    Act::TakeBack(_) => {
                        let back = desk.take_back(&ticket, Presenter::Browser).await.is_ok();
                        assert!(back || before.outcome().is_some() || matches!(before, State::Held { .. }));
                    }
                    Act::Snooze(_) => {
                        assert_eq!(desk.snooze(&ticket, 5, Presenter::Browser).await.is_ok(), pending);
                    }
                    Act::Seen(_) => desk.seen(&ticket, Presenter::Browser).await.unwrap(),
                    // Who never asked it may not.
                    Act::Cancel(_, client) => drop(desk.cancel(&who(client).key, &ticket).await),
                    _ => {}
                }
            }
        }
    }

    /// Holds every question against what it was.
    async fn look(&mut self) {
        let pending = self.desk.pending(None, 99).await.unwrap();
        for question in &pending.questions {
            assert!(!self.ends.contains_key(&question.ticket), "what has ended is asked again: {question:?}");
        }
        for question in self.desk.history(&Filter::default(), None, 99).await.unwrap().questions {
            let State::Decided(outcome) = question.state else { panic!("history is of decided questions") };
            if outcome.by == By::Default {
                assert!(question.seen_at.is_some() && outcome.seen_ms >= 20_000, "{outcome:?}");
            }
            assert_eq!(outcome.answer.is_some(), outcome.kind == Kind::Answered);
            let first = self.ends.entry(question.ticket).or_insert_with(|| outcome.clone());
            assert_eq!(*first, outcome, "an end stays");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_question_has_one_end_whatever_happens(acts in prop::collection::vec(act(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let desk = desk(PopupsConfig::default());
            let mut world = World {
                desk,
                tickets: HashMap::new(),
                ends: HashMap::new(),
                fetched: Vec::new(),
            };
            for act in acts {
                world.act(act).await;
                world.look().await;
            }
            // In the end everything has one.
            for _ in 0..200 {
                world.act(Act::Wait(900)).await;
            }
            world.look().await;
            let left = world.desk.pending(None, 9).await.unwrap();
            assert_eq!(left.total, 0, "every question ends");
        });
    }
}

#[tokio::test]
async fn the_history_keeps_what_its_settings_say_and_no_pending_question_goes() {
    let keep = Duration::from_hours(24);
    let desk = desk(PopupsConfig { keep, ..at_once() });
    let old = desk.ask(asker("codex"), yes_or_no("Old")).await.unwrap();
    let waits = desk
        .ask(asker("codex"), Draft { timeout: Some(Duration::from_hours(100)), ..yes_or_no("Waits") })
        .await
        .unwrap();
    answer(&desk, &old.ticket, "yes").await.unwrap();
    desk.0.clock.skip(24 * 60 * MINUTE - MINUTE);
    let young = desk.ask(asker("codex"), yes_or_no("Young")).await.unwrap();
    answer(&desk, &young.ticket, "yes").await.unwrap();
    desk.0.prune().await.unwrap();
    assert_eq!(desk.history(&Filter::default(), None, 9).await.unwrap().total, 2, "one more minute");
    desk.0.clock.skip(2 * MINUTE);
    desk.0.prune().await.unwrap();
    let left = desk.history(&Filter::default(), None, 9).await.unwrap();
    assert_eq!(left.questions.iter().map(|q| q.title.as_str()).collect::<Vec<_>>(), ["Young"]);
    assert!(matches!(desk.get(&old.ticket).await, Err(Error::Unknown { .. })));
    assert!(desk.happened(&old.ticket).await.unwrap().is_empty(), "its audit goes with it");
    assert_eq!(desk.get(&waits.ticket).await.unwrap().state, State::Pending);
}
