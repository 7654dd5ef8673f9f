//! One session: a child process of Codex, the conversation with it, and its thread.
//!
//! One task owns all three. It reads and writes in one order, so that the log has the order of the wire, and it ends
//! together with all processes of the child.

pub(super) mod child;
mod handle;
mod setup;
mod turn_queue;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::approval::{ApprovalKind, Decider, Decision};
use super::backend::Protocol;
use super::capabilities::END_COMMANDS;
use super::error::Error;
use super::event::{CodexEvent, End, EventBatch, Item, ItemKind, Level};
use super::event_log::EventLog;
use super::persistence::SessionWriter;
use super::thread::{Thread, TurnOutcome};
use super::thread_options::{Backend, ThreadOptions, TurnInput};
use adjutant_base::events::Event;
use adjutant_base::mutex::lock;
use adjutant_base::text::timefmt::millis;
use adjutant_base::trace_context::current;
use child::{Child, ChildEvent};
use handle::Command;
pub(super) use handle::QueuedPrompt;
pub use handle::SessionHandle;
pub(super) use setup::{SessionContext, SessionSetup};
use turn_queue::{Enqueued, TurnQueue, WithdrawResult};

/// Time for the first thread; Codex loads its state from disk and may start MCP servers.
const START_TIMEOUT: Duration = Duration::from_mins(2);
/// Time for Codex to end an interrupted turn before its process is killed.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(10);
/// Commands that may wait for the session.
const COMMAND_QUEUE: usize = 64;
/// Pages are notified of changes at most this often.
const NOTIFY_INTERVAL: Duration = Duration::from_millis(200);

impl SessionHandle {
    /// Starts the child and the task that talks with it; `answer` gets the end of the first turn. The task ends with
    /// the child, with `outside.stop`, or when the thread was idle for too long.
    pub(super) async fn start(
        plan: SessionSetup,
        outside: SessionContext,
        answer: oneshot::Sender<TurnOutcome>,
    ) -> Result<(Self, impl Future<Output = ()> + Send + use<>), Error> {
        let run = plan.spool.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let child = Child::start(&plan).await?;
        let (commands, queue) = mpsc::channel(COMMAND_QUEUE);
        let (id_sender, id) = watch::channel(None);
        // The folder is removed when the child ends; a follower still has the file open then.
        let log = Arc::new(EventLog::new(plan.spool.join("events.jsonl")));
        let session = Self { log, thread: Arc::default(), id, commands };
        let mut protocol = Protocol::new(plan.installed.backend, &run);
        let mut out = Vec::new();
        protocol.initialize(&mut out);
        protocol.set_trace(current());
        match &plan.resume {
            Some(thread) => protocol.resume(thread, &plan.start, &mut out),
            None => protocol.start(&plan.start, &mut out),
        }
        let task = Task {
            log: session.log.clone(),
            thread: session.thread.clone(),
            id_sender,
            id: None,
            child,
            protocol,
            out,
            turns: TurnQueue::with_running(answer),
            steering: HashMap::new(),
            writer: SessionWriter::start(outside.store.clone()),
            agents: HashMap::new(),
            deadlines: Vec::new(),
            kill_at: None,
            quiet_since: Instant::now(),
            notified_at: Instant::now(),
            is_dirty: false,
            closed: false,
            ends: false,
            refused: None,
            plan,
            outside,
        };
        Ok((session, task.run(queue)))
    }
}

/// The task that owns a session.
struct Task {
    log: Arc<EventLog>,
    thread: Arc<Mutex<Thread>>,
    id_sender: watch::Sender<Option<String>>,
    id: Option<String>,
    child: Child,
    protocol: Protocol,
    /// Bytes that are not written yet.
    out: Vec<u8>,
    turns: TurnQueue,
    /// The senders that wait for the result of a steering, by its number.
    steering: HashMap<u64, oneshot::Sender<Result<(), Error>>>,
    writer: SessionWriter,
    /// The working agents that Codex started, by thread.
    agents: HashMap<String, Thread>,
    /// When the pending approvals are denied.
    deadlines: Vec<(Instant, String)>,
    /// When the child is killed, because it did not end its turn.
    kill_at: Option<Instant>,
    quiet_since: Instant,
    notified_at: Instant,
    is_dirty: bool,
    closed: bool,
    /// The user ended the session.
    ends: bool,
    /// Why Codex started no thread, in its words.
    refused: Option<String>,
    plan: SessionSetup,
    outside: SessionContext,
}

