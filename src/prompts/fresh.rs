//! Keeps the catalogue, and knows when it is stale.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::bundled::BUNDLED;
use super::load::Scan;
use super::{Catalogue, Limits, Root, index};

/// How long an answer may rest on what was seen on disk without looking again.
const FRESH: Duration = Duration::from_millis(400);

/// The roots, what was last seen below them, and the catalogue made of it.
#[derive(Debug)]
pub(super) struct Keeper {
    roots: Vec<Root>,
    pub(super) limits: Limits,
    published: Mutex<Option<Published>>,
    /// One per root. Held while the disk is read, so that one reader works and the others wait for it.
    scans: Mutex<Vec<Scan>>,
    generation: watch::Sender<u64>,
}

#[derive(Debug)]
struct Published {
    catalogue: Arc<Catalogue>,
    checked: Instant,
}

impl Keeper {
    pub(super) fn new(roots: Vec<Root>, limits: Limits) -> Self {
        Self {
            roots,
            limits,
            published: Mutex::default(),
            scans: Mutex::default(),
            generation: watch::Sender::new(0),
        }
    }

    pub(super) fn ready(&self) -> Option<Arc<Catalogue>> {
        let published = lock(&self.published);
        let published = published.as_ref().filter(|published| published.checked.elapsed() < FRESH)?;
        Some(published.catalogue.clone())
    }

    pub(super) fn load(&self) -> Arc<Catalogue> {
        let mut scans = lock(&self.scans);
        if let Some(catalogue) = self.ready() {
            return catalogue;
        }
        let checked = Instant::now();
        let mut changed = scans.is_empty();
        let read: Vec<Scan> = self
            .roots
            .iter()
            .enumerate()
            .map(|(at, root)| {
                let empty = Scan::default();
                let before = scans.get(at).unwrap_or(&empty);
                let scan = match &root.folder {
                    Some(folder) => Scan::read(root, folder, self.limits, before),
                    None => Scan::bundled(root, BUNDLED),
                };
                changed |= !scan.same(before);
                scan
            })
            .collect();
        *scans = read;
        self.publish(&scans, changed, checked)
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    fn publish(&self, scans: &[Scan], changed: bool, checked: Instant) -> Arc<Catalogue> {
        let mut published = lock(&self.published);
        let catalogue = match published.take().filter(|_| !changed) {
            Some(same) => same.catalogue,
            None => {
                let generation = *self.generation.borrow() + 1;
                let catalogue = index::catalogue(&self.roots, scans.iter(), self.limits, generation);
                // The first reading is no change: nobody has seen anything else.
                self.generation.send_if_modified(|last| std::mem::replace(last, generation) != 0);
                Arc::new(catalogue)
            }
        };
        *published = Some(Published { catalogue: catalogue.clone(), checked });
        catalogue
    }
}

/// A panic elsewhere cannot leave these half-written: values are replaced whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
