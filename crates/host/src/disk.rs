//! The disk below a folder.

use std::path::Path;

/// Returns the bytes that this user can still write on the disk with this folder; `None` if the system does not say. Blocks
/// on the disk.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}
