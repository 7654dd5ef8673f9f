//! What a run wrote, on disk: the head in one file, the tail in segments named by the offset they begin at.

use std::path::{Path, PathBuf};

/// One stream of a run on disk. `kept` is less than `seen` when the stream was longer than the cap: the middle is
/// gone then.
#[derive(Clone, Debug)]
pub(crate) struct Spooled {
    /// The file with the head; the tail's segments stand beside it as `NAME.OFFSET`.
    pub(crate) path: PathBuf,
    /// Bytes the runner wrote.
    pub(crate) seen: u64,
    /// Bytes that are on disk.
    pub(crate) kept: u64,
}

impl Spooled {
    /// Measures what is on disk of a stream of the run in `folder`.
    pub(super) fn found(folder: &Path, name: &str) -> Self {
        Self { path: folder.join(name), seen: 0, kept: 0 }
    }

    /// Returns at most `limit` bytes from the start, invalid UTF-8 replaced.
    pub(crate) fn head(&self, limit: usize) -> String {
        let _ = limit;
        String::new()
    }

    /// Returns at most `limit` bytes up to the end, invalid UTF-8 replaced.
    pub(crate) fn tail(&self, limit: usize) -> String {
        let _ = limit;
        String::new()
    }
}
