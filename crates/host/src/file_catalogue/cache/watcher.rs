//! The watcher of the scanned folders, on a thread that ends with its cache.
//!
//! Each folder is watched without its tree, so that hidden folders such as `.git` cost nothing: exactly the scanned
//! folders are watched. If watching fails (limits of the system, unusual file systems), the cache scans at intervals.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::FileCatalogue;
#[cfg(any(test, feature = "testing"))]
use super::WatcherFault;
use crate::file_catalogue::FileFormat;
use crate::file_catalogue::scan::Identity;
use adjutant_base::mutex::lock;

/// Time without further changes before they are read.
const QUIET_TIME: Duration = Duration::from_millis(100);
/// Maximum wait for such a time, if changes continue.
const MAX_SETTLE_TIME: Duration = Duration::from_millis(300);
/// Interval of the check that no root was moved, if there are subscribers and everything is watched.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Timeout of one call of the notifier; a slower notifier is replaced.
const WATCHER_TIMEOUT: Duration = Duration::from_secs(1);

/// Pause before a watching thread that ended is started again.
const RESTART_PAUSE: Duration = Duration::from_millis(500);

/// Maximum paths of moved and removed files that are kept for the thread; with more, it renews all watches.
const MAX_REMOVED: usize = 256;

type Folders = BTreeMap<PathBuf, Identity>;
/// Moved and removed paths. A watch at or below such a path has ended, or follows the folder to its new place.
type RemovedPaths = Arc<Mutex<Vec<PathBuf>>>;

/// The handle of the watching thread.
#[derive(Debug)]
pub(super) struct Watch {
    commands: SyncSender<Command>,
}

#[derive(Debug)]
enum Command {
    Check,
    Stop,
}

impl Watch {
    /// Starts the thread. If the system has no thread left, the cache only scans at intervals.
    pub(super) fn start<K: FileFormat>(cache: &Arc<FileCatalogue<K>>, plural: &str) -> Self {
        // One place is enough, because a queued command includes all later ones.
        let (commands, inbox) = sync_channel(1);
        let cache = Arc::downgrade(cache);
        let sender = commands.clone();
        let thread = std::thread::Builder::new().name(format!("{plural}-watch"));
        let run = move || {
            while catch_unwind(AssertUnwindSafe(|| run(&cache, &inbox, &sender))).is_err() {
                if let Some(cache) = cache.upgrade() {
                    note_replaced(&cache);
                }
                std::thread::sleep(RESTART_PAUSE);
            }
        };
        if let Err(error) = thread.spawn(run) {
            tracing::warn!(%error, "folders are not watched: no thread");
        }
        Self { commands }
    }

    /// Returns a watch without events, as on a system that refuses watches.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn disabled() -> Self {
        Self { commands: sync_channel(1).0 }
    }

    /// Requests watches of the folders of the last scans.
    pub(super) fn check(&self) {
        let _ = self.commands.try_send(Command::Check);
    }

    /// Ends the thread. The thread also ends when it finds its cache dropped.
    pub(super) fn stop(&self) {
        let _ = self.commands.try_send(Command::Stop);
    }
}

fn run<K: FileFormat>(
    cache: &Weak<FileCatalogue<K>>,
    inbox: &Receiver<Command>,
    commands: &SyncSender<Command>,
) {
    let start = || Notifier::start(cache.clone(), commands.clone());
    let mut notifier = start();
    let mut watched = Folders::new();
    let mut first = true;
    while first || next(cache, inbox) {
        let Some(cache) = cache.upgrade() else { return };
        if cache.generation.receiver_count() > 0 {
            cache.load();
        }
        #[cfg(any(test, feature = "testing"))]
        cache.fail(WatcherFault::ThreadPanics);
        let updated = notifier
            .ping()
            .and_then(|()| forget(&cache, &notifier, &mut watched))
            .and_then(|()| cover(&cache, &notifier, &mut watched));
        if let Err(Unresponsive) = updated {
            note_replaced(&cache);
            notifier = start();
            watched.clear();
            let _ = commands.try_send(Command::Check);
        }
        first = false;
    }
}

