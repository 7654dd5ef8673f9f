//! Codex sessions: starts and drives them over either protocol of Codex, and stores their events.
//!
//! [`Codex`] owns all sessions. A session is one child process with one thread; see `session.rs`. A decision that Codex
//! needs from the user is an [`Approval`]: [`Codex::subscribe_approvals`] publishes it, [`Codex::decide`] answers it.

pub mod approval;
mod backend;
pub mod capabilities;
mod detect;
pub mod error;
pub mod event;
pub mod event_log;
mod external_threads;
mod input_check;
mod jsonrpc;
mod one_off_process;
pub mod operations;
mod orphaned_turns;
pub mod patch;
mod persistence;
pub mod rate_limits;
mod session;
pub mod text_log;
pub mod thread;
pub mod thread_options;
pub mod turn_handles;
mod worktrees;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::SystemTime;

use tokio::sync::{OnceCell, broadcast, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use adjutant_base::config::codex::CodexConfig;
use adjutant_base::config::recorder::RecordedConnection;
use adjutant_base::events::Events;
use adjutant_base::mutex::lock;
use adjutant_base::text::timefmt::millis;
use adjutant_host::recorder::{Recorder, Subject};
use adjutant_host::temporary_folder;
use adjutant_store::Store;
use adjutant_store::codex as rows;
pub use adjutant_store::codex::Query;
use adjutant_store::codex::turn_handles as kept;
use approval::{Approval, Decider, Decision};
pub use backend::ExternalThread;
pub use detect::Installed;
use detect::Probe;
pub use error::Error;
use event::{End, Item, ItemKind, ItemState};
pub use session::SessionHandle;
use session::{QueuedPrompt, SessionContext, SessionSetup};
use thread::{ThreadState, TurnOutcome};
use thread_options::{ThreadOptions, TurnInput};
use turn_handles::{HEARTBEAT, HEARTBEAT_TIMEOUT, PREFIX, TurnHandle, TurnHandles, TurnStatus};

/// Approvals that a slow subscriber may lag behind.
const APPROVAL_BACKLOG: usize = 64;

/// The sessions of this hub. Cheap to clone; all clones share the sessions.
#[derive(Clone, Debug)]
pub struct Codex(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: CodexConfig,
    store: Store,
    events: Events,
    recorder: Recorder,
    probe: Probe,
    /// By thread. A session stays until the next look-up after its task has ended.
    sessions: Mutex<HashMap<String, SessionHandle>>,
    /// One lock for each thread that is being resumed; see [`Codex::thread_lock`].
    thread_locks: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    asked: broadcast::Sender<Approval>,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// Counts runs, so that their names differ.
    runs: AtomicU64,
    /// Open turns without a waiting caller.
    handles: TurnHandles,
    /// Set once every open turn in the store belongs to this process.
    recovered: OnceCell<()>,
}

/// A turn that was queued or has started, with its session.
#[derive(Debug)]
pub struct StartedTurn {
    pub thread: String,
    pub session: SessionHandle,
    /// The number of the last entry of the log when the prompt was queued.
    pub after: u64,
    /// Gets the number of the last entry before the turn when it starts: turns of other prompts may come first.
    pub begins: oneshot::Receiver<u64>,
    /// How many turns of other prompts end before it, unless one of them is withdrawn.
    pub ahead: usize,
    /// Identifies the prompt for [`Codex::withdraw`].
    pub ticket: u64,
    /// Gets the end of the turn; an error when the session ends without one.
    pub answer: oneshot::Receiver<TurnOutcome>,
}

/// A row of the list of threads, with its state, and its form on the control socket and in the JSON of the command line.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct ListedThread {
    #[serde(flatten)]
    pub row: rows::Thread,
    pub state: ThreadState,
}

/// An item that has ended, and its number in its thread.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct NumberedItem {
    pub seq: i64,
    #[serde(skip)]
    pub at: i64,
    pub item: Item,
}

impl From<rows::Item> for NumberedItem {
    fn from(row: rows::Item) -> Self {
        // A row of a newer version may not parse; then only its kind is shown.
        let item = serde_json::from_str(&row.body).unwrap_or(Item {
            id: row.id,
            turn: None,
            state: ItemState::Done,
            kind: ItemKind::Other { name: row.kind, content: serde_json::Value::Null },
        });
        Self { seq: row.seq, at: row.at, item }
    }
}

impl Codex {
    /// Does no I/O.
    pub fn new(config: CodexConfig, store: Store, events: Events, recorder: Recorder) -> Self {
        Self(Arc::new(Inner {
            config,
            store,
            events,
            recorder,
            probe: Probe::default(),
            sessions: Mutex::default(),
            thread_locks: Mutex::default(),
            asked: broadcast::Sender::new(APPROVAL_BACKLOG),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            runs: AtomicU64::new(0),
            handles: TurnHandles::default(),
            recovered: OnceCell::new(),
        }))
    }

