//! The cache of a catalogue, with the check of its freshness.
//!
//! A fully watched root is scanned again after a change below it, or after another folder replaced it. Any other root
//! is scanned on each request, unless its last scan is younger than [`FRESH`].

mod watcher;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::watch as channel;
use tokio::task::JoinError;

use super::FileFormat;
use super::scan::{self, Scan};
use adjutant_base::config::folders::{Limits, Root};
use adjutant_base::mutex::lock;
use watcher::Watch;
pub use watcher::replaced_watchers;

/// Maximum age of a scan that is used without a new scan.
const FRESH: Duration = Duration::from_millis(400);
/// Maximum pause between two scans while files change all the time. The pause is as long as the last scan, so that
/// scans take at most half of the time.
const MAX_PAUSE: Duration = Duration::from_millis(200);

/// A catalogue of roots that are read on request, and again after a change.
#[derive(Debug)]
pub struct FileCatalogue<K: FileFormat> {
    kind: K,
    roots: Vec<Root>,
    limits: Limits,
    /// One flag per root, set by a change below it since its last scan.
    stale: Vec<AtomicBool>,
    published: Mutex<Option<Published<K::Catalogue>>>,
    /// The last scan of each root. Locked during a scan, so that one reader scans and the others wait for it.
    seen: Mutex<Vec<Seen<K::Item>>>,
    generation: channel::Sender<u64>,
    watch: OnceLock<Watch>,
    #[cfg(any(test, feature = "testing"))]
    fault: Mutex<Option<WatcherFault>>,
}

#[derive(Debug)]
struct Published<C> {
    catalogue: Arc<C>,
    checked: Instant,
    /// Duration of the check.
    took: Duration,
}

/// The last scan of one root.
#[derive(Debug)]
struct Seen<T> {
    scan: Scan<T>,
    /// Set if all folders of the scan are watched. A root that was not watched before its scan is scanned again.
    covered: bool,
}

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self { scan: Scan::default(), covered: false }
    }
}

impl<K: FileFormat> FileCatalogue<K> {
    /// Creates a catalogue without any I/O: the first request reads the files.
    pub fn new(kind: K, mut roots: Vec<Root>, limits: Limits) -> Arc<Self> {
        // The watcher reports absolute paths, and the working folder of the process may change.
        for folder in roots.iter_mut().filter_map(|root| root.folder.as_mut()) {
            if let Ok(absolute) = std::path::absolute(&*folder) {
                *folder = absolute;
            }
        }
        Arc::new(Self {
            kind,
            stale: roots.iter().map(|_| AtomicBool::new(false)).collect(),
            roots,
            limits,
            published: Mutex::new(None),
            seen: Mutex::new(Vec::new()),
            generation: channel::Sender::new(0),
            watch: OnceLock::new(),
            #[cfg(any(test, feature = "testing"))]
            fault: Mutex::default(),
        })
    }

    /// Returns the catalogue if it is known to be fresh; never blocks. `None` means that [`Self::load`] is due.
    pub fn ready(&self) -> Option<Arc<K::Catalogue>> {
        let published = lock(&self.published);
        let published = published.as_ref()?;
        let stale = self.stale.iter().any(|stale| stale.load(Ordering::Acquire));
        let lasts = if stale { published.took.min(MAX_PAUSE) } else { FRESH };
        (published.checked.elapsed() < lasts).then(|| published.catalogue.clone())
    }

    /// Returns a fresh catalogue, for which a thread reads new and changed files. Fails if that thread panics.
    pub async fn fresh(self: &Arc<Self>) -> Result<Arc<K::Catalogue>, JoinError> {
        if let Some(catalogue) = self.ready() {
            return Ok(catalogue);
        }
        let cache = self.clone();
        tokio::task::spawn_blocking(move || cache.load()).await
    }

    /// Returns the time for which the catalogue still counts as fresh.
    fn freshness_left(&self) -> Duration {
        let published = lock(&self.published);
        let age = published.as_ref().map_or(FRESH, |published| published.checked.elapsed());
        FRESH.saturating_sub(age)
    }

    /// Returns a fresh catalogue, and reads new and changed files for it. Blocks on the disk.
    pub fn load(self: &Arc<Self>) -> Arc<K::Catalogue> {
        let mut seen = lock(&self.seen);
        if let Some(catalogue) = self.ready() {
            return catalogue;
        }
        let began = Instant::now();
        let first = seen.is_empty() && !self.roots.is_empty();
        seen.resize_with(self.roots.len(), Seen::default);
        let mut changed = false;
        let mut moved = false;
        for ((root, seen), stale) in self.roots.iter().enumerate().zip(seen.iter_mut()).zip(&self.stale) {
            // Cleared before the scan, so that a change during the scan counts.
            let stale = stale.swap(false, Ordering::AcqRel);
            let Some(scan) = self.rescan(root, seen, stale, first) else { continue };
            changed |= !scan.same(&seen.scan);
            if scan.folders != seen.scan.folders {
                seen.covered = false;
                moved = true;
            }
            seen.scan = scan;
        }
        let catalogue = self.publish(&seen, changed, began);
        // Without subscribers, only this call finds a watcher that hangs.
        if moved || (self.watch.get().is_some() && self.generation.receiver_count() == 0) {
            self.watch();
        }
        catalogue
    }

