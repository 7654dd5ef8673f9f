//! The text of `config.toml`. An unknown key is an error with its line, because a misspelt key that is ignored looks
//! exactly like one that works.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::error::Error;

/// Maximum bytes of `config.toml`, more than any file that is written by hand.
const MAX_BYTES: u64 = 1024 * 1024;

/// Returns the path and the text of `config.toml` in `home`; nothing where there is none.
pub(super) fn read(home: &Path) -> Result<Option<(PathBuf, String)>, Error> {
    let path = home.join("config.toml");
    let read = match std::fs::metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(Error::NoFolder { home: home.to_owned() });
        }
        Err(error) => Err(error.to_string()),
        Ok(found) if !found.is_file() => Err("it is not a file".to_owned()),
        Ok(found) if found.len() > MAX_BYTES => Err(format!("it is larger than {MAX_BYTES} bytes")),
        Ok(_) => std::fs::read_to_string(&path).map_err(|error| error.to_string()),
    };
    match read {
        Ok(text) => Ok(Some((path, text))),
        Err(reason) => Err(Error::Unreadable { path, reason }),
    }
}

/// Parses the text; the error names `path` and the line.
pub(super) fn parse<T: DeserializeOwned>(path: PathBuf, text: &str) -> Result<T, Error> {
    toml::from_str(text)
        .map_err(|error| Error::Invalid { path, reason: error.to_string().trim_end().to_owned() })
}
