//! Codex sessions: starts and drives them over either protocol of Codex, and keeps what happened in them.
//!
//! [`Codex`] is the room's face. A session is one child with one thread; see `session.rs`. What Codex wants a person
//! to decide is an [`Approval`], told by [`Codex::asked`] and answered by [`Codex::decide`].

pub(crate) mod approval;
mod backend;
pub(crate) mod console;
mod cut_off;
pub(crate) mod elsewhere;
pub(crate) mod error;
pub(crate) mod handles;
pub(crate) mod happened;
mod installed;
mod journal;
pub(crate) mod log;
mod peer;
mod session;
pub(crate) mod settings;
pub(crate) mod thread;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use tokio::sync::{OnceCell, broadcast, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::codex::CodexConfig;
use crate::config::log::Edge;
use crate::events::Events;
use crate::recorder::{Recorder, Subject};
use crate::store::Store;
use crate::store::codex as rows;
pub(crate) use crate::store::codex::Query;
use crate::store::codex::handles as kept;
use approval::{Approval, By, Decision};
pub(crate) use error::Error;
use handles::{Became, Handle, Handles, PREFIX};
use happened::End;
pub(crate) use installed::Installed;
use installed::Probe;
pub(crate) use session::Session;
use session::{Entered, Outside, Plan};
use settings::Start;
use thread::{Last, State};

/// Approvals that a slow listener may lag behind.
const APPROVALS: usize = 64;

/// The room. Cheap to clone; all clones share the sessions.
#[derive(Clone, Debug)]
pub(crate) struct Codex(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: CodexConfig,
    store: Store,
    events: Events,
    recorder: Recorder,
    probe: Probe,
    /// By thread. One whose task has ended is left until somebody looks.
    sessions: Mutex<HashMap<String, Session>>,
    /// One of each thread that somebody takes up; see [`Codex::door`].
    doors: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    asked: broadcast::Sender<Approval>,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// Makes the names of runs different.
    runs: AtomicU64,
    /// Turns whose callers do not wait.
    handles: Handles,
    /// Set once no open turn in the store is of another process.
    left: OnceCell<()>,
}

/// A session with a turn in it.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) thread: String,
    pub(crate) session: Session,
    /// The number of the last entry of the log when the prompt was handed in.
    pub(crate) after: u64,
    /// Gets the number of the last entry before the turn once it begins: those of other prompts may come first.
    pub(crate) begins: oneshot::Receiver<u64>,
    /// How many turns of other prompts end before it, unless one is taken back.
    pub(crate) ahead: usize,
    /// Takes the prompt back, with [`Codex::withdraw`].
    pub(crate) ticket: u64,
    /// Gets the turn's end; an error when the session ends without one.
    pub(crate) answer: oneshot::Receiver<Last>,
}

/// A thread as a list shows it.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) row: rows::Thread,
    pub(crate) state: State,
}

impl Codex {
    /// Does no I/O.
    pub(crate) fn new(config: CodexConfig, store: Store, events: Events, recorder: Recorder) -> Self {
        Self(Arc::new(Inner {
            config,
            store,
            events,
            recorder,
            probe: Probe::default(),
            sessions: Mutex::default(),
            doors: Mutex::default(),
            asked: broadcast::Sender::new(APPROVALS),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            runs: AtomicU64::new(0),
            handles: Handles::default(),
            left: OnceCell::new(),
        }))
    }

    /// Returns which Codex is installed and how it is spoken with.
    pub(crate) async fn installed(&self) -> Result<Installed, Error> {
        self.0.probe.look(&self.0.config).await
    }

    /// Begins a thread with its first turn. Returns once Codex gave it a name; the turn goes on.
    pub(crate) async fn start(&self, start: Start) -> Result<Begun, Error> {
        self.open(start, None).await
    }

    /// Hands in the next prompt of a thread; one that no process has is taken up again. A prompt that comes while a
    /// turn runs waits for its end.
    pub(crate) async fn reply(&self, thread: &str, prompt: String) -> Result<Begun, Error> {
        let door = self.door(thread);
        let _held = door.lock().await;
        if let Some(session) = self.session(thread) {
            let after = session.log.last();
            match session.prompt(prompt.clone()).await {
                Ok(Entered { answer, begins, ticket, ahead }) => {
                    let thread = thread.to_owned();
                    return Ok(Begun { thread, session, after, begins, ahead, ticket, answer });
                }
                // It went to rest in this moment.
                Err(Error::Over) => {}
                Err(error) => return Err(error),
            }
        }
        let row = rows::thread(&self.0.store, thread).await?;
        let row = row.ok_or_else(|| Error::UnknownThread(thread.to_owned()))?;
        let mut start: Start = serde_json::from_str(&row.settings).unwrap_or_default();
        start.prompt = prompt;
        start.cwd = start.cwd.or(Some(row.cwd)).filter(|folder| !folder.is_empty());
        self.open(start, Some(thread.to_owned())).await
    }

