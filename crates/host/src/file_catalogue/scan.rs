//! The scan of a root's files. The only place that opens the files of prompts and agents.
//!
//! The scan goes from folder handle to folder handle and never follows a link, so a link that replaces a folder
//! meanwhile cannot lead elsewhere. Only regular files are opened, and without blocking: a FIFO, a device or a socket
//! is reported as a problem.

mod resolve_beneath;

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::{FileFormat, Problem, Source};
use adjutant_base::config::folders::{Limits, Root};
use adjutant_base::text::hex;
use resolve_beneath::Target;

/// Maximum age, in nanoseconds, of a change after which the next scan reads the file again. Within one tick of the file
/// system's clock (1 to 10 ms on Linux), a file can change again without a new time stamp.
const YOUNG: i128 = 50_000_000;
/// The same for a file system that counts in whole seconds (some in two).
const YOUNG_BY_SECONDS: i128 = 2_500_000_000;
/// Maximum entries of any kind that are checked, per allowed file.
const ENTRIES_PER_FILE: usize = 8;

const OPEN_FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);
const OPEN_FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The identity of a folder: device and inode.
pub(super) type Identity = (u64, u64);

/// The content of one root at one moment.
#[derive(Debug)]
pub struct Scan<T> {
    /// The files, by path below the root.
    pub entries: BTreeMap<String, Entry<T>>,
    /// Problems that are not of one file.
    pub problems: Vec<Problem>,
    /// Every scanned folder with its identity, the root first.
    pub(super) folders: BTreeMap<PathBuf, Identity>,
}

impl<T> Scan<T> {
    /// Returns the parsed files of the scan of `root`, and adds the problems of the others to `problems`. Each file counts
    /// for `left`, the number of files that may still be read.
    pub fn parsed(&self, root: &Root, left: &mut usize, problems: &mut Vec<Problem>) -> Vec<(Source, &T)> {
        problems.extend(self.problems.iter().cloned());
        let mut parsed = Vec::new();
        for (relative, entry) in &self.entries {
            let file = root.folder.as_ref().map(|folder| folder.join(relative));
            let source = Source { root: root.label.clone(), relative: relative.clone(), file };
            if *left == 0 {
                let message = "there are too many files; this one and those after it are left out".to_owned();
                problems.push(Problem { source, message });
                break;
            }
            *left -= 1;
            match &entry.found {
                Found::Unreadable(message) => problems.push(Problem { source, message: message.clone() }),
                Found::Read(item, _) => parsed.push((source, item)),
            }
        }
        parsed
    }
}

impl<T> Default for Scan<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), problems: Vec::new(), folders: BTreeMap::new() }
    }
}

/// A file of a scan, with the stamp that shows whether it changed since.
#[derive(Clone, Debug)]
pub struct Entry<T> {
    stamp: Option<Stamp>,
    pub found: Found<T>,
}

/// The result of reading a file.
#[derive(Clone, Debug)]
pub enum Found<T> {
    /// The item, and the digest of the file's bytes.
    Read(T, [u8; 32]),
    /// The reason why the file is not served.
    Unreadable(String),
}

impl<T> Found<T> {
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Read(_, one), Self::Read(_, two)) => one == two,
            (Self::Unreadable(one), Self::Unreadable(two)) => one == two,
            _ => false,
        }
    }
}

/// The metadata that changes when a file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    identity: Identity,
    length: i64,
    /// Seconds and nanoseconds.
    modified: (i64, u64),
    changed: (i64, u64),
}

impl<T: Clone> Scan<T> {
    /// Returns whether both hold the same files and problems.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.problems == other.problems
            && self.entries.len() == other.entries.len()
            && self.entries.iter().zip(&other.entries).all(|((path, entry), (other_path, other))| {
                path == other_path && entry.found.same(&other.found)
            })
    }

    /// Reads the bundled files.
    pub(super) fn bundled<K: FileFormat<Item = T>>(kind: &K, root: usize, label: &str) -> Self {
        let read = |(relative, text): &(&str, &str)| {
            let source = Source { root: label.to_owned(), relative: (*relative).to_owned(), file: None };
            let found = understood(kind, root, source, text.as_bytes());
            ((*relative).to_owned(), Entry { stamp: None, found })
        };
        Self { entries: K::BUNDLED.iter().map(read).collect(), ..Self::default() }
    }

    /// Scans a folder, and reads its files that are new or changed since `before`. Blocks on the disk.
    pub(super) fn read<K: FileFormat<Item = T>>(
        kind: &K,
        (number, root): (usize, &Root),
        folder: &Path,
        limits: Limits,
        before: &Self,
    ) -> Self {
        let scan = Self::default();
        let mut root_scan =
            RootScan { kind, number, root, folder, limits, before, scan, entries_read: 0, full: false };
        root_scan.start();
        root_scan.scan
    }
}

/// Returns the identity of the folder at a path; `None` if it does not exist or cannot be reached.
pub(super) fn identity(folder: &Path) -> Option<Identity> {
    rustix::fs::stat(folder).ok().map(|stat| identity_of(&stat))
}

