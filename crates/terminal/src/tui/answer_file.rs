//! A file that the user adds to an answer by its path.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use adjutant_base::config::env;
use adjutant_questions::{MAX_FILE_BYTES, NewFile};

/// Reads a regular file of at most [`MAX_FILE_BYTES`]; `~/` is the home of the user. The error is a sentence fragment.
pub(super) fn read(path: &str) -> Result<NewFile, String> {
    let path = path.trim();
    let place = match path.strip_prefix("~/") {
        Some(rest) => env::user_home().map_or_else(|| PathBuf::from(path), |home| home.join(rest)),
        None => PathBuf::from(path),
    };
    let failed = |reason: std::io::Error| format!("`{path}` cannot be read: {reason}");
    // A device or a pipe might never end.
    if !std::fs::metadata(&place).map_err(failed)?.is_file() {
        return Err(format!("`{path}` is not a file"));
    }
    let mut bytes = Vec::new();
    let limit = MAX_FILE_BYTES as u64 + 1;
    File::open(&place).and_then(|file| file.take(limit).read_to_end(&mut bytes)).map_err(failed)?;
    match bytes.len() {
        0 => Err(format!("`{path}` is empty")),
        length if length > MAX_FILE_BYTES => {
            Err(format!("`{path}` has more than {} MiB; send less", MAX_FILE_BYTES >> 20))
        }
        _ => Ok(NewFile::new(&name(&place), &bytes)),
    }
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
