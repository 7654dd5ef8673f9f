//! The search for recordings, and their readers.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use super::format::{Entry, FORMAT, Header};
use super::redact::Searched;
pub use super::segments::{Found, create, list};

/// Bytes at the beginning of a recording that are searched for an id, such as a thread's.
const HEAD: u64 = 1 << 20;
/// Bytes of the lines that are searched together.
const BLOCK_SIZE: usize = 1 << 20;
/// Maximum number of threads that search.
const MAX_SEARCHERS: usize = 8;

/// The reason why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("unknown recording `{0}`")]
    Unknown(String),
    #[error("`{wanted}` matches {found} recordings; enter more of the name")]
    Several { wanted: String, found: usize },
    #[error("nothing is recorded yet")]
    Nothing,
    #[error("{0} is not a recording: its first line is not a header")]
    NoHeader(PathBuf),
    #[error("{path} has the format {format}, but this version of adjutant reads the format {FORMAT}")]
    Newer { path: PathBuf, format: u32 },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

/// Finds a recording by its file, by its name or a part of it, or by an id at its beginning, such as a thread's.
/// Without `wanted`, finds the last recording.
pub fn find(folder: &Path, wanted: Option<&str>) -> Result<Found, Error> {
    if let Some(file) = wanted.map(Path::new).filter(|file| file.is_file()) {
        let about = file.metadata().map_err(|source| Error::Io { path: file.to_owned(), source })?;
        let modified = about.modified().unwrap_or(std::time::SystemTime::UNIX_EPOCH);
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(Found { name, files: vec![file.to_owned()], bytes: about.len(), modified });
    }
    let all = list(folder).map_err(|source| Error::Io { path: folder.to_owned(), source })?;
    let Some(wanted) = wanted else { return all.into_iter().next().ok_or(Error::Nothing) };
    if let Some(found) = all.iter().find(|found| found.name == wanted) {
        return Ok(found.clone());
    }
    let named: Vec<&Found> = all.iter().filter(|found| found.name.contains(wanted)).collect();
    match named.as_slice() {
        [found] => Ok((*found).clone()),
        [] => all
            .into_iter()
            .find(|found| mentions(found, wanted))
            .ok_or_else(|| Error::Unknown(wanted.to_owned())),
        several => Err(Error::Several { wanted: wanted.to_owned(), found: several.len() }),
    }
}

/// Returns whether the beginning of a recording contains a text.
fn mentions(found: &Found, wanted: &str) -> bool {
    let head = || {
        let mut bytes = Vec::new();
        File::open(found.files.first()?).ok()?.take(HEAD).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    !wanted.is_empty() && head().is_some_and(|head| memchr::memmem::find(&head, wanted.as_bytes()).is_some())
}

/// Reads the header of a recording.
pub fn header(found: &Found) -> Result<Header, Error> {
    let path = found.files.first().cloned().unwrap_or_default();
    let mut line = Vec::new();
    File::open(&path)
        .and_then(|file| BufReader::new(file).take(HEAD).read_until(b'\n', &mut line))
        .map_err(|source| Error::Io { path: path.clone(), source })?;
    let header: Header = serde_json::from_slice(&line).map_err(|_| Error::NoHeader(path.clone()))?;
    match header.recording {
        FORMAT => Ok(header),
        format => Err(Error::Newer { path, format }),
    }
}

/// Passes the entries of a recording to `take`, in their order, until it returns `false`.
pub fn entries(found: &Found, mut take: impl FnMut(Entry<'_>) -> bool) -> Result<(), Error> {
    header(found)?;
    for path in &found.files {
        let mut following = TailReader::of(path.clone());
        if !following.read(&mut take)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Passes the entries of a recording to `take`, in their order and searched for secrets, until it returns `false`. All
/// processors search; a block of lines waits before and after each of them.
pub fn searched_entries(found: &Found, mut take: impl FnMut(Searched<'_>) -> bool) -> Result<(), Error> {
    header(found)?;
    let searchers = std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_SEARCHERS);
    std::thread::scope(|scope| {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for _ in 0..searchers {
            let (input, blocks) = sync_channel::<Vec<u8>>(1);
            let (output, searched) = sync_channel(1);
            scope.spawn(move || {
                // Without a receiver nothing is left to do.
                let _ = blocks.iter().try_for_each(|block| output.send(search(&block)));
            });
            inputs.push(input);
            outputs.push(searched);
        }
        let reading = scope.spawn(move || {
            // Each searcher gets the next block in its turn.
            let mut next = inputs.iter().cycle();
            let mut give = |block| next.next().is_some_and(|input| input.send(block).is_ok());
            found.files.iter().try_for_each(|path| blocks(path, &mut give))
        });
        let in_turn = outputs.iter().cycle().map_while(|searched| searched.recv().ok());
        let _ = in_turn.flatten().try_for_each(|entry| take(entry).then_some(()));
        drop(outputs);
        reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Passes the lines of a file in blocks to `give`, until it returns `false`.
fn blocks(path: &Path, mut give: impl FnMut(Vec<u8>) -> bool) -> Result<(), Error> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    let mut file = match File::open(path) {
        // The recording has continued, and this file in its middle was removed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => BufReader::with_capacity(BLOCK_SIZE, file.map_err(failed)?),
    };
    loop {
        let mut block = Vec::with_capacity(BLOCK_SIZE);
        while block.len() < BLOCK_SIZE && file.read_until(b'\n', &mut block).map_err(failed)? > 0 {}
        if block.is_empty() || !give(block) {
            return Ok(());
        }
    }
}

/// Searches the entries in a block. A half-written last line is left out.
fn search(block: &[u8]) -> Vec<Searched<'static>> {
    let mut start = 0;
    let lines =
        memchr::memchr_iter(b'\n', block).map(|end| &block[std::mem::replace(&mut start, end + 1)..end]);
    // Others are the header, or a line of a newer version.
    let entries = lines.filter_map(|line| serde_json::from_slice::<Entry<'_>>(line).ok());
    entries.map(|entry| Searched::of(entry).into_owned()).collect()
}

/// A file of a recording that may still grow.
#[derive(Debug)]
pub struct TailReader {
    path: PathBuf,
    /// The position up to which the file was read.
    at: u64,
}

impl TailReader {
    /// Creates a reader from the beginning of a file.
    pub fn of(path: PathBuf) -> Self {
        Self { path, at: 0 }
    }

    /// Creates a reader from the current end of a file.
    pub fn from_end(path: PathBuf) -> Self {
        let at = path.metadata().map_or(0, |found| found.len());
        Self { path, at }
    }

    /// Passes the entries since the last call to `take`, until it returns `false`. Returns whether it never did. A
    /// half-written last line is left for the next call.
    pub fn read(&mut self, mut take: impl FnMut(Entry<'_>) -> bool) -> Result<bool, Error> {
        let failed = |source| Error::Io { path: self.path.clone(), source };
        let mut file = match File::open(&self.path) {
            // The recording has continued, and this file in its middle was removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            file => file.map_err(failed)?,
        };
        file.seek(SeekFrom::Start(self.at)).map_err(failed)?;
        let mut file = BufReader::with_capacity(256 << 10, file);
        let mut line = Vec::new();
        loop {
            line.clear();
            file.read_until(b'\n', &mut line).map_err(failed)?;
            if line.last() != Some(&b'\n') {
                return Ok(true);
            }
            self.at += line.len() as u64;
            // This is the header, or a line of a newer version.
            let Ok(entry) = serde_json::from_slice::<Entry<'_>>(&line) else { continue };
            if !take(entry) {
                return Ok(false);
            }
        }
    }
}