/// Notes that the watcher hangs or has ended. Its folders are scanned until they are watched again.
fn note_replaced<K: FileFormat>(cache: &FileCatalogue<K>) {
    tracing::warn!("the watcher of folders did not answer; it is replaced, and the folders are scanned");
    REPLACED.fetch_add(1, Ordering::Relaxed);
    lock(&cache.seen).iter_mut().for_each(|seen| seen.covered = false);
    cache.mark_stale(&[]);
}

/// Number of watchers of this process that were replaced because they did not answer.
static REPLACED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of watchers of this process that were replaced because they did not answer.
pub fn replaced_watchers() -> u64 {
    REPLACED.load(Ordering::Relaxed)
}

/// The system's notifier on a separate thread: a call that never returns blocks only that thread.
struct Notifier {
    calls: SyncSender<Call>,
    results: Receiver<bool>,
    removed: RemovedPaths,
    /// Whether the notifier has answered a ping. After that, its end is an error.
    has_answered: Cell<bool>,
}

enum Call {
    Watch(PathBuf),
    Unwatch(PathBuf),
    /// Checks that the notifier's thread answers.
    Ping,
}

/// The error of a notifier that did not answer within [`WATCHER_TIMEOUT`], or that has ended.
struct Unresponsive;

impl Notifier {
    fn start<K: FileFormat>(cache: Weak<FileCatalogue<K>>, commands: SyncSender<Command>) -> Self {
        let (calls, inbox) = sync_channel(1);
        let (sender, results) = sync_channel(1);
        let removed = RemovedPaths::default();
        let moved = removed.clone();
        let serve = move || {
            let Some(mut watcher) = watcher(cache, commands, moved) else { return };
            while let Ok(call) = inbox.recv() {
                let done = match call {
                    Call::Watch(folder) => watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok(),
                    Call::Unwatch(folder) => watcher.unwatch(&folder).is_ok(),
                    Call::Ping => watcher.configure(notify::Config::default()).is_ok(),
                };
                if sender.send(done).is_err() {
                    return;
                }
            }
        };
        // Nothing is watched without a thread, as without a notifier.
        let _ = std::thread::Builder::new().name("notifier".to_owned()).spawn(serve);
        Self { calls, results, removed, has_answered: Cell::new(false) }
    }

    /// Checks that the notifier answers. Succeeds on a system that has no notifier.
    fn ping(&self) -> Result<(), Unresponsive> {
        let answers = self.call(Call::Ping)?;
        if self.has_answered.replace(answers) && !answers { Err(Unresponsive) } else { Ok(()) }
    }

    /// Returns whether the call succeeded; `false` also on a system without a notifier.
    fn call(&self, call: Call) -> Result<bool, Unresponsive> {
        if self.calls.send(call).is_err() {
            return Ok(false);
        }
        match self.results.recv_timeout(WATCHER_TIMEOUT) {
            Ok(done) => Ok(done),
            Err(RecvTimeoutError::Disconnected) => Ok(false),
            Err(RecvTimeoutError::Timeout) => Err(Unresponsive),
        }
    }
}

fn watcher<K: FileFormat>(
    cache: Weak<FileCatalogue<K>>,
    commands: SyncSender<Command>,
    removed: RemovedPaths,
) -> Option<RecommendedWatcher> {
    let on_event = move |event: notify::Result<notify::Event>| {
        let Some(cache) = cache.upgrade() else { return };
        #[cfg(any(test, feature = "testing"))]
        {
            cache.fail(WatcherFault::NotifierHangs);
            cache.fail(WatcherFault::NotifierPanics);
        }
        match event {
            Ok(event) if is_reading(event.kind) => return,
            Ok(event) if !event.need_rescan() => {
                cache.mark_stale(&event.paths);
                if is_moving(event.kind) {
                    let mut removed = lock(&removed);
                    let places = MAX_REMOVED.saturating_sub(removed.len());
                    removed.extend(event.paths.into_iter().take(places));
                }
            }
            _ => cache.mark_stale(&[]),
        }
        let _ = commands.try_send(Command::Check);
    };
    notify::recommended_watcher(on_event)
        .inspect_err(|error| tracing::warn!(%error, "folders are not watched; they are scanned at intervals"))
        .ok()
}