#[expect(
    clippy::useless_conversion,
    clippy::unnecessary_cast,
    reason = "the fields' types differ between platforms"
)]
fn identity_of(stat: &Stat) -> Identity {
    (stat.st_dev as u64, stat.st_ino.into())
}

#[expect(
    clippy::useless_conversion,
    clippy::unnecessary_cast,
    reason = "the fields' types differ between platforms"
)]
fn stamp_of(stat: &Stat) -> Stamp {
    Stamp {
        identity: identity_of(stat),
        length: stat.st_size.into(),
        modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u64),
        changed: (stat.st_ctime as i64, stat.st_ctime_nsec as u64),
    }
}

impl Stamp {
    fn is_young(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let nanoseconds =
            |(seconds, rest): (i64, u64)| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        let young = if self.changed.1 == 0 { YOUNG_BY_SECONDS } else { YOUNG };
        i128::try_from(now).unwrap_or(i128::MAX) - nanoseconds(self.changed) < young
    }
}

struct RootScan<'a, K: FileFormat> {
    kind: &'a K,
    /// The number of the root.
    number: usize,
    root: &'a Root,
    folder: &'a Path,
    limits: Limits,
    before: &'a Scan<K::Item>,
    scan: Scan<K::Item>,
    entries_read: usize,
    full: bool,
}