    /// Puts more into a thread's running turn, where the back end can.
    pub(crate) async fn steer(&self, thread: &str, text: String) -> Result<(), Error> {
        match self.session(thread) {
            Some(session) => session.steer(text).await,
            None => Err(Error::NoTurn),
        }
    }

    /// Asks for the end of a thread's running turn; its end is told as an event.
    pub(crate) async fn interrupt(&self, thread: &str) -> Result<(), Error> {
        match self.session(thread) {
            Some(session) => session.interrupt().await,
            None => Err(Error::NoTurn),
        }
    }

    /// Takes a prompt back that waits for its turn, or ends its turn.
    pub(crate) async fn withdraw(&self, thread: &str, ticket: u64) -> Result<(), Error> {
        match self.session(thread) {
            Some(session) => session.withdraw(ticket).await,
            None => Err(Error::NoTurn),
        }
    }

    /// Gives a turn a name, by which `owner` can ask what became of it. It is in the store when this returns; a turn
    /// that cannot be kept there is taken back.
    pub(crate) async fn hand_out(&self, owner: String, begun: Begun) -> Result<Handle, Error> {
        let at = now();
        let id = format!(
            "{PREFIX}{at:x}-{:x}-{:x}",
            std::process::id(),
            self.0.runs.fetch_add(1, Ordering::Relaxed)
        );
        let Begun { thread, session, ticket, answer, .. } = begun;
        let became = Became::Open;
        let (created_at, updated_at) = (at, at);
        let handle = Handle { id, owner, thread, ticket: Some(ticket), created_at, updated_at, became };
        if let Err(error) = kept::add(&self.0.store, handle.to_row()).await {
            // It may have ended in this moment.
            let _ = session.withdraw(ticket).await;
            return Err(error.into());
        }
        self.0.handles.add(handle.clone());
        let (room, id) = (self.clone(), handle.id.clone());
        // It ends with the session at the latest.
        self.0.tasks.spawn(async move { room.see_the_end(id, session, answer).await });
        Ok(handle)
    }

    /// Waits for a handed out turn's end and keeps it.
    async fn see_the_end(&self, id: String, session: Session, answer: oneshot::Receiver<Last>) {
        let became = match answer.await {
            // Nobody took it back: this hub stops.
            Ok(last) if last.end == End::Interrupted && self.0.stop.is_cancelled() => Became::Lost,
            Ok(last) => Became::Ended(last),
            Err(_) if session.is_over() => Became::Lost,
            Err(_) => Became::Withdrawn,
        };
        let Some(handle) = self.0.handles.ended(&id, became, now()) else { return };
        match kept::end(&self.0.store, handle.to_row()).await {
            Ok(()) => self.0.handles.forget(&id),
            Err(error) => {
                tracing::error!(%error, "a turn's end could not be kept");
                // It stays known as long as this process lives.
                self.0.handles.add(handle);
            }
        }
    }

    /// Returns the turn that has this name, if it is `owner`'s.
    pub(crate) async fn handle(&self, owner: &str, id: &str) -> Result<Option<Handle>, Error> {
        if let Some(handle) = self.0.handles.find(owner, id) {
            return Ok(Some(handle));
        }
        let row = kept::find(&self.0.store, owner, id).await?;
        Ok(row.map(|row| Handle::from_row(row, self.0.store.is_shared(), now())))
    }

    /// Takes back what a handle is of.
    pub(crate) async fn take_back(&self, handle: &Handle) -> Result<(), Error> {
        match handle.ticket {
            Some(ticket) => self.withdraw(&handle.thread, ticket).await,
            None => Err(Error::NoTurn),
        }
    }

    /// Returns the channel on which every approval is told as it is asked.
    pub(crate) fn asked(&self) -> broadcast::Receiver<Approval> {
        self.0.asked.subscribe()
    }

    /// Returns what Codex waits for now, in all threads.
    pub(crate) fn pending(&self) -> Vec<Approval> {
        let sessions: Vec<Session> = self.live().values().cloned().collect();
        sessions.iter().flat_map(|session| session.thread().asked).collect()
    }

    /// Answers an approval of a thread.
    pub(crate) async fn decide(
        &self,
        thread: &str,
        approval: &str,
        decision: Decision,
        by: By,
    ) -> Result<(), Error> {
        match self.session(thread) {
            Some(session) => session.decide(approval, decision, by).await,
            None => Err(Error::NotAsked(approval.to_owned())),
        }
    }

    /// Returns the session that has a thread now.
    pub(crate) fn session(&self, thread: &str) -> Option<Session> {
        self.live().get(thread).cloned()
    }

