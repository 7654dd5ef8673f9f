//! The files of a stream, found by their names.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A file with a piece of a stream.
pub(super) struct Segment {
    path: PathBuf,
    /// The offset in the stream at which it begins.
    pub(super) start: u64,
    pub(super) length: u64,
}

impl Segment {
    /// Appends at most `limit` bytes from `offset` on; a removed file appends nothing.
    pub(super) fn read(&self, offset: u64, limit: usize, bytes: &mut Vec<u8>) {
        if let Ok(mut file) = File::open(&self.path)
            && file.seek(SeekFrom::Start(offset)).is_ok()
        {
            let _ = file.take(limit as u64).read_to_end(bytes);
        }
    }
}

/// Returns the path of the file that holds the stream's bytes from `start` on.
pub(super) fn name(head: &Path, start: u64) -> PathBuf {
    if start == 0 { head.to_owned() } else { PathBuf::from(format!("{}.{start}", head.display())) }
}

/// Returns the files of a stream in order.
pub(super) fn find(head: &Path) -> Vec<Segment> {
    let (Some(folder), Some(name)) = (head.parent(), head.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let mut segments: Vec<Segment> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let file = entry.file_name();
            let rest = file.to_str()?.strip_prefix(name)?;
            let start = if rest.is_empty() { 0 } else { rest.strip_prefix('.')?.parse().ok()? };
            Some(Segment { path: entry.path(), start, length: entry.metadata().ok()?.len() })
        })
        .collect();
    segments.sort_by_key(|segment| segment.start);
    segments
}
