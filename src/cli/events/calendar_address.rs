//! Addresses of calendars: absolute paths and URLs.

use std::path::{Path, PathBuf};

/// Returns `from` as a URL; `None` if it is a file or a folder.
pub(super) fn address(from: &Path) -> Option<String> {
    let text = from.to_str()?;
    match text.split_once("://")? {
        ("http" | "https", _) => Some(text.to_owned()),
        // The scheme of subscription links; it means HTTPS.
        ("webcal" | "webcals", rest) => Some(format!("https://{rest}")),
        _ => None,
    }
}

/// Returns the absolute path under which a calendar is stored.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
