//! Questions in the control API.

mod query;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::broadcast::error::TryRecvError;

use super::client::ControlClient;
use super::protocol::{Error, Rejection, ResponseWriter, to_json};
use crate::socket::principal::{ControlPeer, Principal};
use adjutant_app::App;
use adjutant_base::config;
use adjutant_base::events::{Event, wait_for};
use adjutant_host::git::Facts;
use adjutant_questions as questions;
use adjutant_questions::{
    Answer, AskerPresence, Availability, Channel, DecidedBy, Level, NewFile, Outcome, OutcomeKind, Page,
    Proof, Question, State, Ticket,
};

pub use query::{Query, QuestionDetails};

/// Maximum questions of [`Request::Follow`]; the others are only counted.
const MAX_FOLLOWED: usize = 300;

/// Longest pause between two reads of more questions than that. Otherwise it is as long as the read, which leaves half of
/// the time to others.
const MAX_FOLLOW_PAUSE: Duration = Duration::from_secs(1);

/// Questions of one read.
const PAGE_SIZE: u32 = 100;

/// Maximum workspaces with their state for one follower.
const MAX_WORKSPACES: usize = 24;

/// A request about questions.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Sends the oldest pending questions and their changes, as [`Update`]s, until the connection closes.
    Follow,
    /// Does the same with all pending questions.
    FollowAll,
    /// Sends the questions that match a query as parts, and their number as the answer.
    List(Query),
    /// Returns a question by the prefix of its ticket.
    Show {
        ticket: String,
    },
    /// Reports that the question is visible now.
    Seen {
        ticket: Ticket,
    },
    Answer {
        ticket: Ticket,
        /// The number of requests with which the question was shown.
        #[serde(default)]
        shown: u32,
        answer: Answer,
        note: Option<String>,
        passphrase: Option<Secret>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<NewFile>,
    },
    Undo {
        ticket: Ticket,
    },
    Decline {
        ticket: Ticket,
        note: Option<String>,
    },
    Dismiss {
        ticket: Ticket,
        note: Option<String>,
    },
    /// Asks the agent to ask in another way.
    Redirect {
        ticket: Ticket,
        note: String,
    },
    Snooze {
        ticket: Ticket,
        minutes: u32,
    },
    /// Sets whether the user accepts questions.
    Availability(Availability),
}

impl Request {
    /// Returns whether it decides a question, or lets time decide it.
    pub(super) fn decides(&self) -> bool {
        // An answer may carry its proof, so its handler checks that.
        self.ticket().is_some() && !matches!(self, Self::Answer { .. })
    }

    /// Returns the ticket of the question that it is about.
    pub(crate) fn ticket(&self) -> Option<&Ticket> {
        match self {
            Self::Follow | Self::FollowAll | Self::List(_) | Self::Show { .. } | Self::Availability(_) => {
                None
            }
            Self::Seen { ticket }
            | Self::Answer { ticket, .. }
            | Self::Undo { ticket }
            | Self::Decline { ticket, .. }
            | Self::Dismiss { ticket, .. }
            | Self::Redirect { ticket, .. }
            | Self::Snooze { ticket, .. } => Some(ticket),
        }
    }
}

/// A passphrase for the hub; it is never shown.
#[derive(Clone, Deserialize, PartialEq, Serialize)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Secret(…)")
    }
}

/// The result of an accepted request.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// Decided; the decision can be undone until then, in milliseconds since 1970.
    Decided {
        kind: OutcomeKind,
        #[serde(default)]
        denied: bool,
        until: Option<i64>,
    },
    Noted,
    /// It is shown again then.
    Snoozed {
        until: i64,
    },
    Available(Availability),
    /// It was decided before.
    Before(ClosedElsewhere),
    /// The answer does not fit a field of the question.
    Unfit {
        field: String,
        reason: String,
    },
    /// The approval passphrase is missing or wrong, or none `is_set`. The reason is a sentence.
    Passphrase {
        reason: String,
        is_set: bool,
    },
}

/// The end of a question, for an interface that did not end it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct ClosedElsewhere {
    pub kind: OutcomeKind,
    /// Whether the answer denies.
    #[serde(default)]
    pub denied: bool,
    pub by: DecidedBy,
    pub through: Channel,
    /// The time until which it can be undone, in milliseconds since 1970.
    pub until: Option<i64>,
}

impl ClosedElsewhere {
    fn of(state: &State) -> Option<Self> {
        let (until, &Outcome { kind, denied, by, through, .. }) = state.decision()?;
        Some(Self { kind, denied, by, through, until })
    }
}

/// An update for a follower.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Update {
    /// A question that is new, or changed.
    Question(Box<Question>),
    /// It is no longer pending. If its decision is undone, it is sent again.
    Closed { ticket: Ticket, how: ClosedElsewhere },
    /// The state of a workspace; the error is a sentence fragment.
    Facts { workspace: String, facts: Result<Facts, String> },
    /// An answer of this client needs a proof; the sentence says what is missing, which the approval passphrase may be.
    /// It is the first update, if it is sent.
    Unproven { missing: String, needs_passphrase: bool },
    /// The command that sets the approval passphrase, while none is set. It is sent before the questions, and when it
    /// changes.
    NoPassphrase { set_with: Option<String> },
    /// Everything was sent; `total` questions are pending.
    Current { total: u64, availability: Availability },
}

