//! One session: a child of Codex, the conversation with it, and the thread that it has.
//!
//! One task owns all three. It hears and says everything in one order, so that what the log tells is the wire's
//! order, and it ends with the child's whole tree.

mod asks;
pub(super) mod child;
mod turns;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::approval::{Approval, By, Decision, Wants};
use super::backend::Dialogue;
use super::error::Error;
use super::happened::{End, Happened, Heard, Level};
use super::installed::Installed;
use super::journal::Journal;
use super::log::Log;
use super::settings::{Back, Start};
use super::thread::{Last, Thread};
use crate::events::{Event, Events};
use crate::store::Store;
use crate::trace::current;
use asks::Ask;
pub(super) use asks::Entered;
pub(crate) use asks::Session;
use child::{Child, Said};
use turns::{Taken, Turns, Withdrawn};

/// How long Codex has for its first thread; it loads what it knows from disk and may start MCP servers.
const BEGINNING: Duration = Duration::from_mins(2);
/// How long it has to end a turn that is interrupted, before its process is ended.
const INTERRUPTING: Duration = Duration::from_secs(10);
/// Acts that wait for the session.
const ASKS: usize = 64;
/// A page is told of changes at most this often.
const PAUSE: Duration = Duration::from_millis(200);

/// What a session is made of.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) installed: Installed,
    pub(super) start: Start,
    /// The thread to take up; none begins one.
    pub(super) resume: Option<String>,
    pub(super) workdir: PathBuf,
    pub(super) spool: PathBuf,
    pub(super) tape: crate::recorder::Tape,
    pub(super) approval_timeout: Duration,
    pub(super) idle: Duration,
}

/// What a session tells the room.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    pub(super) store: Store,
    pub(super) events: Events,
    pub(super) asked: broadcast::Sender<Approval>,
    pub(super) stop: CancellationToken,
}

impl Session {
    /// Starts the child and the task that talks with it; `answer` gets the end of the first turn. The task ends with
    /// the child, with `outside.stop`, or when the thread was idle for long.
    pub(super) async fn start(
        plan: Plan,
        outside: Outside,
        answer: oneshot::Sender<Last>,
    ) -> Result<(Self, impl Future<Output = ()> + Send + use<>), Error> {
        let run = plan.spool.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let child = Child::start(&plan).await?;
        let (asks, queue) = mpsc::channel(ASKS);
        let (named, id) = watch::channel(None);
        let session = Self { log: Arc::new(Log::new()), thread: Arc::default(), id, asks };
        let mut dialogue = Dialogue::new(plan.installed.back, &run);
        let mut out = Vec::new();
        dialogue.greet(&mut out);
        dialogue.belongs_to(current());
        match &plan.resume {
            Some(thread) => dialogue.resume(thread, &plan.start.prompt, &plan.start, &mut out),
            None => dialogue.start(&plan.start, &mut out),
        }
        let task = Task {
            log: session.log.clone(),
            thread: session.thread.clone(),
            named,
            id: None,
            child,
            dialogue,
            out,
            turns: Turns::beginning(answer),
            steering: HashMap::new(),
            journal: Journal::start(outside.store.clone()),
            deadlines: Vec::new(),
            killing: None,
            quiet_since: Instant::now(),
            told: Instant::now(),
            untold: false,
            closed: false,
            refused: None,
            plan,
            outside,
        };
        Ok((session, task.run(queue)))
    }
}

/// The owner of a session.
struct Task {
    log: Arc<Log>,
    thread: Arc<Mutex<Thread>>,
    named: watch::Sender<Option<String>>,
    id: Option<String>,
    child: Child,
    dialogue: Dialogue,
    /// What is not written yet.
    out: Vec<u8>,
    turns: Turns,
    /// Who waits for what came of the words for a running turn.
    steering: HashMap<u64, oneshot::Sender<Result<(), Error>>>,
    journal: Journal,
    /// When the questions that are open are denied.
    deadlines: Vec<(Instant, String)>,
    /// When the child is ended, because it does not do what it was asked.
    killing: Option<Instant>,
    quiet_since: Instant,
    told: Instant,
    untold: bool,
    closed: bool,
    /// Why Codex began no thread, in its words.
    refused: Option<String>,
    plan: Plan,
    outside: Outside,
}