    /// Returns a receiver of the catalogue's generation, which grows when a scan finds a change.
    pub fn changes(&self) -> channel::Receiver<u64> {
        self.generation.subscribe()
    }

    /// Starts the watcher of the folders, unless it runs already: it reads changes without a request.
    pub fn watch(self: &Arc<Self>) {
        self.watch.get_or_init(|| Watch::start(self, K::PLURAL)).check();
    }

    fn publish(&self, seen: &[Seen<K::Item>], changed: bool, began: Instant) -> Arc<K::Catalogue> {
        let mut published = lock(&self.published);
        let last = published.as_ref().map(|last| last.catalogue.clone());
        let catalogue = if let (Some(last), false) = (&last, changed) {
            last.clone()
        } else {
            let generation = last.map_or(0, |last| K::generation(&last)) + 1;
            let scans: Vec<_> = seen.iter().map(|seen| &seen.scan).collect();
            let catalogue = self.kind.catalogue(&self.roots, &scans, generation);
            // The first scan is not a change, because nothing was published before it.
            self.generation.send_if_modified(|last| std::mem::replace(last, generation) != 0);
            Arc::new(catalogue)
        };
        *published = Some(Published { catalogue: catalogue.clone(), checked: began, took: began.elapsed() });
        catalogue
    }

    /// Marks the roots of changed `paths` as stale. Without a root above them, all roots are stale, because a root may
    /// be named by a relative path or a link.
    fn mark_stale(&self, paths: &[PathBuf]) {
        let mut known = false;
        for (root, stale) in self.roots.iter().zip(&self.stale) {
            if root.folder.as_ref().is_some_and(|folder| paths.iter().any(|path| path.starts_with(folder))) {
                stale.store(true, Ordering::Release);
                known = true;
            }
        }
        if !known {
            self.stale.iter().for_each(|stale| stale.store(true, Ordering::Release));
        }
    }

    /// Scans one root; `None` means that nothing can have changed.
    fn rescan(
        &self,
        (number, root): (usize, &Root),
        seen: &Seen<K::Item>,
        stale: bool,
        first: bool,
    ) -> Option<Scan<K::Item>> {
        match &root.folder {
            None => first.then(|| Scan::bundled(&self.kind, number, &root.label)),
            Some(folder) if seen.covered && !stale && in_place(folder, &seen.scan) => None,
            Some(folder) => Some(Scan::read(&self.kind, (number, root), folder, self.limits, &seen.scan)),
        }
    }
}

impl<K: FileFormat> Drop for FileCatalogue<K> {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.get() {
            watch.stop();
        }
    }
}

/// Returns whether the scanned folder is still the root. A watch of the root does not report a move of a folder above
/// it.
fn in_place<T>(folder: &Path, scan: &Scan<T>) -> bool {
    scan::identity(folder).as_ref() == scan.folders.get(folder)
}

/// A fault of the watcher, for tests.
#[cfg(any(test, feature = "testing"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatcherFault {
    /// The system's notifier hangs at its next event.
    NotifierHangs,
    /// It ends at its next event.
    NotifierPanics,
    /// The watching thread ends at its next check.
    ThreadPanics,
}

/// Access for the tests of a domain.
#[cfg(any(test, feature = "testing"))]
impl<K: FileFormat> FileCatalogue<K> {
    /// Returns whether the watcher reports changes below every root.
    pub fn is_watched(&self) -> bool {
        self.all_covered()
    }

    /// Makes the watcher fail, once.
    pub fn break_watcher(&self, fault: WatcherFault) {
        *lock(&self.fault) = Some(fault);
    }

    /// Fails if a test wants this fault.
    fn fail(&self, fault: WatcherFault) {
        if lock(&self.fault).take_if(|wanted| *wanted == fault).is_some() {
            assert!(fault == WatcherFault::NotifierHangs, "a test wants {fault:?}");
            loop {
                std::thread::park();
            }
        }
    }

    /// Disables the watcher before its start, as on a system that refuses watches.
    ///
    /// # Panics
    ///
    /// If watching began already.
    pub fn disable_watching(&self) {
        assert!(self.watch.set(Watch::disabled()).is_ok(), "watching began already");
    }
}
