//! Threads that Codex has and that were not begun here: on its own screen, by `codex exec`, in an editor. A process of
//! Codex of its own lists them; one is taken up like a thread whose process has ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::backend::Listing;
use super::peer::Line;
use super::session::child::{Child, Said};
use super::settings::{Back, Start};
use super::{Begun, Codex, Error};
use crate::store::Store;
use crate::store::codex as rows;

/// How long Codex may take: it reads its files one by one.
const PATIENCE: Duration = Duration::from_mins(1);
/// Parts of the list that are asked for.
const PARTS: usize = 20;
/// Characters of the id that Codex gives a thread.
const ID: usize = 36;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Elsewhere {
    pub(crate) thread: String,
    /// Its name, or the beginning of its first prompt.
    pub(crate) title: String,
    pub(crate) cwd: String,
    /// Where it was begun, in Codex's word: `cli`, `exec`, `vscode`, `appServer`.
    pub(crate) source: String,
    /// Milliseconds since 1970.
    pub(crate) updated_at: i64,
}

impl Codex {
    /// Returns at most `limit` threads of Codex that are not known here, the last used first.
    pub(crate) async fn elsewhere(&self, limit: usize) -> Result<Vec<Elsewhere>, Error> {
        let installed = self.installed().await?;
        if installed.back == Back::McpServer {
            return Err(Error::NoList);
        }
        let plan = self.plan(installed, Start::default(), None);
        let (store, stop) = (self.0.store.clone(), self.0.stop.clone());
        // Its process is ended also where nobody waits for the answer any more.
        let listed = self.0.tasks.spawn(async move {
            let mut child = Child::start(&plan).await?;
            let listed = tokio::select! {
                () = stop.cancelled() => Err(Error::Over),
                listed = timeout(PATIENCE, list(&mut child, &store, limit)) => {
                    listed.unwrap_or_else(|_| Err(Error::NotListed("it took too long".to_owned())))
                }
            };
            let how = child.end().await;
            match listed {
                Ok(None) => Err(Error::NotListed(how.unwrap_or_else(|| "its process ended".to_owned()))),
                Ok(Some(threads)) => Ok(threads),
                Err(error) => Err(error),
            }
        });
        listed.await.map_err(|_| Error::Over)?
    }

    /// Takes up a thread that was not begun here, with the settings that it has there.
    pub(crate) async fn take_up(&self, thread: &str, prompt: String) -> Result<Begun, Error> {
        // Nothing else can be the name of one, and no process is started for a slip of the finger.
        if thread.len() != ID || self.installed().await?.back == Back::McpServer {
            return Err(Error::UnknownThread(thread.to_owned()));
        }
        let door = self.door(thread);
        let held = door.lock().await;
        if self.session(thread).is_some() {
            drop(held);
            return self.reply(thread, prompt).await;
        }
        self.open(Start { prompt, ..Start::default() }, Some(thread.to_owned())).await
    }
}

/// Returns the threads; nothing when the process ended before it had told them.
async fn list(child: &mut Child, store: &Store, limit: usize) -> Result<Option<Vec<Elsewhere>>, Error> {
    let mut out = Vec::new();
    let mut listing = Listing::begin(&mut out);
    let (mut found, mut parts) = (Vec::new(), 0);
    loop {
        if child.next(&mut out).await == Said::Ended {
            return Ok(None);
        }
        while let Some(line) = child.lines.next() {
            let Line::Whole(line) = line else { continue };
            let Some(page) = listing.hear(line, &mut out) else { continue };
            let page = page.map_err(Error::NotListed)?;
            for thread in page.threads {
                if found.len() < limit && rows::thread(store, &thread.thread).await?.is_none() {
                    found.push(thread);
                }
            }
            parts += 1;
            match page.next {
                Some(next) if found.len() < limit && parts < PARTS => listing.ask(Some(&next), &mut out),
                _ => return Ok(Some(found)),
            }
        }
    }
}
