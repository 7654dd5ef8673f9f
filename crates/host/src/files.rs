//! Catalogues of files that are scanned, read and watched, for prompts and agents.
//!
//! [`FileCatalogue`] finds the files below its roots, keeps what a [`FileFormat`] made of them, and notices changes on disk.

pub mod atomic_write;
mod cache;
mod scan;
mod severity;

use std::fmt::Debug;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use adjutant_base::config::folders::{Limits, Root};
use cache::CatalogueCache;
pub use cache::replaced_watchers;
pub use scan::{Found, Scan};
pub use severity::Severity;

/// Where something came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The root's label.
    pub root: String,
    /// The path below the root, with `/`, as shown to people and clients.
    pub relative: String,
    /// The file itself; `None` when compiled in. Never shown to an MCP client.
    pub file: Option<PathBuf>,
}

/// A file that is not served, or served with a fault, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub source: Source,
    /// A lower-case sentence fragment that names the fault.
    pub message: String,
}

/// What is made of the files: prompts, or agents.
pub trait FileFormat: Debug + Send + Sync + 'static {
    /// What one file becomes; cheap to clone.
    type Item: Clone + Debug + Send;
    /// What all files become together.
    type Catalogue: Debug + Send + Sync;
    /// What the files are called together, for the names of threads.
    const PLURAL: &'static str;
    /// Path below the root and content of what is compiled in, in the order of their names.
    const BUNDLED: &'static [(&'static str, &'static str)];

    /// Tells by a file's name, which need not be UTF-8, whether it is to be read below the root of this number.
    fn is_meant(&self, root: usize, name: &[u8]) -> bool;

    /// Makes something of a file's text. The error says why the file is not served, as a sentence fragment.
    fn read(&self, root: usize, source: Source, text: &str, digest: String) -> Result<Self::Item, String>;

    /// Joins what the roots hold, which stand in the order of precedence.
    fn catalogue(&self, roots: &[Root], scans: &[&Scan<Self::Item>], generation: u64) -> Self::Catalogue;

    /// Returns the generation that a catalogue was made with.
    fn generation(catalogue: &Self::Catalogue) -> u64;
}

/// Roots that are read when somebody asks, and again when something changed.
#[derive(Debug)]
pub struct FileCatalogue<K: FileFormat> {
    keeper: Arc<CatalogueCache<K>>,
}

impl<K: FileFormat> FileCatalogue<K> {
    /// Does no I/O: the files are read when they are first asked for.
    pub fn new(kind: K, roots: Vec<Root>, limits: Limits) -> Self {
        Self { keeper: Arc::new(CatalogueCache::new(kind, roots, limits)) }
    }

    /// Returns the catalogue if it is known to be fresh; never blocks. `None` means [`Self::load`] is due.
    pub fn ready(&self) -> Option<Arc<K::Catalogue>> {
        self.keeper.ready()
    }

    /// Returns a fresh catalogue, reading what is new or changed. Blocks on the disk.
    pub fn load(&self) -> Arc<K::Catalogue> {
        self.keeper.load()
    }

    /// Returns a receiver of the catalogue's generation, which grows when somebody reads something new.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.keeper.changes()
    }

    /// Starts watching the folders, if nobody did yet: changes are read without anybody asking.
    pub fn watch(&self) {
        self.keeper.watch();
    }
}

/// What the tests of a room look at beside its face.
#[cfg(any(test, feature = "testing"))]
impl<K: FileFormat> FileCatalogue<K> {
    /// Whether what happens below any root is told.
    pub fn all_covered(&self) -> bool {
        self.keeper.all_covered()
    }

    /// Lets the system's notifier hang at its next event.
    pub fn hang_watcher(&self) {
        self.keeper.hang_watcher();
    }

    /// Stops watching before it begins, as where the system refuses it.
    pub fn disable_watching(&self) {
        self.keeper.disable_watching();
    }

    /// Returns what tells how long the keeper lives.
    pub fn weak(&self) -> std::sync::Weak<impl Sized + use<K>> {
        Arc::downgrade(&self.keeper)
    }
}

/// Reads a text file of at most `limit` bytes. The error is a sentence fragment.
pub fn read_text(file: &Path, limit: usize) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = open_regular(file)?.take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("it cannot be read: {error}"))?;
    if bytes.len() > limit {
        let length = std::fs::metadata(file).map_or(0, |found| found.len()).max(bytes.len() as u64);
        return Err(format!("it has {length} bytes, over the limit of {limit}"));
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8: byte {} is wrong", error.utf8_error().valid_up_to()))
}

/// Opens a regular file. Anything else is not opened: a FIFO would block, and opening a device can have effects. The
/// error is a sentence fragment.
pub fn open_regular(file: &Path) -> Result<std::fs::File, String> {
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    let is_regular = |found: std::fs::Metadata| {
        if found.is_file() { Ok(()) } else { Err("it is not a regular file".to_owned()) }
    };
    is_regular(std::fs::metadata(file).map_err(unreadable)?)?;
    // Files of the kernel such as /proc/kmsg are regular, and block without this.
    let flags = OFlags::NONBLOCK.union(OFlags::NOCTTY).bits().cast_signed();
    let open = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(file).map_err(unreadable)?;
    // Another file may have taken the path in between.
    is_regular(open.metadata().map_err(unreadable)?)?;
    Ok(open)
}

/// Returns true if `file` is a link, or lies behind one, that leads out of `root`.
pub fn leaves(root: &Path, file: &Path) -> bool {
    match (root.canonicalize(), file.canonicalize()) {
        (Ok(root), Ok(file)) => !file.starts_with(root),
        _ => true,
    }
}
