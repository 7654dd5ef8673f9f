//! External threads: those that Codex started without Adjutant, on its own screen, by `codex exec` or in an editor. A
//! short-lived Codex process lists them; one is adopted like a thread of an ended process.

use std::time::Duration;

use tokio::time::timeout;

use super::backend::{ExternalThread, ThreadListing};
use super::jsonrpc::Line;
use super::session::child::{Child, ChildEvent};
use super::thread_options::{Backend, ThreadOptions};
use super::{Codex, Error, StartedTurn};
use adjutant_store::Store;
use adjutant_store::codex as rows;

/// Time for the whole list; Codex reads its files one by one.
const LIST_TIMEOUT: Duration = Duration::from_mins(1);
/// Pages of the list that are requested.
const MAX_PAGES: usize = 20;
/// Characters of the id that Codex gives a thread.
const THREAD_ID_LENGTH: usize = 36;

impl Codex {
    /// Returns at most `limit` threads of Codex that are not in the store, the last used first.
    pub async fn external_threads(&self, limit: usize) -> Result<Vec<ExternalThread>, Error> {
        let installed = self.installed().await?;
        if installed.backend == Backend::McpServer {
            return Err(Error::NoList);
        }
        let plan = self.session_setup(installed, ThreadOptions::default(), None);
        let (store, stop) = (self.0.store.clone(), self.0.stop.clone());
        // A separate task, so that the process ends even if the caller leaves.
        let listed = self.0.tasks.spawn(async move {
            let mut child = Child::start(&plan).await?;
            let listed = tokio::select! {
                () = stop.cancelled() => Err(Error::Over),
                listed = timeout(LIST_TIMEOUT, list(&mut child, &store, limit)) => {
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

    /// Resumes a thread that Codex started without Adjutant, with its own settings.
    pub async fn adopt(&self, thread: &str, prompt: String) -> Result<StartedTurn, Error> {
        // Any other text is a typing error, for which no process is started.
        if thread.len() != THREAD_ID_LENGTH || self.installed().await?.backend == Backend::McpServer {
            return Err(Error::UnknownThread(thread.to_owned()));
        }
        let lock = self.thread_lock(thread);
        let held = lock.lock().await;
        if self.session(thread).is_some() {
            drop(held);
            return self.reply(thread, prompt).await;
        }
        self.open(ThreadOptions { prompt, ..ThreadOptions::default() }, Some(thread.to_owned())).await
    }
}

/// Returns the threads; `None` if the process ended before the list was complete.
async fn list(child: &mut Child, store: &Store, limit: usize) -> Result<Option<Vec<ExternalThread>>, Error> {
    let mut out = Vec::new();
    let mut listing = ThreadListing::begin(&mut out);
    let (mut found, mut pages) = (Vec::new(), 0);
    loop {
        if child.next(&mut out).await == ChildEvent::Ended {
            return Ok(None);
        }
        while let Some(line) = child.lines.next() {
            let Line::Whole(line) = line else { continue };
            let Some(page) = listing.on_line(line, &mut out) else { continue };
            let page = page.map_err(Error::NotListed)?;
            for thread in page.threads {
                if found.len() < limit && rows::thread(store, &thread.thread).await?.is_none() {
                    found.push(thread);
                }
            }
            pages += 1;
            match page.next {
                Some(next) if found.len() < limit && pages < MAX_PAGES => listing.ask(Some(&next), &mut out),
                _ => return Ok(Some(found)),
            }
        }
    }
}
