//! The files of recordings: a head, the last two segments, and the limits of all.
//!
//! `NAME.jsonl` takes half of the limit of one recording. Later lines go to `NAME.1.jsonl` and so on, a quarter each;
//! the last two of these files are kept. Every file can be read alone.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::format::Header;
use adjutant_base::config::recorder::RecorderConfig;

/// Time without writes after a failure, because a full disk would be tried thousands of times a second.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
const EXTENSION: &str = ".jsonl";

/// The writer of one recording's files.
#[derive(Debug)]
pub(super) struct Parts {
    /// The path of the head.
    path: PathBuf,
    header: Header,
    /// Maximum bytes of all files together.
    largest: u64,
    file: Option<File>,
    /// Bytes of the current file, which holds only whole entries.
    written: u64,
    /// Bytes that could not be written.
    lost: u64,
    not_before: Option<Instant>,
    told: bool,
}

impl Parts {
    /// Creates a writer without any I/O: the first entry creates the file.
    pub(super) fn new(path: PathBuf, header: Header, largest: u64) -> Self {
        Self { path, header, largest, file: None, written: 0, lost: 0, not_before: None, told: false }
    }

    /// Appends whole entries. Entries that cannot be written are counted and dropped; the next successful call returns
    /// the number of lost bytes.
    pub(super) fn write(&mut self, entries: &[u8]) -> Option<u64> {
        if self.not_before.is_some_and(|until| Instant::now() < until) {
            self.lost += entries.len() as u64;
            return None;
        }
        match self.append(entries) {
            Ok(()) => {
                self.not_before = None;
                Some(std::mem::take(&mut self.lost)).filter(|lost| *lost > 0)
            }
            Err((error, lost)) => {
                if !std::mem::replace(&mut self.told, true) {
                    tracing::warn!(%error, session = self.header.session, "a recording cannot be written");
                }
                self.lost += lost;
                self.not_before = Some(Instant::now() + RETRY_INTERVAL);
                None
            }
        }
    }

    /// Fails with the number of bytes that were not written; the whole entries before them are kept.
    fn append(&mut self, entries: &[u8]) -> Result<(), (io::Error, u64)> {
        let all_lost = |error| (error, entries.len() as u64);
        let limit = if self.header.part == 0 { self.largest / 2 } else { self.largest / 4 };
        if self.written > 0 && self.written + entries.len() as u64 > limit {
            self.header.part += 1;
            (self.file, self.written) = (None, 0);
            if self.header.part > 2 {
                let old = part(&self.path, self.header.part - 2);
                // A user may have removed it.
                let _ = std::fs::remove_file(old);
            }
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(create(&part(&self.path, self.header.part)).map_err(all_lost)?),
        };
        let mut bytes = Vec::new();
        if self.written == 0 {
            serde_json::to_writer(&mut bytes, &self.header).map_err(|error| all_lost(error.into()))?;
            bytes.push(b'\n');
        }
        let bytes = if bytes.is_empty() { entries } else { &[&bytes, entries].concat() };
        let Err(error) = file.write_all(bytes) else {
            self.written += bytes.len() as u64;
            return Ok(());
        };
        // Half an entry would make the next one unreadable.
        let added = file.metadata().map_or(0, |about| about.len().saturating_sub(self.written));
        let added = usize::try_from(added).unwrap_or(usize::MAX).min(bytes.len());
        let whole = bytes[..added].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.written += whole as u64;
        let _ = file.set_len(self.written);
        Err((error, (bytes.len() - whole).min(entries.len()) as u64))
    }
}

/// Creates a new file that only its owner may read, because a recording is as secret as its connection.
pub fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)
}

fn part(head: &Path, number: u32) -> PathBuf {
    if number == 0 { head.to_owned() } else { head.with_extension(format!("{number}{EXTENSION}")) }
}

/// A recording in the folder.
#[derive(Clone, Debug)]
pub struct Found {
    pub name: String,
    /// The files in their order.
    pub files: Vec<PathBuf>,
    pub bytes: u64,
    /// Time of the last write.
    pub modified: SystemTime,
}