    /// Returns the installed Codex and the protocol that it offers.
    pub async fn installed(&self) -> Result<Installed, Error> {
        self.0.probe.detect(&self.0.config).await
    }

    /// Returns whether the installed Codex takes an approval policy, as far as it is known without any I/O.
    pub fn takes_policy(&self, policy: &str) -> bool {
        self.0.probe.takes_policy(self.0.config.backend, policy)
    }

    /// Starts a thread with its first turn. Returns as soon as Codex has named the thread, while the turn runs.
    pub async fn start(&self, start: ThreadOptions) -> Result<StartedTurn, Error> {
        self.open(start, None).await
    }

    /// Queues the next prompt of a thread. A thread that no process has is resumed. A prompt that comes while a turn
    /// runs waits for its end.
    pub async fn reply(&self, thread: &str, turn: impl Into<TurnInput>) -> Result<StartedTurn, Error> {
        let turn = turn.into();
        let lock = self.thread_lock(thread);
        let _held = lock.lock().await;
        if let Some(session) = self.session(thread) {
            self.check_input(&turn).await?;
            let after = session.log.last_seq();
            match session.prompt(turn.clone()).await {
                Ok(QueuedPrompt { answer, begins, ticket, ahead }) => {
                    let thread = thread.to_owned();
                    return Ok(StartedTurn { thread, session, after, begins, ahead, ticket, answer });
                }
                // The session ended between the look-up and the prompt.
                Err(Error::Over) => {}
                Err(error) => return Err(error),
            }
        }
        let row = self.row_here(thread).await?;
        // Its process belongs to the thread that started the agent.
        if self.session(&row.parent).is_some() {
            return Err(Error::OfAgent(row.parent));
        }
        if row.archived != 0 {
            return Err(Error::Archived(row.id));
        }
        let mut start: ThreadOptions = serde_json::from_str(&row.settings).unwrap_or_default();
        start.turn = turn;
        start.cwd = start.cwd.or(Some(row.cwd)).filter(|folder| !folder.is_empty());
        self.open(start, Some(thread.to_owned())).await
    }

    /// Adds a prompt to the running turn of a thread, if the protocol supports it.
    pub async fn steer(&self, thread: &str, input: TurnInput) -> Result<(), Error> {
        let session = self.session(thread).ok_or(Error::NoTurn)?;
        self.check_input(&input).await?;
        session.steer(input).await
    }

    /// Requests the end of the running turn of a thread. The end comes as an event.
    pub async fn interrupt(&self, thread: &str) -> Result<(), Error> {
        self.session(thread).ok_or(Error::NoTurn)?.interrupt().await
    }

    /// Removes a prompt that waits for its turn, or interrupts its turn.
    pub async fn withdraw(&self, thread: &str, ticket: u64) -> Result<(), Error> {
        self.session(thread).ok_or(Error::NoTurn)?.withdraw(ticket).await
    }

    /// Stores a handle for a turn, by which `owner` can ask for its status. It is in the store when this returns; a
    /// turn is withdrawn if its handle cannot be stored.
    pub async fn create_handle(&self, owner: String, started: StartedTurn) -> Result<TurnHandle, Error> {
        let at = now();
        let id = format!(
            "{PREFIX}{at:x}-{:x}-{:x}",
            std::process::id(),
            self.0.runs.fetch_add(1, Ordering::Relaxed)
        );
        let StartedTurn { thread, session, ticket, answer, .. } = started;
        let status = TurnStatus::Open;
        let (created_at, updated_at) = (at, at);
        let handle = TurnHandle { id, owner, thread, ticket: Some(ticket), created_at, updated_at, status };
        if let Err(error) = kept::add(&self.0.store, handle.to_row()).await {
            // The turn may have ended meanwhile.
            let _ = session.withdraw(ticket).await;
            return Err(error.into());
        }
        self.0.handles.add(handle.clone());
        let (codex, id) = (self.clone(), handle.id.clone());
        // The task ends with the session at the latest.
        self.0.tasks.spawn(async move { codex.track_completion(id, session, answer).await });
        Ok(handle)
    }

    /// Waits for the end of a turn with a handle, and stores it.
    async fn track_completion(
        &self,
        id: String,
        session: SessionHandle,
        answer: oneshot::Receiver<TurnOutcome>,
    ) {
        let status = match answer.await {
            // Nobody withdrew it: this hub stops.
            Ok(last) if last.end == End::Interrupted && self.0.stop.is_cancelled() => TurnStatus::Lost,
            Ok(last) => TurnStatus::Ended(last),
            Err(_) if session.is_over() => TurnStatus::Lost,
            Err(_) => TurnStatus::Withdrawn,
        };
        let Some(handle) = self.0.handles.ended(&id, status, now()) else { return };
        match kept::end(&self.0.store, handle.to_row()).await {
            Ok(()) => self.0.handles.forget(&id),
            Err(error) => {
                tracing::error!(%error, "a turn's end could not be kept");
                // The handle stays in memory as long as this process lives.
                self.0.handles.add(handle);
            }
        }
    }