impl Task {
    async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let began = Instant::now();
        while !self.closed && !self.ends {
            let due = self.next_deadline(began);
            tokio::select! {
                () = self.outside.stop.cancelled() => break,
                command = commands.recv() => match command {
                    Some(command) => self.run_command(command).await,
                    None => break,
                },
                event = self.child.next(&mut self.out) => match event {
                    ChildEvent::Written => {}
                    ChildEvent::Output => self.read_lines().await,
                    ChildEvent::Ended => break,
                },
                () = tokio::time::sleep_until(due) => {
                    if self.run_due(began).await {
                        break;
                    }
                }
            }
        }
        // No command may be queued from here on, because nothing reads the queue.
        commands.close();
        self.close().await;
    }

    /// Reads all complete lines.
    async fn read_lines(&mut self) {
        loop {
            let (batch, bytes) = match self.child.lines.next() {
                None => return,
                Some(super::jsonrpc::Line::Whole(line)) => {
                    (self.protocol.on_line(line, &mut self.out), line.len())
                }
                Some(super::jsonrpc::Line::TooLong(bytes)) => {
                    let message = format!("a line of Codex with {bytes} bytes was left out");
                    (EventBatch::notice(Level::Warning, message), 64)
                }
            };
            self.take(batch, bytes).await;
            if self.protocol.gives_up() {
                self.interrupt();
            }
        }
    }

    /// Applies a batch to the state, the writer and the log, and does what follows from it.
    async fn take(&mut self, mut batch: EventBatch, bytes: usize) {
        if batch.notification.is_none() && batch.events.is_empty() {
            return;
        }
        let at = millis(SystemTime::now());
        // Also when no turn of this thread runs, because an agent that it started may still work.
        self.quiet_since = Instant::now();
        let ours = self.id.is_none() || batch.thread.is_none() || batch.thread == self.id;
        if ours {
            let left = self.commands_left(&batch);
            batch.events.extend(left);
        }
        let mut next = false;
        let mut ended = None;
        for event in batch.events.iter().filter(|_| ours) {
            let is_known = self.id.is_some();
            if let (CodexEvent::Ready(_), Some(id)) = (event, &batch.thread) {
                self.id = Some(id.clone());
            }
            if let CodexEvent::SubAgent { thread, event } = event {
                self.take_of_agent(thread, event, at).await;
                continue;
            }
            let thread = {
                let mut thread = lock(&self.thread);
                let before = matches!(event, CodexEvent::ApprovalResolved { .. }).then(|| thread.clone());
                let ends = matches!(event, CodexEvent::TurnEnded { .. });
                let running = if ends { thread.running.clone() } else { BTreeMap::new() };
                thread.apply(event);
                // The writer needs the resolved approval, and at the end of a turn the whole state with the unfinished
                // items; nothing in between.
                match event {
                    CodexEvent::Ready(_) => thread.clone(),
                    CodexEvent::TurnEnded { .. } => {
                        let mut ended = thread.clone();
                        ended.running = running;
                        ended
                    }
                    _ => before.unwrap_or_default(),
                }
            };
            if let Some(id) = self.id.clone() {
                let SessionSetup { installed, start, .. } = &mut self.plan;
                if let (CodexEvent::Ready(ready), true) = (event, is_known) {
                    start.keep(ready);
                    self.writer.record_settings(&id, ready, start).await;
                } else if matches!(event, CodexEvent::Ready(_)) {
                    self.writer.record_thread(&id, installed, start, "", &thread, at).await;
                    // Callers that learn the name find the thread in the store.
                    self.writer.flush().await;
                    self.id_sender.send_replace(Some(id.clone()));
                }
                self.writer.record_event(&id, event, &thread, at).await;
            }
            match event {
                CodexEvent::TurnEnded { .. } => {
                    self.kill_at = None;
                    // Callers that learn of the end find it in the store, and in the log below.
                    self.writer.flush().await;
                    ended = thread.last;
                    next = true;
                }
                CodexEvent::ApprovalRequested { approval } => {
                    self.deadlines.push((Instant::now() + self.plan.approval_timeout, approval.id.clone()));
                    // The subscribers decide what happens when nobody can be asked.
                    let _ = self.outside.asked.send(approval.clone());
                }
                CodexEvent::ApprovalResolved { approval, .. } => {
                    self.deadlines.retain(|(_, open)| open != approval);
                }
                CodexEvent::Steered { number, refused } => {
                    if let Some(done) = self.steering.remove(number) {
                        let _ = done.send(refused.clone().map_or(Ok(()), |why| Err(Error::NotSteered(why))));
                    }
                }
                CodexEvent::Closed { message } => (self.closed, self.refused) = (true, message.clone()),
                _ => {}
            }
        }
        let unknown: Vec<String> = batch.events.iter().filter_map(unanswerable).collect();
        self.log.push(at, batch, bytes);
        self.notify();
        if let Some(last) = ended {
            self.turns.ended(last);
        }
        for approval in unknown {
            self.decide(&approval, &Decision::Deny { note: None }, Decider::NotAsked).await;
        }
        if next
            && let (Some(id), Some((input, trace))) = (self.id.clone(), self.turns.next(self.log.last_seq()))
        {
            self.protocol.set_trace(trace);
            self.protocol.turn(&id, &input, &mut self.out);
        }
    }

    /// Names the commands that an interrupt of Codex did not end.
    fn commands_left(&self, batch: &EventBatch) -> Vec<CodexEvent> {
        let interrupts =
            |event: &CodexEvent| matches!(event, CodexEvent::TurnEnded { end: End::Interrupted, .. });
        let Some(id) = self.id.as_ref().filter(|_| batch.notification.is_some()) else { return Vec::new() };
        if !batch.events.iter().any(interrupts) {
            return Vec::new();
        }
        let thread = lock(&self.thread);
        let commands = thread.running.values().filter_map(|item| match &item.kind {
            ItemKind::Command { command, .. } => Some(command),
            _ => None,
        });
        let notice = |command: &String| CodexEvent::Notice {
            level: Level::Warning,
            message: format!("`{command}` may continue; `adjutant codex end-commands {id}` ends it"),
        };
        commands.map(notice).collect()
    }

    /// Stores an event of an agent that Codex started, in a separate thread.
    async fn take_of_agent(&mut self, agent: &str, event: &CodexEvent, at: i64) {
        let Some(parent) = self.id.clone() else { return };
        if !self.agents.contains_key(agent) {
            let ready = lock(&self.thread).ready.clone().unwrap_or_default();
            let turn = format!("agent of {parent}").into();
            let start =
                ThreadOptions { turn, cwd: ready.cwd, model: ready.model, ..ThreadOptions::default() };
            let installed = &self.plan.installed;
            self.writer.record_thread(agent, installed, &start, &parent, &Thread::default(), at).await;
        }
        let state = self.agents.entry(agent.to_owned()).or_default();
        self.writer.record_event(agent, event, state, at).await;
        if let CodexEvent::ItemEnded { item: Item { kind: ItemKind::User { text }, .. } } = event {
            self.writer.record_title(agent, text).await;
        }
        state.apply(event);
        if matches!(event, CodexEvent::TurnEnded { .. }) {
            self.agents.remove(agent);
        }
    }

    /// Notifies pages of a change, at most once in each interval.
    fn notify(&mut self) {
        self.is_dirty = true;
        if self.notified_at.elapsed() >= NOTIFY_INTERVAL {
            self.notified_at = Instant::now();
            self.is_dirty = false;
            self.outside.events.send(Event::CodexChanged);
        }
    }

    async fn run_command(&mut self, command: Command) {
        match command {
            Command::Prompt { prompt, taken } => {
                let done = match &self.id {
                    None => Err(Error::Over),
                    Some(id) => self.turns.enqueue(prompt, self.log.last_seq()).map(
                        |Enqueued { ticket, ahead, now }| {
                            if let Some((input, trace)) = now {
                                self.protocol.set_trace(trace);
                                self.protocol.turn(id, &input, &mut self.out);
                            }
                            (ticket, ahead)
                        },
                    ),
                };
                let _ = taken.send(done);
            }
            Command::Steer { input, done } => self.steer(&input, done),
            Command::Snapshot { done } => {
                self.writer.flush().await;
                let _ = done.send((self.log.last_seq(), lock(&self.thread).clone()));
            }
            Command::Interrupt { done } => {
                let running = self.turns.is_running();
                if running {
                    self.interrupt();
                }
                let _ = done.send(if running { Ok(()) } else { Err(Error::NoTurn) });
            }
            Command::EndCommands { done } => {
                let ended = match &self.id {
                    Some(id) if END_COMMANDS.require(&self.plan.installed).is_ok() => {
                        self.protocol.end_commands(id, &mut self.out);
                        Ok(())
                    }
                    // Its commands end with the process.
                    _ => self.end_idle(),
                };
                let _ = done.send(ended);
            }
            Command::End { done } => drop(done.send(self.end_idle())),
            Command::Withdraw { ticket, done } => {
                let withdrawn = self.turns.withdraw(ticket);
                if withdrawn == WithdrawResult::Running {
                    self.interrupt();
                }
                let _ = done.send(match withdrawn {
                    WithdrawResult::Waiting | WithdrawResult::Running => Ok(()),
                    WithdrawResult::Unknown => Err(Error::NoTurn),
                });
            }
            Command::Decide { approval, decision, by, done } => {
                let resolved = self.decide(&approval, &decision, by).await;
                let _ = done.send(if resolved { Ok(()) } else { Err(Error::NotAsked(approval)) });
            }
        }
    }

    /// Ends the session after this command, unless a turn runs.
    fn end_idle(&mut self) -> Result<(), Error> {
        if self.turns.is_running() {
            return Err(Error::TurnRuns);
        }
        self.ends = true;
        Ok(())
    }

    /// Requests the end of the running turn, and schedules the kill of a child that does not end it.
    fn interrupt(&mut self) {
        if let Some(id) = self.id.clone() {
            self.protocol.interrupt(&id, &mut self.out);
        }
        self.kill_at.get_or_insert(Instant::now() + INTERRUPT_TIMEOUT);
    }

    fn steer(&mut self, input: &TurnInput, done: oneshot::Sender<Result<(), Error>>) {
        let asked = match &self.id {
            Some(id) if self.turns.is_running() => self.protocol.steer(id, input, &mut self.out),
            Some(_) | None => Err(Error::NoTurn),
        };
        match asked {
            Ok(number) => drop(self.steering.insert(number, done)),
            // The caller may have left, here and below.
            Err(error) => drop(done.send(Err(error))),
        }
    }

    /// Answers an approval. Returns false if it was not pending.
    async fn decide(&mut self, approval: &str, decision: &Decision, by: Decider) -> bool {
        let batch = self.protocol.decide(approval, decision, by, &mut self.out);
        let resolved = !batch.events.is_empty();
        Box::pin(self.take(batch, 256)).await;
        resolved
    }

    /// Returns the time of the next timeout.
    fn next_deadline(&self, began: Instant) -> Instant {
        let beginning = self.id.is_none().then_some(began + START_TIMEOUT);
        let idle = self.may_rest().then_some(self.quiet_since + self.plan.idle);
        let notified_at = self.is_dirty.then_some(self.notified_at + NOTIFY_INTERVAL);
        let deadlines = self.deadlines.iter().map(|(at, _)| *at);
        let dues = deadlines.chain(beginning).chain(self.kill_at).chain(idle).chain(notified_at);
        dues.min().unwrap_or_else(|| Instant::now() + START_TIMEOUT)
    }

    /// Runs what is due. Returns true if the session is to end.
    async fn run_due(&mut self, began: Instant) -> bool {
        let now = Instant::now();
        if self.is_dirty {
            self.notify();
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
            self.decide(&approval, &Decision::Deny { note }, Decider::Timeout).await;
        }
        let silent = self.id.is_none() && now >= began + START_TIMEOUT;
        if silent {
            self.take(EventBatch::notice(Level::Error, "codex did not answer".to_owned()), 64).await;
        }
        silent
            || self.kill_at.is_some_and(|at| now >= at)
            || (self.may_rest() && now >= self.quiet_since + self.plan.idle)
    }

    /// Returns true if the child may end because it has no work: only if another process can resume the thread.
    fn may_rest(&self) -> bool {
        let working = self.turns.is_running() || !self.deadlines.is_empty();
        self.id.is_some() && !working && self.plan.installed.backend == Backend::AppServer
    }

    async fn close(mut self) {
        let ended = self.child.end().await;
        // Lines before its end still count.
        self.read_lines().await;
        let killed = self.ends || self.kill_at.is_some() || self.outside.stop.is_cancelled();
        // The exit of a killed process adds nothing to the earlier message.
        let message = self.refused.take().or_else(|| ended.filter(|_| !killed));
        if self.turns.is_running() {
            let end = if killed { End::Interrupted } else { End::Failed };
            let turn = lock(&self.thread).turn.clone();
            let events = vec![CodexEvent::TurnEnded { turn, end, message: message.clone() }];
            self.take(EventBatch { thread: self.id.clone(), notification: None, events }, 256).await;
        }
        if !self.closed {
            let events = vec![CodexEvent::Closed { message }];
            self.take(EventBatch { thread: self.id.clone(), notification: None, events }, 256).await;
        }
        let at = millis(SystemTime::now());
        for (agent, state) in std::mem::take(&mut self.agents) {
            let ended =
                CodexEvent::TurnEnded { turn: state.turn.clone(), end: End::Interrupted, message: None };
            self.writer.record_event(&agent, &ended, &state, at).await;
        }
        self.turns.drop_all();
        self.writer.close().await;
        self.log.end();
        self.outside.events.send(Event::CodexChanged);
    }
}

/// Returns the id of a request that is not an approval, so that an answer of the user would have no effect.
fn unanswerable(event: &CodexEvent) -> Option<String> {
    let CodexEvent::ApprovalRequested { approval } = event else { return None };
    let ApprovalKind::Unknown { method, .. } = &approval.kind else { return None };
    let is_approval = method.contains("Approval") || method.contains("elicitation");
    (!is_approval).then(|| approval.id.clone())
}
