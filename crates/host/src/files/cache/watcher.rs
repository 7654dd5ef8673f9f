//! The watcher of the folders that were read, on a thread of its own that ends with its cache.
//!
//! Each folder is watched by itself, not its tree: hidden folders (think `.git`) cost nothing, and what is
//! watched is exactly what was read. Where watching fails (limits of the system, odd file systems), the
//! keeper looks again by the clock.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::{CatalogueCache, FRESH, lock};
use crate::files::FileFormat;
use crate::files::scan::Identity;

/// Those who are told of changes are told when nothing happened for this long,
const QUIET: Duration = Duration::from_millis(100);
/// or after this, if it goes on.
const MAX_SETTLE: Duration = Duration::from_millis(300);
/// With listeners, and everything watched, how often it is checked that the roots still stand where they did.
const STANDING: Duration = Duration::from_secs(2);

/// Paths of moved and removed things that are kept for the thread; past that it watches everything anew.
const MOST_LOST: usize = 256;

type Folders = BTreeMap<PathBuf, Identity>;
/// What was moved or removed: a watch on it, or on what is below it, is gone or follows it elsewhere.
type Lost = Arc<Mutex<Vec<PathBuf>>>;

/// The handle of the watching thread.
#[derive(Debug)]
pub(super) struct Watch {
    orders: SyncSender<Order>,
}

#[derive(Debug)]
enum Order {
    Look,
    Stop,
}

impl Watch {
    /// Starts the thread. If the system has none left, the keeper goes on by the clock alone.
    pub(super) fn start<K: FileFormat>(keeper: &Arc<CatalogueCache<K>>, plural: &str) -> Self {
        // One place is enough: an order that waits stands for all that come behind it.
        let (orders, inbox) = sync_channel(1);
        let keeper = Arc::downgrade(keeper);
        let sender = orders.clone();
        let thread = std::thread::Builder::new().name(format!("{plural}-watch"));
        if let Err(error) = thread.spawn(move || run(&keeper, &inbox, sender)) {
            tracing::warn!(%error, "folders are not watched: no thread");
        }
        Self { orders }
    }

    /// A watch that sees nothing, as where the system refuses one.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn disabled() -> Self {
        Self { orders: sync_channel(1).0 }
    }

    /// Asks the thread to look at what was read, and to watch it.
    pub(super) fn look(&self) {
        let _ = self.orders.try_send(Order::Look);
    }

    /// Ends the thread. It may also find out by itself, from its keeper being gone.
    pub(super) fn stop(&self) {
        let _ = self.orders.try_send(Order::Stop);
    }
}

fn run<K: FileFormat>(keeper: &Weak<CatalogueCache<K>>, inbox: &Receiver<Order>, orders: SyncSender<Order>) {
    let lost = Lost::default();
    let mut notifier = watcher(keeper.clone(), orders, lost.clone());
    let mut watched = Folders::new();
    let mut first = true;
    while first || next(keeper, inbox) {
        let Some(keeper) = keeper.upgrade() else { return };
        if keeper.generation.receiver_count() > 0 {
            keeper.load();
        }
        if let Some(notifier) = &mut notifier {
            // The lock is released first: unwatching waits for the notifier's thread, and its callback takes the lock.
            let moved = std::mem::take(&mut *lock(&lost));
            forget(&keeper, notifier, &mut watched, &moved);
            cover(&keeper, notifier, &mut watched);
        }
        first = false;
    }
}

fn watcher<K: FileFormat>(
    keeper: Weak<CatalogueCache<K>>,
    orders: SyncSender<Order>,
    lost: Lost,
) -> Option<RecommendedWatcher> {
    let told = move |event: notify::Result<notify::Event>| {
        let Some(keeper) = keeper.upgrade() else { return };
        match event {
            Ok(event) if is_reading(event.kind) => return,
            Ok(event) if !event.need_rescan() => {
                keeper.happened(&event.paths);
                if is_moving(event.kind) {
                    let mut lost = lock(&lost);
                    let places = MOST_LOST.saturating_sub(lost.len());
                    lost.extend(event.paths.into_iter().take(places));
                }
            }
            _ => keeper.happened(&[]),
        }
        let _ = orders.try_send(Order::Look);
    };
    notify::recommended_watcher(told)
        .inspect_err(
            |error| tracing::warn!(%error, "folders are not watched; they are read again by the clock"),
        )
        .ok()
}

fn is_reading(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

fn is_moving(kind: EventKind) -> bool {
    matches!(kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)))
}

/// Takes the watches back that `lost` may have broken.
fn forget<K: FileFormat>(
    keeper: &CatalogueCache<K>,
    notifier: &mut RecommendedWatcher,
    watched: &mut Folders,
    lost: &[PathBuf],
) {
    let all = lost.len() >= MOST_LOST;
    let before = watched.len();
    watched.retain(|folder, _| {
        let stays = !all && !lost.iter().any(|path| folder.starts_with(path));
        if !stays {
            let _ = notifier.unwatch(folder);
        }
        stays
    });
    if watched.len() < before {
        lock(&keeper.seen).iter_mut().for_each(|seen| seen.covered = false);
    }
}

/// Waits until it is time to look again; `false` means the end.
fn next<K: FileFormat>(keeper: &Weak<CatalogueCache<K>>, inbox: &Receiver<Order>) -> bool {
    let wait = match keeper.upgrade() {
        None => return false,
        Some(keeper) if keeper.generation.receiver_count() == 0 => None,
        Some(keeper) => Some(if keeper.all_covered() { STANDING } else { FRESH }),
    };
    let order = match wait {
        None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(wait) => inbox.recv_timeout(wait),
    };
    match order {
        Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => false,
        Err(RecvTimeoutError::Timeout) => true,
        Ok(Order::Look) => settle(inbox),
    }
}

/// Waits for a quiet moment; `false` means the end.
fn settle(inbox: &Receiver<Order>) -> bool {
    let until = Instant::now() + MAX_SETTLE;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match inbox.recv_timeout(QUIET.min(left)) {
            Ok(Order::Look) if !left.is_zero() => {}
            Ok(Order::Look) | Err(RecvTimeoutError::Timeout) => return true,
            Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

/// Watches exactly the folders that were read last. A root that is newly covered counts as stale: something may
/// have happened between reading and watching.
fn cover<K: FileFormat>(
    keeper: &CatalogueCache<K>,
    notifier: &mut RecommendedWatcher,
    watched: &mut Folders,
) {
    if keeper.all_covered() {
        return;
    }
    let wanted: Folders = lock(&keeper.seen).iter().flat_map(|seen| seen.scan.folders.clone()).collect();
    // First those that are gone: a folder that was moved keeps its watch under the old name.
    watched.retain(|folder, identity| {
        let stays = wanted.get(folder) == Some(identity);
        if !stays {
            let _ = notifier.unwatch(folder);
        }
        stays
    });
    for (folder, identity) in &wanted {
        if watched.contains_key(folder) {
            continue;
        }
        match notifier.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => drop(watched.insert(folder.clone(), *identity)),
            Err(error) => tracing::debug!(%error, "a folder is not watched"),
        }
    }
    keeper.note_covered(watched);
}

impl<K: FileFormat> CatalogueCache<K> {
    /// Whether what happens below any root is told.
    pub(in crate::files) fn all_covered(&self) -> bool {
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
                stale.store(true, std::sync::atomic::Ordering::Release);
            }
        }
    }
}
