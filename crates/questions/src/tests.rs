//! Behaviour of questions on a store in memory, with a clock that the tests move.

mod decisions;
mod delivery;
mod presence;
mod random_acts;
mod rejections;
mod timers;

use std::sync::Arc;
use std::time::Duration;

use super::{
    Answer, Asker, Channel, Choice, Draft, Error, Field, FieldValue, Input, Outcome, OutcomeKind, Proof,
    Questions, State, Ticket,
};
use adjutant_base::config::Database;
use adjutant_base::config::questions::QuestionsConfig;
use adjutant_base::events::Events;
use adjutant_store::Store;

const MINUTE: i64 = 60_000;

fn open(settings: QuestionsConfig) -> Arc<Questions> {
    Arc::new(Questions::new(settings, Store::new(Database::Memory), Events::new()))
}

fn without_undo() -> QuestionsConfig {
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
    let options = vec![option("Yes"), option("No")];
    let input = Input::Choice { options, min: 1, max: 1, other: false, list: false };
    Draft {
        title: title.to_owned(),
        message: "Deploy now?".to_owned(),
        workspace: "/work".to_owned(),
        fields: vec![Field::new("answer", input)],
        ..Draft::default()
    }
}

fn choose(value: &str) -> Answer {
    Answer::one("answer", FieldValue::Choices(vec![value.to_owned()]))
}

async fn answer(questions: &Questions, ticket: &Ticket, value: &str) -> Result<Outcome, Error> {
    questions.answer((ticket, 1), Proof::Interface, choose(value), None, Channel::Browser).await
}

fn kind(state: &State) -> Option<OutcomeKind> {
    state.outcome().map(|outcome| outcome.kind)
}