    /// Returns threads, the last used first, behind `before` where that is given.
    pub(crate) async fn threads(
        &self,
        query: &Query,
        before: Option<(i64, &str)>,
    ) -> Result<Vec<Listed>, Error> {
        self.only_ours().await?;
        let rows = rows::threads(&self.0.store, query, before).await?;
        let live = self.live();
        let state =
            |row: &rows::Thread| live.get(&row.id).map_or(State::Closed, |session| session.thread().state());
        Ok(rows.into_iter().map(|row| Listed { state: state(&row), row }).collect())
    }

    /// Returns one thread.
    pub(crate) async fn thread(&self, id: &str) -> Result<Listed, Error> {
        self.only_ours().await?;
        let row = rows::thread(&self.0.store, id).await?;
        let row = row.ok_or_else(|| Error::UnknownThread(id.to_owned()))?;
        let state = self.session(id).map_or(State::Closed, |session| session.thread().state());
        Ok(Listed { row, state })
    }

    /// Returns ended items of a thread, the newest first, older than `before` where that is given.
    pub(crate) async fn items(
        &self,
        thread: &str,
        query: &Query,
        before: Option<i64>,
    ) -> Result<Vec<(rows::Item, Option<happened::Item>)>, Error> {
        self.only_ours().await?;
        let items = rows::items(&self.0.store, thread, query, before).await?;
        // A row that a newer version wrote may not be understood; it is shown as its kind.
        Ok(items.into_iter().map(|row| (row.clone(), serde_json::from_str(&row.body).ok())).collect())
    }

    /// Ends all sessions and waits until nothing of them is left.
    pub(crate) async fn close(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    async fn open(&self, mut start: Start, resume: Option<String>) -> Result<Begun, Error> {
        // Or a turn of this process would be taken for one that was left.
        self.only_ours().await?;
        if resume.is_none() {
            let usual = || self.0.config.folder.as_ref().map(|folder| folder.display().to_string());
            start.cwd = start.cwd.or_else(usual);
        }
        let installed = self.installed().await?;
        let open = self.live().len();
        if open >= self.0.config.most_sessions {
            return Err(Error::TooMany(open));
        }
        let plan = self.plan(installed, start, resume);
        let tape = plan.tape.clone();
        let outside = Outside {
            store: self.0.store.clone(),
            events: self.0.events.clone(),
            asked: self.0.asked.clone(),
            stop: self.0.stop.clone(),
        };
        let (answer, answered) = oneshot::channel();
        let (session, task) = Session::start(plan, outside, answer).await?;
        self.0.tasks.spawn(task);
        let thread = session.id().await?;
        tape.note(&format!("thread {thread}"));
        self.live().insert(thread.clone(), session.clone());
        let (begin, begins) = oneshot::channel();
        // The receiver is right here.
        let _ = begin.send(0);
        Ok(Begun { thread, session, after: 0, begins, ahead: 0, ticket: 0, answer: answered })
    }

    /// Returns what is held while a thread is taken up: who comes meanwhile finds the process that has it then, for Codex
    /// lets no other one write to it.
    fn door(&self, thread: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut doors = self.0.doors.lock().unwrap_or_else(PoisonError::into_inner);
        doors.retain(|_, door| door.strong_count() > 0);
        if let Some(door) = doors.get(thread).and_then(Weak::upgrade) {
            return door;
        }
        let door = Arc::default();
        doors.insert(thread.to_owned(), Arc::downgrade(&door));
        door
    }

    /// Returns what a process of Codex is started with.
    fn plan(&self, installed: Installed, start: Start, resume: Option<String>) -> Plan {
        let run = format!("codex-{:x}-{}", now(), self.0.runs.fetch_add(1, Ordering::Relaxed));
        let spool = self.0.config.spool.clone().unwrap_or_else(std::env::temp_dir).join(run);
        // Codex takes a folder that is not there; then its process stands elsewhere, and Codex says so itself.
        let folder =
            start.cwd.as_deref().map(PathBuf::from).filter(|folder| folder.is_absolute() && folder.is_dir());
        let back = installed.back.as_str();
        let tape = self.0.recorder.tape_of(Subject {
            edge: Edge::Codex,
            about: format!("codex {back} {}", installed.version),
            command: vec![installed.program.display().to_string(), back.to_owned()],
        });
        Plan {
            installed,
            start,
            resume,
            workdir: folder.unwrap_or_else(|| PathBuf::from("/")),
            spool,
            tape,
            approval_timeout: self.0.config.approval_timeout,
            idle: self.0.config.idle,
        }
    }

    /// The sessions, without those that are over.
    fn live(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        let mut sessions = self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| !session.is_over());
        sessions
    }
}

/// Returns the time in milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