/// The client's calls.
impl ControlClient {
    /// Calls `on_update` with what a follow sends; returns when the hub stops.
    pub(crate) fn follow_questions(
        &mut self,
        follow: Request,
        on_update: impl FnMut(Update),
    ) -> Result<(), Error> {
        self.follow(&super::Request::Questions(follow), on_update)
    }

    /// Sends any other request.
    pub fn question(&mut self, request: Request) -> Result<Done, Error> {
        self.ask(&super::Request::Questions(request))
    }
}

/// Handles a request.
pub(super) async fn answer(
    peer: &ControlPeer,
    request: Request,
    out: &mut ResponseWriter,
) -> Result<Value, Rejection> {
    let app: &App = &peer.app;
    let questions = &app.questions;
    let through = Channel::Terminal;
    let done = match request {
        Request::Follow => return follow(peer, out, MAX_FOLLOWED).await,
        Request::FollowAll => return follow(peer, out, usize::MAX).await,
        Request::List(query) => return query::list(app, query, out).await,
        Request::Show { ticket } => return query::show(app, &ticket).await,
        Request::Seen { ticket } => questions.mark_seen(&ticket, through).await.map(|()| Done::Noted),
        Request::Answer { ticket, shown, answer, note, passphrase, files } => {
            let level = questions.get(&ticket).await.map_or(Level::Normal, |question| question.level);
            // The passphrase that level high takes is checked with the question, and noted there.
            if level == Level::Normal
                && let Some(missing) = missing_proof(peer, passphrase.as_ref()).await?
            {
                return to_json(&missing);
            }
            let proof = passphrase.map_or(Proof::Interface, |Secret(text)| Proof::Passphrase(text));
            let added = (note, files);
            let answered = questions.answer_with_files((&ticket, shown), proof, answer, added, through).await;
            if answered.is_ok() && level == Level::High {
                peer.give_ticket();
            }
            decided(app, &ticket, answered).await
        }
        Request::Undo { ticket } => questions.undo(&ticket, through).await.map(|()| Done::Noted),
        Request::Decline { ticket, note } => {
            decided(app, &ticket, questions.decline(&ticket, note, through).await).await
        }
        Request::Dismiss { ticket, note } => {
            decided(app, &ticket, questions.dismiss(&ticket, note, through).await).await
        }
        Request::Redirect { ticket, note } => {
            decided(app, &ticket, questions.redirect(&ticket, note, through).await).await
        }
        Request::Availability(availability) => {
            questions.set_availability(availability).await.map(|()| Done::Available(availability))
        }
        Request::Snooze { ticket, minutes } => {
            questions.snooze(&ticket, minutes, through).await.map(|until| Done::Snoozed { until })
        }
    };
    to_json(&done.or_else(to_done)?)
}

/// Checks that the user answers, with the passphrase where that is missing for a proof. Returns what the interface has
/// to ask for.
async fn missing_proof(peer: &ControlPeer, passphrase: Option<&Secret>) -> Result<Option<Done>, Rejection> {
    match (peer.principal(), passphrase) {
        (Principal::User(_), _) => Ok(None),
        (Principal::Unproven { needs_passphrase: true, .. }, Some(Secret(passphrase))) => {
            match peer.prove(passphrase.clone()).await {
                Ok(()) => Ok(None),
                Err(error) => to_done(error).map(Some),
            }
        }
        (Principal::Unproven { missing: reason, needs_passphrase: true, .. }, None) => {
            Ok(Some(Done::Passphrase { reason, is_set: true }))
        }
        (Principal::Unproven { missing, remedy, .. }, _) => {
            Err(Rejection::new(format!("{missing}; {remedy}")))
        }
        (Principal::Agent(reason), _) => Err(Rejection::new(reason)),
    }
}

/// Converts the result of a decision, with the time until which it can be undone.
async fn decided(
    app: &App,
    ticket: &Ticket,
    result: Result<Outcome, questions::Error>,
) -> Result<Done, questions::Error> {
    let outcome = result?;
    let question = app.questions.get(ticket).await?;
    let until = question.state.decision().and_then(|(until, _)| until);
    Ok(Done::Decided { kind: outcome.kind, denied: outcome.denied, until })
}