    /// Returns the handle with this id, if it belongs to `owner`.
    pub async fn handle(&self, owner: &str, id: &str) -> Result<Option<TurnHandle>, Error> {
        if let Some(handle) = self.0.handles.find(owner, id) {
            return Ok(Some(handle));
        }
        let row = kept::find(&self.0.store, owner, id).await?;
        Ok(row.map(|row| TurnHandle::from_row(row, self.0.store.is_shared(), now())))
    }

    /// Withdraws the turn of a handle.
    pub async fn cancel_handle(&self, handle: &TurnHandle) -> Result<(), Error> {
        match handle.ticket {
            Some(ticket) => self.withdraw(&handle.thread, ticket).await,
            None => Err(Error::NoTurn),
        }
    }

    /// Returns the channel on which every new approval is published.
    pub fn subscribe_approvals(&self) -> broadcast::Receiver<Approval> {
        self.0.asked.subscribe()
    }

    /// Returns the pending approvals of all threads.
    pub fn pending_approvals(&self) -> Vec<Approval> {
        let sessions: Vec<SessionHandle> = self.live_sessions().values().cloned().collect();
        sessions.iter().flat_map(|session| session.thread().asked).collect()
    }

    /// Answers an approval of a thread, with a decision that the approval permits.
    pub async fn decide(
        &self,
        thread: &str,
        approval: &str,
        decision: Decision,
        by: Decider,
    ) -> Result<(), Error> {
        let unknown = || Error::NotAsked(approval.to_owned());
        let session = self.session(thread).ok_or_else(unknown)?;
        let pending = session.thread().asked.into_iter().find(|pending| pending.id == approval);
        if !pending.ok_or_else(unknown)?.permits(&decision) {
            return Err(Error::NotPermitted(approval.to_owned()));
        }
        session.decide(approval, decision, by).await
    }

    /// Returns the running session of a thread.
    pub fn session(&self, thread: &str) -> Option<SessionHandle> {
        self.live_sessions().get(thread).cloned()
    }

    /// Returns the ids and titles of the threads in the database, the last used first. It changes nothing there.
    pub async fn stored_threads(&self, limit: u32) -> Result<Vec<(String, String)>, Error> {
        let query = Query { limit, ..Query::default() };
        let rows = rows::threads(&self.0.store, &query, None).await?;
        Ok(rows.into_iter().map(|row| (row.id, row.title)).collect())
    }

    /// Returns threads, the last used first, after the row `before` if that is given.
    pub async fn threads(
        &self,
        query: &Query,
        before: Option<(i64, &str)>,
    ) -> Result<Vec<ListedThread>, Error> {
        self.recover_at_startup().await?;
        let rows = rows::threads(&self.0.store, query, before).await?;
        let live = self.live_sessions();
        let state = |row: &rows::Thread| {
            live.get(&row.id).map_or(ThreadState::Closed, |session| session.thread().state())
        };
        Ok(rows.into_iter().map(|row| ListedThread { state: state(&row), row }).collect())
    }

    /// Returns one thread.
    pub async fn thread(&self, id: &str) -> Result<ListedThread, Error> {
        self.recover_at_startup().await?;
        let row = rows::thread(&self.0.store, id).await?;
        let row = row.ok_or_else(|| Error::UnknownThread(id.to_owned()))?;
        let state = self.session(id).map_or(ThreadState::Closed, |session| session.thread().state());
        Ok(ListedThread { row, state })
    }

    /// Returns ended items of a thread, the newest first, older than `before` if that is given.
    pub async fn items(
        &self,
        thread: &str,
        query: &Query,
        before: Option<i64>,
    ) -> Result<Vec<NumberedItem>, Error> {
        self.recover_at_startup().await?;
        let items = rows::items(&self.0.store, thread, query, before).await?;
        Ok(items.into_iter().map(NumberedItem::from).collect())
    }

    /// Ends the turns that stopped hubs left open, now and, if hubs share the database, at every heartbeat. Returns
    /// when nothing is left to watch.
    pub async fn reap_orphaned_turns(&self) {
        let shared = self.0.store.is_shared();
        loop {
            let minded =
                if shared { self.heartbeat_and_reap().await } else { self.recover_at_startup().await };
            match minded {
                Ok(()) if !shared => return,
                Ok(()) => {}
                Err(error) => tracing::warn!(%error, "turns that a hub left could not be looked for"),
            }
            tokio::time::sleep(HEARTBEAT).await;
        }
    }

