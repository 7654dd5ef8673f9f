//! Atomic writes of prompt files, which replace different content only on request.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The effect of writing a text on the file at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The file does not exist yet.
    New,
    /// The file has the same bytes already.
    Same,
    /// The file has other bytes.
    Different,
}

/// Compares `text` with the file at `path`. The error is a sentence fragment.
pub fn compare(path: &Path, text: &str) -> Result<Change, String> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Change::New),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
        Ok(there) if !there.is_file() => Err(format!("{} is there and is not a file", path.display())),
        Ok(there) if there.len() != text.len() as u64 => Ok(Change::Different),
        Ok(_) => match fs::read(path) {
            Ok(bytes) if bytes == text.as_bytes() => Ok(Change::Same),
            Ok(_) => Ok(Change::Different),
            Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
        },
    }
}

/// Writes `text` to `path` and creates the folders above it. A reader sees the whole old file or the whole new one. The
/// error is a sentence fragment.
pub fn put(path: &Path, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{} cannot be written: {error}", path.display());
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The name does not end in `.md`, so that a watcher of the folder does not read it as a prompt.
    // A long name has no place for more characters.
    let fresh = folder.join(format!(".{name:.32}.{}.new", std::process::id()));
    let written = fs::File::create_new(&fresh)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&fresh, path));
    written.map_err(|error| {
        // The first error is returned, and an error of the cleanup is ignored.
        let _ = fs::remove_file(&fresh);
        failed(error)
    })
}