impl<K: FileFormat> RootScan<'_, K> {
    fn start(&mut self) {
        let opened = match &self.root.project {
            Some(project) => resolve_beneath::open_folder(project, self.folder),
            None => rustix::fs::open(self.folder, OPEN_FOLDER, Mode::empty()),
        };
        match opened {
            Ok(handle) => self.scan_folder(&handle, handle.as_fd(), "", 0),
            Err(Errno::NOENT) if self.root.may_be_absent => {}
            Err(Errno::XDEV) => self.problem("", "the folder is a link that leaves its project".to_owned()),
            Err(error) => self.problem("", format!("the folder {}", reason(error))),
        }
        if self.full {
            let message = format!("there are more than {} files; the rest is left out", self.limits.files);
            self.problem("", message);
        }
    }

    /// Reads one folder, in the order of names; `prefix` is empty or ends in a slash.
    fn scan_folder(&mut self, top: &OwnedFd, folder: BorrowedFd<'_>, prefix: &str, depth: usize) {
        if depth > self.limits.depth {
            let message = format!("the folder is deeper than {} levels", self.limits.depth);
            return self.problem(prefix.trim_end_matches('/'), message);
        }
        let names = match rustix::fs::fstat(folder).and_then(|stat| Ok((stat, self.names(folder)?))) {
            Ok((stat, names)) => {
                self.scan.folders.insert(self.folder.join(prefix), identity_of(&stat));
                names
            }
            Err(error) => {
                return self.problem(prefix.trim_end_matches('/'), format!("the folder {}", reason(error)));
            }
        };
        for name in names {
            if self.full {
                return;
            }
            let Ok(stat) = rustix::fs::statat(folder, OsStr::from_bytes(&name), AtFlags::SYMLINK_NOFOLLOW)
            else {
                continue;
            };
            let relative = format!("{prefix}{}", String::from_utf8_lossy(&name));
            let is_text = std::str::from_utf8(&name).is_ok();
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if is_text => match open_folder(folder, &name) {
                    Ok(inner) => self.scan_folder(top, inner.as_fd(), &format!("{relative}/"), depth + 1),
                    Err(Errno::NOENT) => {}
                    Err(error) => self.problem(&relative, format!("the folder {}", reason(error))),
                },
                FileType::Symlink if is_text => self.link(top, &relative),
                _ if !self.kind.is_meant(self.number, &name) => {}
                _ if !is_text => self.problem(&relative, "its name is not UTF-8".to_owned()),
                FileType::RegularFile => {
                    self.file(&relative, &stat, || {
                        rustix::fs::openat(folder, OsStr::from_bytes(&name), OPEN_FILE, Mode::empty())
                    });
                }
                _ => self.unreadable(&relative, "it is not a regular file".to_owned()),
            }
        }
    }

    /// Returns the sorted names of a folder that are not hidden.
    fn names(&mut self, folder: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>, Errno> {
        let limit = self.limits.files.saturating_mul(ENTRIES_PER_FILE);
        let mut names = Vec::new();
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = CStr::to_bytes(entry.file_name());
            self.entries_read += 1;
            if self.entries_read > limit {
                self.full = true;
                break;
            }
            if !name.starts_with(b".") {
                names.push(name.to_vec());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Serves a link to a file below the same root. Links to folders are not followed, because their files are served
    /// under their own names.
    fn link(&mut self, top: &OwnedFd, relative: &str) {
        let last = relative.rsplit('/').next().unwrap_or(relative);
        let is_meant = self.kind.is_meant(self.number, last.as_bytes());
        let target = match resolve_beneath::resolve(self.folder, relative) {
            Ok(target) => target,
            Err(fault) if is_meant || fault.is_folder() => {
                return self.unreadable(relative, fault.to_string());
            }
            Err(_) => return,
        };
        match resolve_beneath::open(top.as_fd(), &target) {
            Ok(Target::Folder) => {
                self.problem(relative, "it is a link to a folder, which is not followed".to_owned());
            }
            _ if !is_meant => {}
            Ok(Target::File(handle, stat)) => {
                // The target may be in a hidden folder, which is not scanned; changes there count too.
                let within = self.folder.join(target.parent().unwrap_or(Path::new("")));
                if let Some(identity) = identity(&within) {
                    self.scan.folders.entry(within).or_insert(identity);
                }
                self.file(relative, &stat, || Ok(handle));
            }
            Ok(Target::Other) => {
                self.unreadable(relative, "it is a link to something that is not a regular file".to_owned());
            }
            Err(error) => self.unreadable(relative, format!("the target of the link {}", reason(error))),
        }
    }

    fn file(&mut self, relative: &str, stat: &Stat, open: impl FnOnce() -> Result<OwnedFd, Errno>) {
        if self.scan.entries.len() >= self.limits.files {
            self.full = true;
            return;
        }
        let stamp = stamp_of(stat);
        if let Some(known) = self.before.entries.get(relative).filter(|known| known.stamp == Some(stamp)) {
            self.scan.entries.insert(relative.to_owned(), known.clone());
            return;
        }
        let (stamp, found) = match open().and_then(|handle| Ok((rustix::fs::fstat(&handle)?, handle))) {
            Err(Errno::NOENT) => return,
            Err(error) => (None, Found::Unreadable(format!("the file {}", reason(error)))),
            // The stamp of a young file is not kept, because the file can change again within the clock's tick.
            Ok((stat, handle)) => {
                (Some(stamp_of(&stat)).filter(|stamp| !stamp.is_young()), self.read(relative, handle, &stat))
            }
        };
        let found = match self.before.entries.get(relative) {
            Some(known) if known.found.same(&found) => known.found.clone(),
            _ => found,
        };
        self.scan.entries.insert(relative.to_owned(), Entry { stamp, found });
    }

    fn read(&self, relative: &str, handle: OwnedFd, stat: &Stat) -> Found<K::Item> {
        let limit = self.limits.file;
        let too_large = |length: u64| {
            Found::Unreadable(format!("the file has {length} bytes, over the limit of {limit}"))
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Found::Unreadable("it is not a regular file".to_owned());
        }
        let length = u64::try_from(stat.st_size).unwrap_or(0);
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        if length > most {
            return too_large(length);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
        match std::fs::File::from(handle).take(most.saturating_add(1)).read_to_end(&mut bytes) {
            Ok(read) if read > limit => too_large(most + 1),
            Ok(_) => self.understood(relative, &bytes),
            Err(error) => Found::Unreadable(format!("the file cannot be read: {}", error.kind())),
        }
    }

    /// Parses a file, unless the last scan parsed the same bytes under the same name.
    fn understood(&self, relative: &str, bytes: &[u8]) -> Found<K::Item> {
        match self.before.entries.get(relative).map(|known| &known.found) {
            Some(Found::Read(item, digest)) if *digest == digest_of(bytes) => {
                Found::Read(item.clone(), *digest)
            }
            _ => understood(self.kind, self.number, self.source(relative), bytes),
        }
    }

    fn source(&self, relative: &str) -> Source {
        Source {
            root: self.root.label.clone(),
            relative: relative.to_owned(),
            file: Some(self.folder.join(relative)),
        }
    }

    fn problem(&mut self, relative: &str, message: String) {
        let source = self.source(relative);
        self.scan.problems.push(Problem { source, message });
    }

    fn unreadable(&mut self, relative: &str, message: String) {
        if self.scan.entries.len() >= self.limits.files {
            self.full = true;
        } else {
            self.scan
                .entries
                .insert(relative.to_owned(), Entry { stamp: None, found: Found::Unreadable(message) });
        }
    }
}

fn open_folder(folder: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(folder, OsStr::from_bytes(name), OPEN_FOLDER.union(OFlags::NOFOLLOW), Mode::empty())
}

fn understood<K: FileFormat>(kind: &K, root: usize, source: Source, bytes: &[u8]) -> Found<K::Item> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Found::Unreadable("the file is not UTF-8".to_owned());
    };
    let digest = digest_of(bytes);
    match kind.read(root, source, text, format!("sha256:{}", hex::encode(&digest))) {
        Ok(item) => Found::Read(item, digest),
        Err(reason) => Found::Unreadable(reason),
    }
}

fn digest_of(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns the reason of an error without a path, to follow "the file" or "the folder".
fn reason(error: Errno) -> String {
    match error {
        Errno::ACCESS | Errno::PERM => "cannot be read: permission denied".to_owned(),
        Errno::NOENT => "does not exist".to_owned(),
        Errno::NOTDIR => "is not a folder".to_owned(),
        Errno::LOOP => "changed while it was read".to_owned(),
        error => format!("cannot be read: {}", std::io::Error::from(error).kind()),
    }
}
