//! The machine's id, which a home keeps, and its name.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use adjutant_base::text::random_id::{is_random_id, random_id};

/// Characters of an id: 100 random bits.
const LENGTH: usize = 20;

/// Returns the id of the machine that `home` is on, and makes it at the first call. Only one process of a home may call
/// it.
///
/// It is random, because machines that were cloned have the same names, addresses and host ids. A copied home has the
/// id of the first one: the copy must lose its file before its hub starts.
pub fn id(home: &Path) -> io::Result<String> {
    let path = path(home);
    match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let id = random_id::<LENGTH>()?;
            // A reader never sees half of it.
            let new = path.with_extension("new");
            let _ = fs::remove_file(&new);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
            writeln!(file, "{id}")?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            Ok(id)
        }
        read => {
            let id = read?.trim().to_owned();
            let reason =
                || format!("{} holds no machine id; restore it, or remove it for a new id", path.display());
            is_random_id(&id, LENGTH).then_some(id).ok_or_else(|| io::Error::other(reason()))
        }
    }
}

/// Returns the file with the id in `home`.
pub fn path(home: &Path) -> PathBuf {
    home.join("machine-id")
}

/// Returns the host name, for display.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
