//! External threads: those that Codex started without Adjutant, on its own screen, by `codex exec` or in an editor. A
//! short-lived Codex process lists them; one is adopted, with its history, like a thread of an ended process.

use super::backend::{ExternalThread, page, page_params};
use super::capabilities::LIST;
use super::one_off_process::OneOffProcess;
use super::thread_options::{Backend, ThreadOptions, TurnInput};
use super::{Codex, Error, StartedTurn};
use adjutant_store::Store;
use adjutant_store::codex as rows;

/// Pages of the list that are requested.
const MAX_PAGES: usize = 20;
/// Characters of the id that Codex gives a thread.
const THREAD_ID_LENGTH: usize = 36;

impl Codex {
    /// Returns at most `limit` threads of Codex that are not in the store, the last used first.
    pub async fn external_threads(&self, limit: usize) -> Result<Vec<ExternalThread>, Error> {
        LIST.require(&self.installed().await?)?;
        let store = self.0.store.clone();
        self.with_process("list its threads", move |codex| Box::pin(list(codex, store, limit))).await
    }

    /// Resumes a thread that Codex started without Adjutant, with its own settings, and stores its history.
    pub async fn adopt(&self, thread: &str, turn: impl Into<TurnInput>) -> Result<StartedTurn, Error> {
        // Any other text is a typing error, for which no process is started.
        if thread.len() != THREAD_ID_LENGTH || self.installed().await?.backend == Backend::McpServer {
            return Err(Error::UnknownThread(thread.to_owned()));
        }
        let lock = self.thread_lock(thread);
        let held = lock.lock().await;
        if self.session(thread).is_none() {
            let described = match self.read(thread, true).await {
                // A history can be longer than a line may be; the thread goes on without it.
                Err(Error::Unanswered { .. }) => self.read(thread, false).await?,
                read => read?,
            };
            self.import(&described, ThreadOptions::default()).await?;
        }
        drop(held);
        self.reply(thread, turn).await
    }
}

async fn list(codex: &mut OneOffProcess, store: Store, limit: usize) -> Result<Vec<ExternalThread>, Error> {
    let (mut found, mut next) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let page = page(&codex.call("thread/list", &page_params(next.as_deref())).await?);
        for thread in page.threads {
            if found.len() < limit && rows::thread(&store, &thread.thread).await?.is_none() {
                found.push(thread);
            }
        }
        next = page.next.filter(|_| found.len() < limit);
        if next.is_none() {
            break;
        }
    }
    Ok(found)
}
