//! Folders for temporary files of this program, and the ones that killed processes left.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The start of a folder's name; the process id and a random number follow.
const PREFIX: &str = "adjutant-";

/// Returns a new path for a folder of this process. Other users cannot guess it, because all users share the folder for
/// temporary files. Creates nothing.
pub fn path() -> PathBuf {
    let random = RandomState::new().build_hasher().finish();
    std::env::temp_dir().join(format!("{PREFIX}{}-{random:016x}", std::process::id()))
}

/// Returns the user's folders whose process has ended; none where no process table says which processes run. Blocks on
/// the disk.
pub fn abandoned() -> Vec<PathBuf> {
    let processes = Path::new("/proc");
    // The folder of this process belongs to its user.
    let Ok(user) = processes.join("self").metadata().map(|own| own.uid()) else { return Vec::new() };
    let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let abandoned = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
        // Another user may have made a link that leads to the user's own files.
        name.is_some_and(|(process, random)| {
            process.parse::<u32>().is_ok()
                && random.len() == 16
                && u64::from_str_radix(random, 16).is_ok()
                && !processes.join(process).exists()
        }) && entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == user)
    });
    abandoned.map(|entry| entry.path()).collect()
}