/// Converts the errors that a channel can continue from.
fn to_done(error: questions::Error) -> Result<Done, Rejection> {
    use questions::Error;
    Ok(match error {
        Error::AlreadyDecided { kind, denied, by, through, until } => {
            Done::Before(ClosedElsewhere { kind, denied, by, through, until })
        }
        Error::Answer { field, reason } => Done::Unfit { field, reason },
        Error::NeedsPassphrase | Error::NoPassphrase | Error::WrongPassphrase | Error::Locked { .. } => {
            Done::Passphrase { reason: error.to_string(), is_set: !matches!(error, Error::NoPassphrase) }
        }
        other => {
            let mut rejection = Rejection::new(&other);
            if let Error::Store(source) = &other {
                tracing::error!(error = %source, "the store failed");
                rejection.hints.push("`adjutant doctor` checks the database".to_owned());
            }
            return Err(rejection);
        }
    })
}

/// The parts of a question that may change until it is final.
type Changing = (Option<i64>, i64, u32, AskerPresence, Option<ClosedElsewhere>);

async fn follow(peer: &ControlPeer, out: &mut ResponseWriter, limit: usize) -> Result<Value, Rejection> {
    let app: &App = &peer.app;
    if let Principal::Unproven { missing, remedy, needs_passphrase } = peer.principal() {
        let missing = format!("{missing}; {remedy}");
        out.part(&Update::Unproven { missing, needs_passphrase }).await?;
    }
    // Subscribed before the first read, so that no change is missed in between.
    let mut events = app.events.subscribe();
    let mut sent: HashMap<Ticket, Changing> = HashMap::new();
    let mut sent_workspaces: HashSet<String> = HashSet::new();
    let mut sent_passphrase = None;
    loop {
        let is_set = app.questions.has_passphrase();
        if sent_passphrase.replace(is_set) != Some(is_set) {
            let command = || format!("{} passphrase", config::command_prefix(&app.config.home));
            out.part(&Update::NoPassphrase { set_with: (!is_set).then(command) }).await?;
        }
        let started = Instant::now();
        let mut open: HashSet<Ticket> = HashSet::new();
        let mut folders = Vec::new();
        let mut total = 0;
        let mut after = None;
        loop {
            let page = open_page(app, after).await?;
            total = total.max(page.total);
            after = page.next;
            for Question { ticket, snoozed_until, deadline, deliveries, presence, state, .. } in
                page.questions
            {
                open.insert(ticket.clone());
                let how = ClosedElsewhere::of(&state);
                let changing = (snoozed_until, deadline, deliveries, presence, how);
                let before = sent.insert(ticket.clone(), changing);
                if before == Some(changing) {
                    continue;
                }
                if how.is_none() || before.is_none() {
                    let question = app.questions.get(&ticket).await.map_err(failed)?;
                    // This hub cannot read the folders of other machines.
                    let workspace = if question.is_here { question.workspace.clone() } else { String::new() };
                    out.part(&Update::Question(Box::new(question))).await?;
                    if !workspace.is_empty()
                        && sent_workspaces.len() < MAX_WORKSPACES
                        && sent_workspaces.insert(workspace.clone())
                    {
                        folders.push(workspace);
                    }
                }
                if let Some(how) = how {
                    out.part(&Update::Closed { ticket, how }).await?;
                }
            }
            if after.is_none() || open.len() >= limit {
                break;
            }
        }
        let ended: Vec<_> = sent.extract_if(|ticket, _| !open.contains(ticket)).collect();
        for (ticket, (.., before)) in ended {
            // It was sent when the decision was made.
            if before.is_some() {
                continue;
            }
            let question = app.questions.get(&ticket).await.map_err(failed)?;
            // A question whose decision was undone is pending again.
            if let Some(how) = ClosedElsewhere::of(&question.state) {
                out.part(&Update::Closed { ticket, how }).await?;
            }
        }
        let availability = app.questions.availability().await.map_err(failed)?;
        out.part(&Update::Current { total, availability }).await?;
        for workspace in folders {
            let facts = app.repo_status.get(Path::new(&workspace)).await;
            out.part(&Update::Facts { workspace, facts }).await?;
        }
        let pause =
            if open.len() > MAX_FOLLOWED { started.elapsed().min(MAX_FOLLOW_PAUSE) } else { Duration::ZERO };
        let changed = async {
            tokio::time::sleep(pause).await;
            wait_for(&mut events, Event::QuestionsChanged).await
        };
        if !app.shutdown.run_until_cancelled(changed).await.unwrap_or(false) {
            return to_json(&());
        }
        // The next reading covers all changes so far.
        while !matches!(events.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {}
    }
}

/// Returns a page of the questions that are not final: the pending ones, oldest first, and before the first of them
/// those whose decision can be undone.
async fn open_page(app: &App, after: Option<i64>) -> Result<Page, Rejection> {
    let mut page = app.questions.pending(after, PAGE_SIZE).await.map_err(failed)?;
    if after.is_none() {
        let held = app.questions.held(PAGE_SIZE).await.map_err(failed)?;
        // Decided between the two reads.
        page.questions.retain(|pending| held.iter().all(|held| held.ticket != pending.ticket));
        page.total += held.len() as u64;
        page.questions.splice(0..0, held);
    }
    Ok(page)
}

fn failed(error: questions::Error) -> Rejection {
    to_done(error).map_or_else(|rejection| rejection, |_| Rejection::new("the hub failed"))
}
