//! Behaviour of questions on a store in memory, with a clock that the tests move.

mod silent;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::{
    Answer, Asker, AskerPresence, Availability, Channel, Choice, DecidedBy, DefaultAnswer, Draft, Error,
    Field, FieldValue, Filter, Input, Level, Outcome, OutcomeKind, Proof, Question, Questions, State, Ticket,
};
use adjutant_base::config::Database;
use adjutant_base::config::questions::QuestionsConfig;
use adjutant_base::events::Events;
use adjutant_store::Store;

const MINUTE: i64 = 60_000;

fn open(settings: QuestionsConfig) -> Arc<Questions> {
    Arc::new(Questions::new(settings, Store::new(Database::Memory), Events::new()))
}

fn at_once() -> QuestionsConfig {
    QuestionsConfig { undo: Duration::ZERO, ..QuestionsConfig::default() }
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
    Answer::one("answer", FieldValue::Choices(vec![value.to_owned()]))
}

async fn answer(questions: &Questions, ticket: &Ticket, value: &str) -> Result<Outcome, Error> {
    questions.answer(ticket, Proof::Interface, choose(value), None, Channel::Browser).await
}

fn kind(state: &State) -> Option<OutcomeKind> {
    state.outcome().map(|outcome| outcome.kind)
}

#[tokio::test]
async fn the_first_answer_wins_and_reaches_who_asked_once() {
    let questions = open(at_once());
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
async fn sessions_of_one_client_share_no_question_and_a_lost_one_is_continued_in_its_place() {
    let questions = open(at_once());
    let session = |place: &str, id: &str| Asker {
        key: format!("{place}#{id}"),
        place: place.to_owned(),
        session: id.to_owned(),
        ..asker("codex")
    };
    let (one, two) = (session("codex:/a", "1"), session("codex:/a", "2"));
    let (three, elsewhere) = (session("codex:/a", "3"), session("codex:/b", "4"));
    let first = questions.ask(one.clone(), yes_or_no("Deploy")).await.unwrap().ticket;
    assert_eq!(questions.ask(one.clone(), yes_or_no(" Deploy ")).await.unwrap().ticket, first);
    let second = questions.ask(two.clone(), yes_or_no("Deploy")).await.unwrap().ticket;
    assert_ne!(second, first);
    questions.session_closed(&one.session).await;
    assert!(!questions.ask(elsewhere.clone(), yes_or_no("Deploy")).await.unwrap().merged);
    let unknown = questions.resume(&elsewhere, &first).await;
    assert!(matches!(unknown, Err(Error::Unknown { .. })), "{unknown:?}");
    let continued = questions.ask(three.clone(), yes_or_no("Deploy")).await.unwrap();
    assert_eq!((continued.ticket, continued.merged), (first.clone(), true));
    assert_eq!(questions.get(&first).await.unwrap().deliveries, 1, "it has one asker");
    answer(&questions, &first, "no").await.unwrap();
    for other in [&one, &two, &elsewhere] {
        assert!(questions.undelivered(&other.key, 9).await.unwrap().is_empty());
        assert!(matches!(questions.get_as(&other.key, &first).await, Err(Error::Unknown { .. })));
    }
    assert_eq!(questions.undelivered(&three.key, 9).await.unwrap().len(), 1);
    // The ticket resumes it too, and a delivered outcome is not used again.
    questions.session_closed(&three.session).await;
    assert_eq!(questions.resume(&session("codex:/a", "5"), &first).await.unwrap().ticket, first);
    assert!(questions.mark_delivered("codex:/a#5", &first).await);
    questions.session_closed("5").await;
    assert!(!questions.ask(session("codex:/a", "6"), yes_or_no("Deploy")).await.unwrap().merged);
    assert_eq!(questions.get(&second).await.unwrap().state, State::Pending);
}

#[tokio::test]
async fn an_outcome_on_its_way_is_given_out_once() {
    let questions = open(at_once());
    let key = asker("codex").key;
    let asked = questions.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap().ticket;
    answer(&questions, &asked, "yes").await.unwrap();
    let all = |_: &Question| true;
    let (mut claimed, _) = questions.claim_undelivered(&key, 9, all).await.unwrap();
    assert_eq!(claimed.len(), 1);
    let (again, none_left) = questions.claim_undelivered(&key, 9, all).await.unwrap();
    assert!(again.is_empty() && !none_left);
    // The outcome did not arrive, so the next call carries it.
    drop(claimed.pop());
    let (claimed, _) = questions.claim_undelivered(&key, 9, all).await.unwrap();
    // The same question, asked again meanwhile, is a new one once the outcome has arrived.
    let arrives = async {
        tokio::task::yield_now().await;
        for (_, claim) in claimed {
            claim.confirm().await;
        }
    };
    let (anew, ()) = tokio::join!(questions.ask(asker("codex"), yes_or_no("Deploy")), arrives);
    assert!(!anew.unwrap().merged);
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
        assert!(matches!(questions.take_back(ticket, Channel::Browser).await, Err(Error::Final)));
    }
    answer(&questions, &approved, "yes").await.unwrap();
    let denial = questions.answer_finally(&approved, Proof::Interface, choose("no"), Channel::Terminal).await;
    assert!(matches!(denial, Err(Error::AlreadyDecided { .. })), "{denial:?}");
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
    questions.take_back(&asked.ticket, Channel::Browser).await.unwrap();
    assert_eq!(questions.get(&asked.ticket).await.unwrap().state, State::Pending);
    answer(&questions, &asked.ticket, "no").await.unwrap();
    questions.clock.skip(3_001);
    questions.run_due().await.unwrap();
    assert!(matches!(questions.take_back(&asked.ticket, Channel::Browser).await, Err(Error::Final)));
    let State::Decided(outcome) = questions.get(&asked.ticket).await.unwrap().state else {
        panic!("not final")
    };
    assert_eq!(outcome.answer, Some(choose("no")));
    let happened = questions.audit(&asked.ticket).await.unwrap();
    let kinds: Vec<_> = happened.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["asked", "answered", "taken_back", "answered", "final"]);
}

