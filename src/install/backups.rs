//! Backups of changed files, with a record of each change, so that `uninstall` can restore the original bytes. They are kept
//! in the home, because clients read whole folders, and a backup may contain secrets.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Error;
use super::client::Client;
use super::file_snapshot::FileSnapshot;
use adjutant_base::text::hex;

/// The end of the names of change records.
const RECORD_SUFFIX: &str = ".change.json";

/// The folder of copies and change records.
#[derive(Clone, Debug)]
pub(crate) struct Backups {
    folder: PathBuf,
}

/// Record of the last change of a file.
#[derive(Debug)]
pub(super) struct ChangeRecord {
    /// The copy of the file before the change; `None` if it did not exist.
    pub(super) before: Option<PathBuf>,
    /// The digest of the written text.
    after: String,
    /// The folders that were made for the file, the innermost first.
    pub(super) folders: Vec<PathBuf>,
}

impl Backups {
    /// Returns the backups of a home. The folder need not exist.
    pub(crate) fn of(home: &Path) -> Self {
        Self { folder: home.join("backups") }
    }

    /// Returns the record of a file, if it was changed for that client.
    pub(super) fn change_record(&self, client: Client, file: &Path) -> Option<ChangeRecord> {
        let text = fs::read_to_string(self.record_file(client, file)).ok()?;
        let record: Value = serde_json::from_str(&text).ok()?;
        if record["file"].as_str() != file.to_str() {
            return None;
        }
        let before = record["before"].as_str().map(|name| self.folder.join(name));
        Some(ChangeRecord { before, after: record["after"].as_str()?.to_owned(), folders: folders(&record) })
    }

    /// Copies the text of `snapshot`, and records the next text. A file that is unchanged since the last installation keeps its
    /// older copy, which is the original. `stamp` makes the name of the copy unique. Returns the new copy.
    pub(super) fn keep(
        &self,
        client: Client,
        snapshot: &FileSnapshot,
        after: &str,
        stamp: &str,
    ) -> Result<Option<PathBuf>, Error> {
        let failed = |error: std::io::Error| Error::Unwritable {
            path: self.folder.clone(),
            reason: error.to_string(),
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(failed)?;
        let known = self.change_record(client, &snapshot.path);
        let folders = if let Some(record) = &known {
            record.folders.clone()
        } else {
            let ours = self.recorded_folders();
            let missing = |folder: &&Path| !folder.exists() || ours.contains(*folder);
            snapshot.path.ancestors().skip(1).take_while(missing).map(Path::to_owned).collect()
        };
        let known = known.filter(|record| record.matches(snapshot));
        let name = format!("{}-{}.{stamp}", client.name(), file_name(&snapshot.path));
        let (before, copy) = match (&known, &snapshot.text) {
            (Some(record), _) => (record.before.clone(), None),
            (None, None) => (None, None),
            (None, Some(text)) => {
                let copy = self.new_copy(&name, text).map_err(failed)?;
                (Some(copy.clone()), Some(copy))
            }
        };
        let before = before.as_ref().and_then(|copy| copy.file_name()).map(|name| name.to_string_lossy());
        let record =
            json!({"file": snapshot.path, "before": before, "after": hex::sha256(after), "folders": folders});
        let file = self.record_file(client, &snapshot.path);
        let mut file = private().create(true).truncate(true).open(file).map_err(failed)?;
        file.write_all(format!("{record:#}\n").as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        Ok(copy)
    }

    /// Returns the folders that were made for any file: the last file that leaves one removes it.
    fn recorded_folders(&self) -> HashSet<PathBuf> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let records = files.filter(|file| file.to_string_lossy().ends_with(RECORD_SUFFIX));
        let records = records.filter_map(|file| serde_json::from_slice::<Value>(&fs::read(file).ok()?).ok());
        records.flat_map(|record| folders(&record)).collect()
    }

    /// Writes a copy under a new name, even if there is a copy of the same second.
    fn new_copy(&self, name: &str, text: &str) -> std::io::Result<PathBuf> {
        let mut path = self.folder.join(name);
        let mut number = 1;
        let mut file = loop {
            match private().create_new(true).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    number += 1;
                    path = self.folder.join(format!("{name}.{number}"));
                }
                opened => break opened?,
            }
        };
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        Ok(path)
    }

    /// Removes the record of a file, and the folder of the records if it is empty. Copies stay for the user.
    pub(super) fn forget(&self, client: Client, file: &Path) -> Result<(), Error> {
        let record = self.record_file(client, file);
        let removed = fs::remove_file(&record);
        remove_empty([&self.folder]);
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::Unwritable { path: record, reason: error.to_string() })
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Returns the record's file. Its name has a digest of the path, because a client may have files of one name in several
    /// folders.
    fn record_file(&self, client: Client, file: &Path) -> PathBuf {
        let place = hex::sha256(file.as_os_str().as_encoded_bytes());
        self.folder.join(format!("{}-{}.{}{RECORD_SUFFIX}", client.name(), file_name(file), &place[..8]))
    }
}

impl ChangeRecord {
    /// Returns whether the file is unchanged since the record.
    pub(super) fn matches(&self, snapshot: &FileSnapshot) -> bool {
        snapshot.text.as_ref().is_some_and(|text| hex::sha256(text) == self.after)
    }
}

/// Removes the folders as long as they are empty.
pub(super) fn remove_empty<'a>(folders: impl IntoIterator<Item = &'a PathBuf>) {
    for folder in folders {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Returns the folders of a record, the innermost first.
fn folders(record: &Value) -> Vec<PathBuf> {
    let folders = record["folders"].as_array().into_iter().flatten();
    folders.filter_map(Value::as_str).map(PathBuf::from).collect()
}

fn file_name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().trim_start_matches('.').to_owned()
}

/// Returns options to write a file that only its owner can read.
fn private() -> fs::OpenOptions {
    let mut options = File::options();
    options.write(true).mode(0o600);
    options
}