impl Task {
    async fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        let began = Instant::now();
        while !self.closed {
            let due = self.due(began);
            tokio::select! {
                () = self.outside.stop.cancelled() => break,
                ask = asks.recv() => match ask {
                    Some(ask) => self.asked(ask).await,
                    None => break,
                },
                said = self.child.next(&mut self.out) => match said {
                    Said::Wrote => {}
                    Said::Read => self.hear().await,
                    Said::Ended => break,
                },
                () = tokio::time::sleep_until(due) => {
                    if self.is_due(began).await {
                        break;
                    }
                }
            }
        }
        // Nobody is to hand in what nobody would take.
        asks.close();
        self.close().await;
    }

    /// Takes all the lines that have come.
    async fn hear(&mut self) {
        loop {
            let (heard, bytes) = match self.child.lines.next() {
                None => return,
                Some(super::peer::Line::Whole(line)) => (self.dialogue.hear(line, &mut self.out), line.len()),
                Some(super::peer::Line::TooLong(bytes)) => {
                    let message = format!("a line of Codex with {bytes} bytes was left out");
                    (notice(Level::Warning, message), 64)
                }
            };
            self.take(heard, bytes).await;
        }
    }

    /// Takes what was heard: into the state, the journal and the log, and does what follows from it.
    async fn take(&mut self, heard: Heard, bytes: usize) {
        if heard.notified.is_none() && heard.happened.is_empty() {
            return;
        }
        let at = super::now();
        // Also when no turn of ours runs: an agent that it started may go on.
        self.quiet_since = Instant::now();
        let ours = self.id.is_none() || heard.thread.is_none() || heard.thread == self.id;
        let mut next = false;
        for happened in heard.happened.iter().filter(|_| ours) {
            if let (Happened::Ready(_), Some(id)) = (happened, &heard.thread) {
                self.id = Some(id.clone());
            }
            let thread = {
                let mut thread = self.thread();
                let before = matches!(happened, Happened::Settled { .. }).then(|| thread.clone());
                let ends = matches!(happened, Happened::TurnEnded { .. });
                let running = if ends { std::mem::take(&mut thread.running) } else { BTreeMap::new() };
                thread.apply(happened);
                // The journal asks what was settled, and at a turn's end how it all stands and what was not done; nothing
                // in between.
                match happened {
                    Happened::Ready(_) => thread.clone(),
                    Happened::TurnEnded { .. } => {
                        let mut ended = thread.clone();
                        ended.running = running;
                        ended
                    }
                    _ => before.unwrap_or_default(),
                }
            };
            if let Some(id) = self.id.clone() {
                if matches!(happened, Happened::Ready(_)) {
                    let Plan { installed, start, .. } = &self.plan;
                    self.journal.thread(&id, installed, start, &thread, at).await;
                    // Who is told the name finds the thread in the store.
                    self.journal.flush().await;
                    self.named.send_replace(Some(id.clone()));
                }
                self.journal.happened(&id, happened, &thread, at).await;
            }
            match happened {
                Happened::TurnEnded { .. } => {
                    self.killing = None;
                    // Who is told that it has ended finds it in the store.
                    self.journal.flush().await;
                    if let Some(last) = thread.last {
                        self.turns.ended(last);
                    }
                    next = true;
                }
                Happened::Asked { approval } => {
                    self.deadlines.push((Instant::now() + self.plan.approval_timeout, approval.id.clone()));
                    // Nobody being there to be asked is the room's business.
                    let _ = self.outside.asked.send(approval.clone());
                }
                Happened::Settled { approval, .. } => self.deadlines.retain(|(_, open)| open != approval),
                Happened::Steered { number, refused } => {
                    if let Some(done) = self.steering.remove(number) {
                        let _ = done.send(refused.clone().map_or(Ok(()), |why| Err(Error::NotSteered(why))));
                    }
                }
                Happened::Closed { message } => {
                    self.closed = true;
                    self.refused.clone_from(message);
                }
                _ => {}
            }
        }
        let unknown: Vec<String> = heard.happened.iter().filter_map(unanswerable).collect();
        self.log.push(at, heard, bytes);
        self.tell();
        for approval in unknown {
            self.settle(&approval, &Decision::Deny { note: None }, By::Nobody).await;
        }
        if next && let (Some(id), Some((text, trace))) = (self.id.clone(), self.turns.next(self.log.last())) {
            self.dialogue.belongs_to(trace);
            self.dialogue.turn(&id, &text, &mut self.out);
        }
    }

    /// Tells pages that something changed, not more often than they can show it.
    fn tell(&mut self) {
        self.untold = true;
        if self.told.elapsed() >= PAUSE {
            self.told = Instant::now();
            self.untold = false;
            self.outside.events.send(Event::CodexChanged);
        }
    }

    async fn asked(&mut self, ask: Ask) {
        match ask {
            Ask::Prompt { prompt, taken } => {
                let done = match &self.id {
                    None => Err(Error::Over),
                    Some(id) => {
                        self.turns.take(prompt, self.log.last()).map(|Taken { ticket, ahead, now }| {
                            if let Some((text, trace)) = now {
                                self.dialogue.belongs_to(trace);
                                self.dialogue.turn(id, &text, &mut self.out);
                            }
                            (ticket, ahead)
                        })
                    }
                };
                let _ = taken.send(done);
            }
            Ask::Steer { text, done } => self.steer(&text, done),
            Ask::Look { done } => {
                self.journal.flush().await;
                let _ = done.send((self.log.last(), self.thread().clone()));
            }
            Ask::Interrupt { done } => {
                let running = self.turns.is_running();
                if running {
                    self.interrupt();
                }
                let _ = done.send(if running { Ok(()) } else { Err(Error::NoTurn) });
            }
            Ask::Withdraw { ticket, done } => {
                let withdrawn = self.turns.withdraw(ticket);
                if withdrawn == Withdrawn::Running {
                    self.interrupt();
                }
                let _ = done.send(match withdrawn {
                    Withdrawn::Waiting | Withdrawn::Running => Ok(()),
                    Withdrawn::Unknown => Err(Error::NoTurn),
                });
            }
            Ask::Decide { approval, decision, by, done } => {
                let settled = self.settle(&approval, &decision, by).await;
                let _ = done.send(if settled { Ok(()) } else { Err(Error::NotAsked(approval)) });
            }
        }
    }

    /// Asks for the end of the running turn; a child that does not end it is ended itself.
    fn interrupt(&mut self) {
        if let Some(id) = self.id.clone() {
            self.dialogue.interrupt(&id, &mut self.out);
        }
        self.killing.get_or_insert(Instant::now() + INTERRUPTING);
    }

    fn steer(&mut self, text: &str, done: oneshot::Sender<Result<(), Error>>) {
        let asked = match &self.id {
            Some(id) if self.turns.is_running() => self.dialogue.steer(id, text, &mut self.out),
            Some(_) | None => Err(Error::NoTurn),
        };
        match asked {
            Ok(number) => drop(self.steering.insert(number, done)),
            // Who asked may be gone, here and below.
            Err(error) => drop(done.send(Err(error))),
        }
    }

    fn thread(&self) -> MutexGuard<'_, Thread> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a question; tells whether it was open.
    async fn settle(&mut self, approval: &str, decision: &Decision, by: By) -> bool {
        let heard = self.dialogue.decide(approval, decision, by, &mut self.out);
        let settled = !heard.happened.is_empty();
        Box::pin(self.take(heard, 256)).await;
        settled
    }

    /// Returns when something has to be done at the latest.
    fn due(&self, began: Instant) -> Instant {
        let beginning = self.id.is_none().then_some(began + BEGINNING);
        let idle = self.may_rest().then_some(self.quiet_since + self.plan.idle);
        let told = self.untold.then_some(self.told + PAUSE);
        let deadlines = self.deadlines.iter().map(|(at, _)| *at);
        let dues = deadlines.chain(beginning).chain(self.killing).chain(idle).chain(told);
        dues.min().unwrap_or_else(|| Instant::now() + BEGINNING)
    }

    /// Does what is due; tells whether the session is to end.
    async fn is_due(&mut self, began: Instant) -> bool {
        let now = Instant::now();
        if self.untold {
            self.tell();
        }
        let late: Vec<String> = self
            .deadlines
            .iter()
            .filter(|(at, _)| *at <= now)
            .map(|(_, approval)| approval.clone())
            .collect();
        for approval in late {
            self.deadlines.retain(|(_, open)| *open != approval);
            let note = Some("nobody answered in time".to_owned());
            self.settle(&approval, &Decision::Deny { note }, By::Timeout).await;
        }
        let silent = self.id.is_none() && now >= began + BEGINNING;
        if silent {
            self.take(notice(Level::Error, "codex did not answer".to_owned()), 64).await;
        }
        silent
            || self.killing.is_some_and(|at| now >= at)
            || (self.may_rest() && now >= self.quiet_since + self.plan.idle)
    }

    /// Tells whether the child may go for want of work: only where another one can take the thread up.
    fn may_rest(&self) -> bool {
        let working = self.turns.is_running() || !self.deadlines.is_empty();
        self.id.is_some() && !working && self.plan.installed.back == Back::AppServer
    }

    async fn close(mut self) {
        let ended = self.child.end().await;
        // What it said before its end still counts.
        self.hear().await;
        let killed = self.killing.is_some() || self.outside.stop.is_cancelled();
        // A process that was ended for what it had said says nothing by its end.
        let message = self.refused.take().or_else(|| ended.filter(|_| !killed));
        if self.turns.is_running() {
            let end = if killed { End::Interrupted } else { End::Failed };
            let turn = self.thread().turn.clone();
            let happened = vec![Happened::TurnEnded { turn, end, message: message.clone() }];
            self.take(Heard { thread: self.id.clone(), notified: None, happened }, 256).await;
        }
        if !self.closed {
            let happened = vec![Happened::Closed { message }];
            self.take(Heard { thread: self.id.clone(), notified: None, happened }, 256).await;
        }
        self.turns.give_up();
        self.journal.close().await;
        self.log.end();
        self.outside.events.send(Event::CodexChanged);
    }
}

fn notice(level: Level, message: String) -> Heard {
    Heard { happened: vec![Happened::Notice { level, message }], ..Heard::default() }
}

/// Returns the name of a question that this program cannot show, and so nobody can answer.
fn unanswerable(happened: &Happened) -> Option<String> {
    match happened {
        Happened::Asked { approval } if matches!(approval.wants, Wants::Unknown { .. }) => {
            Some(approval.id.clone())
        }
        _ => None,
    }
}