#[tokio::test]
async fn silence_decides_only_what_was_seen_for_long_enough() {
    let questions = open(at_once());
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
        questions.clock.skip(6_000);
        questions.run_due().await.unwrap();
        assert_eq!(questions.get(&read).await.unwrap().state, State::Pending);
    }
    // The hour between two views does not count as seen.
    questions.clock.skip(60 * MINUTE);
    questions.mark_seen(&read, Channel::Browser).await.unwrap();
    questions.run_due().await.unwrap();
    assert_eq!(questions.get(&read).await.unwrap().state, State::Pending);
    questions.clock.skip(6_000);
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
        questions.clock.skip(60 * MINUTE);
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
async fn a_client_that_comes_back_finds_its_question_and_one_that_stays_away_loses_it() {
    let questions = open(at_once());
    let asked = questions.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    questions.session_closed("s-codex").await;
    assert_eq!(questions.get(&asked.ticket).await.unwrap().presence, AskerPresence::Disconnected);
    questions.clock.skip(9 * MINUTE);
    questions.run_due().await.unwrap();
    let again = questions.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
    assert!(again.merged && again.ticket == asked.ticket);
    questions.clock.skip(9 * MINUTE);
    questions.run_due().await.unwrap();
    assert_eq!(questions.get(&asked.ticket).await.unwrap().state, State::Pending);
    questions.session_closed("s-codex").await;
    questions.clock.skip(11 * MINUTE);
    questions.run_due().await.unwrap();
    assert_eq!(kind(&questions.get(&asked.ticket).await.unwrap().state), Some(OutcomeKind::ClientGone));
    assert!(questions.undelivered(&asker("codex").key, 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_snooze_moves_the_deadline_and_a_cancel_ends_the_question() {
    let questions = open(at_once());
    let draft = Draft { timeout: Some(Duration::from_mins(10)), ..yes_or_no("Deploy") };
    let asked = questions.ask(asker("codex"), draft).await.unwrap();
    let deadline = questions.get(&asked.ticket).await.unwrap().deadline;
    assert!(matches!(questions.snooze(&asked.ticket, 61, Channel::Browser).await, Err(Error::Snooze)));
    let until = questions.snooze(&asked.ticket, 30, Channel::Browser).await.unwrap();
    let question = questions.get(&asked.ticket).await.unwrap();
    assert_eq!(question.snoozed_until, Some(until));
    assert!((question.deadline - deadline - 30 * MINUTE).abs() < 1_000);
    questions.clock.skip(31 * MINUTE);
    questions.run_due().await.unwrap();
    let question = questions.get(&asked.ticket).await.unwrap();
    assert_eq!((question.snoozed_until, question.state), (None, State::Pending));
    let cancelled = questions.cancel(&asker("codex").key, &asked.ticket).await.unwrap();
    assert_eq!(kind(&cancelled), Some(OutcomeKind::Cancelled));
    let stranger = questions.cancel("nobody", &asked.ticket).await;
    assert!(matches!(stranger, Err(Error::Unknown { .. })), "{stranger:?}");
}

#[tokio::test]
async fn a_high_question_takes_the_passphrase_and_guesses_cost_time() {
    let home = tempfile::tempdir().unwrap();
    let questions = open(QuestionsConfig { passphrase: Some(home.path().join("passphrase")), ..at_once() });
    let asked =
        questions.ask(asker("codex"), Draft { level: Level::High, ..yes_or_no("Pay") }).await.unwrap();
    let with = async |proof: Proof| {
        questions.answer(&asked.ticket, proof, choose("yes"), None, Channel::Browser).await
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
    questions.clock.skip(6_000);
    with(Proof::Passphrase("correct horse".to_owned())).await.unwrap();
    let refused = questions.audit(&asked.ticket).await.unwrap();
    assert_eq!(refused.iter().filter(|event| event.kind == "refused").count(), 3);
}

#[tokio::test]
async fn who_is_away_is_asked_nothing_new_and_gets_what_was_asked() {
    let questions = open(at_once());
    let before = questions.ask(asker("codex"), yes_or_no("Before")).await.unwrap();
    let until = questions.clock.now() + 5 * MINUTE;
    questions.set_availability(Availability::Away { until: Some(until) }).await.unwrap();
    let refused = questions.ask(asker("codex"), yes_or_no("Deploy")).await;
    let Err(Error::NotNow(Availability::Away { until: said })) = refused else { panic!("{refused:?}") };
    assert_eq!(said, Some(until));
    assert!(questions.ask(asker("codex"), yes_or_no("Before")).await.unwrap().merged);
    answer(&questions, &before.ticket, "yes").await.unwrap();
    questions.clock.skip(6 * MINUTE);
    questions.ask(asker("codex"), yes_or_no("Deploy")).await.unwrap();
}

#[tokio::test]
async fn what_is_too_much_or_means_nothing_is_refused_with_its_place() {
    let questions = open(QuestionsConfig { pending_per_client: 2, pending: 3, ..at_once() });
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

/// An action on one of three questions.
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
    /// So many seconds pass.
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

/// The questions, and the state that a caller knows.
struct World {
    questions: Arc<Questions>,
    tickets: HashMap<u8, Ticket>,
    ends: HashMap<Ticket, Outcome>,
    fetched: Vec<(String, Ticket)>,
}

impl World {
    async fn act(&mut self, act: Act) {
        let questions = self.questions.clone();
        let who = |client: u8| asker(["ann", "bob"][usize::from(client)]);
        match act {
            Act::Ask(question, client) => {
                let draft = Draft {
                    default: Some(DefaultAnswer { answer: choose("no"), after: Duration::from_secs(20) }),
                    timeout: Some(Duration::from_mins(30)),
                    ..yes_or_no(&format!("Question {question}"))
                };
                // Both clients are sessions in one place, so each continues the questions of the other.
                let who = Asker { place: "codex".to_owned(), ..who(client) };
                let ticket = questions.ask(who, draft).await.unwrap().ticket;
                self.tickets.insert(question, ticket);
            }
            Act::Wait(seconds) => {
                questions.clock.skip(i64::from(seconds) * 1_000);
                questions.run_due().await.unwrap();
            }
            Act::Gone(client) => questions.session_closed(&who(client).session).await,
            Act::Fetch(client) => {
                let key = who(client).key;
                for question in questions.undelivered(&key, 9).await.unwrap() {
                    assert!(questions.mark_delivered(&key, &question.ticket).await);
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
                let before = questions.get(&ticket).await.unwrap().state;
                let pending = before == State::Pending;
                match act {
                    Act::Answer(_) => assert_eq!(answer(&questions, &ticket, "yes").await.is_ok(), pending),
                    Act::Refuse(_) => {
                        assert_eq!(questions.decline(&ticket, None, Channel::Phone).await.is_ok(), pending);
                    }
                    Act::TakeBack(_) => {
                        let back = questions.take_back(&ticket, Channel::Browser).await.is_ok();
                        assert!(back || before.outcome().is_some() || matches!(before, State::Held { .. }));
                    }
                    Act::Snooze(_) => {
                        assert_eq!(questions.snooze(&ticket, 5, Channel::Browser).await.is_ok(), pending);
                    }
                    Act::Seen(_) => questions.mark_seen(&ticket, Channel::Browser).await.unwrap(),
                    // A client that did not ask the question cannot cancel it.
                    Act::Cancel(_, client) => drop(questions.cancel(&who(client).key, &ticket).await),
                    _ => {}
                }
            }
        }
    }

    /// Compares every question with its previous state.
    async fn check_invariants(&mut self) {
        let pending = self.questions.pending(None, 99).await.unwrap();
        for question in &pending.questions {
            assert!(!self.ends.contains_key(&question.ticket), "what has ended is asked again: {question:?}");
        }
        for question in self.questions.history(&Filter::default(), None, 99).await.unwrap().questions {
            let State::Decided(outcome) = question.state else { panic!("history is of decided questions") };
            if outcome.by == DecidedBy::Default {
                assert!(question.seen_at.is_some() && outcome.seen_ms >= 20_000, "{outcome:?}");
            }
            assert_eq!(outcome.answer.is_some(), outcome.kind == OutcomeKind::Answered);
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
            let questions = open(QuestionsConfig::default());
            let mut world = World {
                questions,
                tickets: HashMap::new(),
                ends: HashMap::new(),
                fetched: Vec::new(),
            };
            for act in acts {
                world.act(act).await;
                world.check_invariants().await;
            }
            // In the end every question has an outcome.
            for _ in 0..200 {
                world.act(Act::Wait(900)).await;
            }
            world.check_invariants().await;
            let left = world.questions.pending(None, 9).await.unwrap();
            assert_eq!(left.total, 0, "every question ends");
        });
    }
}

#[tokio::test]
async fn the_history_keeps_what_its_settings_say_and_no_pending_question_goes() {
    let keep = Duration::from_hours(24);
    let questions = open(QuestionsConfig { keep, ..at_once() });
    let old = questions.ask(asker("codex"), yes_or_no("Old")).await.unwrap();
    let waits = questions
        .ask(asker("codex"), Draft { timeout: Some(Duration::from_hours(100)), ..yes_or_no("AskerPresence") })
        .await
        .unwrap();
    answer(&questions, &old.ticket, "yes").await.unwrap();
    questions.clock.skip(24 * 60 * MINUTE - MINUTE);
    let young = questions.ask(asker("codex"), yes_or_no("Young")).await.unwrap();
    answer(&questions, &young.ticket, "yes").await.unwrap();
    questions.prune().await.unwrap();
    assert_eq!(questions.history(&Filter::default(), None, 9).await.unwrap().total, 2, "one more minute");
    questions.clock.skip(2 * MINUTE);
    questions.prune().await.unwrap();
    let left = questions.history(&Filter::default(), None, 9).await.unwrap();
    assert_eq!(left.questions.iter().map(|q| q.title.as_str()).collect::<Vec<_>>(), ["Young"]);
    assert!(matches!(questions.get(&old.ticket).await, Err(Error::Unknown { .. })));
    assert!(questions.audit(&old.ticket).await.unwrap().is_empty(), "its audit goes with it");
    assert_eq!(questions.get(&waits.ticket).await.unwrap().state, State::Pending);
}