/// Returns the recordings in a folder, the last written first; an empty list without the folder.
pub fn list(folder: &Path) -> io::Result<Vec<Found>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found: HashMap<String, Vec<(u32, PathBuf, u64, SystemTime)>> = HashMap::new();
    for entry in entries.flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let Some(stem) = file.strip_suffix(EXTENSION) else { continue };
        let (name, number) = stem.split_once('.').unwrap_or((stem, "0"));
        // The file may have been removed meanwhile.
        let (Ok(number), Ok(about)) = (number.parse(), entry.metadata()) else { continue };
        if about.is_file() {
            let modified = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let files = found.entry(name.to_owned()).or_default();
            files.push((number, entry.path(), about.len(), modified));
        }
    }
    let mut found: Vec<Found> = found
        .into_iter()
        .map(|(name, mut files)| {
            files.sort();
            let bytes = files.iter().map(|(_, _, bytes, _)| bytes).sum();
            let modified = files.iter().map(|(_, _, _, modified)| *modified).max();
            let modified = modified.unwrap_or(SystemTime::UNIX_EPOCH);
            Found { name, bytes, modified, files: files.into_iter().map(|(_, path, _, _)| path).collect() }
        })
        .collect();
    found.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.name.cmp(&a.name)));
    Ok(found)
}

/// Removes recordings over the limits, except those of the last minute, which may still be written.
pub(super) fn prune(folder: &Path, config: &RecorderConfig, now: SystemTime) {
    let Ok(found) = list(folder) else { return };
    let mut bytes = 0;
    for (place, recording) in found.iter().enumerate() {
        bytes += recording.bytes;
        let age = now.duration_since(recording.modified).unwrap_or_default();
        let too_much = bytes > config.keep_bytes || place >= config.keep_count;
        if age > config.keep_for || (too_much && age > Duration::from_mins(1)) {
            for file in &recording.files {
                // Another process may remove it at the same time.
                let _ = std::fs::remove_file(file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    use super::super::format::{FORMAT, Header};
    use super::{Parts, RecorderConfig, list, prune};
    use adjutant_base::config::recorder::RecordedConnection;

    fn parts(folder: &Path, name: &str, largest: u64) -> Parts {
        let header = Header {
            recording: FORMAT,
            adjutant: String::new(),
            connection: RecordedConnection::Codex,
            session: name.to_owned(),
            about: String::new(),
            started: String::new(),
            pid: 1,
            command: Vec::new(),
            part: 0,
        };
        Parts::new(folder.join(format!("{name}.jsonl")), header, largest)
    }

    #[test]
    fn a_long_recording_keeps_its_head_and_its_end_within_the_bound() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("made/on/demand");
        let mut parts = parts(&folder, "a", 40_000);
        for number in 0..1000 {
            assert_eq!(parts.write(format!("{number:099}\n").as_bytes()), None);
        }
        let found = list(&folder).unwrap();
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert!(found.bytes <= 40_000, "{}", found.bytes);
        let names: Vec<_> =
            found.files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
        assert!(names.len() == 3 && names[0] == "a.jsonl", "{names:?}");
        let text: String = found.files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        let numbers: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        assert_eq!((numbers[0], numbers[150], *numbers.last().unwrap()), (0, 150, 999));
        assert_eq!(
            text.lines().filter(|line| line.starts_with('{')).count(),
            3,
            "each file says what it is of"
        );
    }

    #[test]
    fn the_oldest_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let hour = Duration::from_hours(1);
        let now = SystemTime::now();
        for (age, name) in ["new", "hour", "two", "three"].iter().enumerate() {
            parts(folder.path(), name, 4000).write(&[b'x'; 500]);
            let file =
                std::fs::File::options().append(true).open(folder.path().join(format!("{name}.jsonl")));
            file.unwrap().set_modified(now - hour * u32::try_from(age).unwrap()).unwrap();
        }
        let left = || list(folder.path()).unwrap().into_iter().map(|found| found.name).collect::<Vec<_>>();
        let config = RecorderConfig { keep_for: hour * 5 / 2, ..RecorderConfig::default() };
        prune(folder.path(), &config, now);
        assert_eq!(left(), ["new", "hour", "two"]);
        prune(folder.path(), &RecorderConfig { keep_bytes: 1500, ..RecorderConfig::default() }, now);
        assert_eq!(left(), ["new", "hour"]);
        prune(folder.path(), &RecorderConfig { keep_count: 0, ..RecorderConfig::default() }, now);
        assert_eq!(left(), ["new"], "one that was just written may still be open");
    }
}
