//! Files on both sides: parts of them, and writes that survive a loss of power.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::protocol::CHUNK_BYTES;

/// Reads the part of a file that begins at `offset`, in base64; empty at its end.
pub(crate) fn read_chunk(path: &Path, offset: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(CHUNK_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(BASE64_STANDARD.encode(bytes))
}

/// Writes a part of a file at `offset`. A part that comes again, also late, replaces itself and nothing else. Returns the end of
/// the part.
pub(crate) fn write_chunk(path: &Path, offset: u64, data: &str, limit: u64) -> Result<u64, String> {
    let bytes = BASE64_STANDARD.decode(data).map_err(|error| format!("a part is not base64: {error}"))?;
    let end = offset.saturating_add(bytes.len() as u64);
    if end > limit {
        return Err(format!("the file has more than {limit} bytes, the limit"));
    }
    let write = || {
        let mut file = OpenOptions::new().create(true).write(true).truncate(false).open(path)?;
        if file.metadata()?.len() < offset {
            return Err(io::Error::other("a part is missing before this one"));
        }
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(&bytes)
    };
    write().map(|()| end).map_err(|error| error.to_string())
}

/// Replaces a file; when this returns, it is on the disk.
pub(crate) fn put_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    sync(path.parent().unwrap_or(path))
}

/// Replaces a file that only its owner may read; when this returns, it is on the disk.
pub(crate) fn put_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let _ = fs::remove_file(&new);
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    sync(path.parent().unwrap_or(path))
}

/// Flushes a file or a folder to the disk.
pub(crate) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::{read_chunk, write_chunk};

    #[test]
    fn a_part_that_comes_twice_counts_once_and_a_gap_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::write(&from, "abcdef").unwrap();
        let part = read_chunk(&from, 2).unwrap();
        assert_eq!(write_chunk(&to, 0, "YWI=", 6), Ok(2));
        assert_eq!(write_chunk(&to, 2, &part, 6), Ok(6));
        assert_eq!(write_chunk(&to, 2, &part, 6), Ok(6));
        assert_eq!(write_chunk(&to, 0, "YWI=", 6), Ok(2), "late");
        assert_eq!(std::fs::read(&to).unwrap(), b"abcdef");
        assert!(write_chunk(&to, 8, &part, 100).unwrap_err().contains("missing"));
        assert!(write_chunk(&to, 6, &part, 6).unwrap_err().contains("limit"));
        assert_eq!(read_chunk(&from, 6).unwrap(), "");
    }
}