    /// Ends the open turns of earlier processes once, if no other hub shares the database.
    async fn recover_at_startup(&self) -> Result<(), Error> {
        let all = || orphaned_turns::end(&self.0.store, &self.0.events, i64::MAX);
        if self.0.store.is_shared() { Ok(()) } else { self.0.recovered.get_or_try_init(all).await.copied() }
    }

    async fn heartbeat_and_reap(&self) -> Result<(), Error> {
        let store = &self.0.store;
        let runs = |state| matches!(state, ThreadState::Running | ThreadState::Asking);
        let live = self.live_sessions().clone();
        let threads =
            live.into_iter().filter(|(_, session)| runs(session.thread().state())).map(|(id, _)| id);
        rows::heartbeat(store, threads.collect(), self.0.handles.names(), now()).await?;
        let timeout = i64::try_from(HEARTBEAT_TIMEOUT.as_millis()).unwrap_or(i64::MAX);
        orphaned_turns::end(store, &self.0.events, now() - timeout).await
    }

    /// Ends all sessions and waits until no process of them is left.
    pub async fn close(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    async fn open(&self, mut start: ThreadOptions, resume: Option<String>) -> Result<StartedTurn, Error> {
        // Otherwise a turn of this process would be taken for an orphaned one.
        self.recover_at_startup().await?;
        self.check_input(&start.turn).await?;
        if resume.is_none() {
            let usual = || self.0.config.folder.as_ref().map(|folder| folder.display().to_string());
            start.cwd = start.cwd.or_else(usual);
            if start.worktree {
                let folder = start.cwd.unwrap_or_default();
                start.cwd = Some(self.add_worktree(Path::new(&folder)).await?);
            }
        }
        let open = self.live_sessions().len();
        if open >= self.0.config.max_sessions {
            return Err(Error::TooMany(open));
        }
        let installed = self.installed().await?;
        start.approval_policy = start.approval_policy.map(|policy| installed.approval_policy(policy));
        let plan = self.session_setup(installed, start, resume);
        let recording = plan.recording.clone();
        let outside = SessionContext {
            store: self.0.store.clone(),
            events: self.0.events.clone(),
            asked: self.0.asked.clone(),
            stop: self.0.stop.clone(),
        };
        let (answer, answered) = oneshot::channel();
        let (session, task) = SessionHandle::start(plan, outside, answer).await?;
        self.0.tasks.spawn(task);
        let thread = session.id().await?;
        recording.note(&format!("thread {thread}"));
        self.live_sessions().insert(thread.clone(), session.clone());
        let (begin, begins) = oneshot::channel();
        // The receiver is still in scope.
        let _ = begin.send(0);
        Ok(StartedTurn { thread, session, after: 0, begins, ahead: 0, ticket: 0, answer: answered })
    }

    /// Returns the lock of a thread. It is held while the thread is resumed, because Codex lets only one process write
    /// to a thread.
    fn thread_lock(&self, thread: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut thread_locks = lock(&self.0.thread_locks);
        thread_locks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = thread_locks.get(thread).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        thread_locks.insert(thread.to_owned(), Arc::downgrade(&lock));
        lock
    }

    /// Returns the parameters of a new session.
    fn session_setup(
        &self,
        installed: Installed,
        start: ThreadOptions,
        resume: Option<String>,
    ) -> SessionSetup {
        let run = format!("codex-{:x}-{}", now(), self.0.runs.fetch_add(1, Ordering::Relaxed));
        let spool = self.0.config.spool.as_ref().map_or_else(temporary_folder::path, |spool| spool.join(run));
        // Codex accepts a folder that does not exist. Its process then starts in `/`, and Codex reports the missing
        // folder.
        let folder =
            start.cwd.as_deref().map(PathBuf::from).filter(|folder| folder.is_absolute() && folder.is_dir());
        let back = installed.backend.name();
        let recording = self.0.recorder.recording_of(Subject {
            connection: RecordedConnection::Codex,
            about: format!("codex {back} {}", installed.version),
            command: vec![installed.program.display().to_string(), back.to_owned()],
        });
        SessionSetup {
            installed,
            start,
            resume,
            workdir: folder.unwrap_or_else(|| PathBuf::from("/")),
            spool,
            recording,
            approval_timeout: self.0.config.approval_timeout,
            idle: self.0.config.idle,
        }
    }

    /// Returns the sessions that have not ended.
    fn live_sessions(&self) -> MutexGuard<'_, HashMap<String, SessionHandle>> {
        let mut sessions = lock(&self.0.sessions);
        sessions.retain(|_, session| !session.is_over());
        sessions
    }
}

/// Returns the time in milliseconds since 1970.
fn now() -> i64 {
    millis(SystemTime::now())
}
