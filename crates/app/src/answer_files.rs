//! Files of answers on disk, for the clients that asked: `answers/TICKET/NAME` in the home.
//!
//! The store has each file with its question; a copy is written when the answer goes to a client on this machine, because
//! the tools of an agent read paths. Copies go when their question goes.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::App;
use adjutant_questions::{Error, Question, StoredFile, Ticket};

/// The folder in the home.
const FOLDER: &str = "answers";

/// Interval between two removals of copies whose questions are gone.
const TIDY_INTERVAL: Duration = Duration::from_hours(1);

impl App {
    /// Returns the path of a file of an answer, which is written there if it is missing.
    pub async fn answer_file_path(&self, question: &Question, file: StoredFile) -> io::Result<PathBuf> {
        let folder = self.config.home.join(FOLDER).join(question.ticket.as_str());
        tokio::task::spawn_blocking(move || write(&folder, &file)).await.map_err(io::Error::other)?
    }

    /// Removes copies whose questions are gone, at once and each hour, until shutdown.
    pub async fn remove_old_answer_files(self: Arc<Self>) {
        loop {
            if let Err(error) = self.tidy_answer_files().await {
                tracing::warn!(%error, "old files of answers could not be removed");
            }
            if self.shutdown.run_until_cancelled(tokio::time::sleep(TIDY_INTERVAL)).await.is_none() {
                return;
            }
        }
    }

    async fn tidy_answer_files(&self) -> io::Result<()> {
        let folder = self.config.home.join(FOLDER);
        let mut entries = match tokio::fs::read_dir(&folder).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        while let Some(entry) = entries.next_entry().await? {
            let Some(ticket) = entry.file_name().to_str().and_then(Ticket::parse) else { continue };
            if matches!(self.questions.get(&ticket).await, Err(Error::Unknown { .. })) {
                tokio::fs::remove_dir_all(entry.path()).await?;
            }
        }
        Ok(())
    }
}

/// Writes a file into a folder that only this user can read. A file of that name with the same bytes stays.
fn write(folder: &Path, file: &StoredFile) -> io::Result<PathBuf> {
    let path = folder.join(&file.info.name);
    let bytes = file.bytes().map_err(io::Error::other)?;
    if std::fs::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(path);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // A reader never finds a part of a file.
    let new = folder.join(format!(".new-{}", file.info.name));
    let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    out.write_all(&bytes)?;
    std::fs::rename(&new, &path)?;
    Ok(path)
}