fn is_reading(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

fn is_moving(kind: EventKind) -> bool {
    matches!(kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)))
}

/// Removes the watches that moved and removed folders may have broken.
fn forget<K: FileFormat>(
    cache: &FileCatalogue<K>,
    notifier: &Notifier,
    watched: &mut Folders,
) -> Result<(), Unresponsive> {
    // The lock is released first: unwatching waits for the notifier's thread, and its callback takes the lock.
    let removed = std::mem::take(&mut *lock(&notifier.removed));
    let is_lost =
        |folder: &Path| removed.len() >= MAX_REMOVED || removed.iter().any(|path| folder.starts_with(path));
    if unwatch(notifier, watched, |folder, _| is_lost(folder))? {
        lock(&cache.seen).iter_mut().for_each(|seen| seen.covered = false);
    }
    Ok(())
}

/// Removes the watches of some folders. Returns whether there were any.
fn unwatch(
    notifier: &Notifier,
    watched: &mut Folders,
    is_meant: impl Fn(&Path, &Identity) -> bool,
) -> Result<bool, Unresponsive> {
    let taken: Vec<PathBuf> = watched
        .extract_if(.., |folder, identity| is_meant(folder, identity))
        .map(|(folder, _)| folder)
        .collect();
    let any = !taken.is_empty();
    for folder in taken {
        notifier.call(Call::Unwatch(folder))?;
    }
    Ok(any)
}

/// Waits for the next check of the folders; `false` means the end.
fn next<K: FileFormat>(cache: &Weak<FileCatalogue<K>>, inbox: &Receiver<Command>) -> bool {
    let wait = match cache.upgrade() {
        None => return false,
        Some(cache) if cache.generation.receiver_count() == 0 => None,
        Some(cache) => Some(if cache.all_covered() { CHECK_INTERVAL } else { cache.freshness_left() }),
    };
    let command = match wait {
        None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(wait) => inbox.recv_timeout(wait),
    };
    match command {
        Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => false,
        Err(RecvTimeoutError::Timeout) => true,
        Ok(Command::Check) => settle(inbox),
    }
}

/// Waits for a quiet moment; `false` means the end.
fn settle(inbox: &Receiver<Command>) -> bool {
    let until = Instant::now() + MAX_SETTLE_TIME;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match inbox.recv_timeout(QUIET_TIME.min(left)) {
            Ok(Command::Check) if !left.is_zero() => {}
            Ok(Command::Check) | Err(RecvTimeoutError::Timeout) => return true,
            Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

/// Watches exactly the folders of the last scans. A newly covered root counts as stale, because files may have changed
/// between scan and watch.
fn cover<K: FileFormat>(
    cache: &FileCatalogue<K>,
    notifier: &Notifier,
    watched: &mut Folders,
) -> Result<(), Unresponsive> {
    if cache.all_covered() {
        return Ok(());
    }
    let wanted: Folders = lock(&cache.seen).iter().flat_map(|seen| seen.scan.folders.clone()).collect();
    // Old watches are removed first, because a moved folder keeps its watch under the old name.
    unwatch(notifier, watched, |folder, identity| wanted.get(folder) != Some(identity))?;
    for (folder, identity) in &wanted {
        if !watched.contains_key(folder) && notifier.call(Call::Watch(folder.clone()))? {
            watched.insert(folder.clone(), *identity);
        }
    }
    cache.note_covered(watched);
    Ok(())
}

impl<K: FileFormat> FileCatalogue<K> {
    /// Returns whether the watcher reports changes below every root.
    pub(super) fn all_covered(&self) -> bool {
        let seen = lock(&self.seen);
        seen.len() == self.roots.len()
            && self.roots.iter().zip(seen.iter()).all(|(root, seen)| root.folder.is_none() || seen.covered)
    }

    fn note_covered(&self, watched: &Folders) {
        let mut seen = lock(&self.seen);
        for (seen, stale) in seen.iter_mut().zip(&self.stale).filter(|(seen, _)| !seen.covered) {
            let folders = &seen.scan.folders;
            if !folders.is_empty()
                && folders.iter().all(|(path, identity)| watched.get(path) == Some(identity))
            {
                seen.covered = true;
                stale.store(true, Ordering::Release);
            }
        }
    }
}
