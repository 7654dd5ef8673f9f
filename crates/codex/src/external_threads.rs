//! External threads: those that Codex started without Adjutant, on its own screen, by `codex exec` or in an editor. A
//! short-lived Codex process lists them; one is adopted, with its history, like a thread of an ended process.

use serde_json::{Value, json};

use super::backend::{ExternalThread, page, page_params};
use super::capabilities::LIST;
use super::one_off_process::OneOffProcess;
use super::thread_options::{Backend, ThreadOptions, TurnInput};
use super::{Codex, Error, StartedTurn};
use adjutant_store::Store;
use adjutant_store::codex as rows;

/// Pages of the list that are requested.
const MAX_PAGES: usize = 20;
/// Turns of a long history that are read.
const MAX_TURNS: usize = 10_000;
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
                // A history can be longer than a line may be.
                Err(Error::Unanswered { .. }) => self.read_by_turns(thread).await?,
                read => read?,
            };
            self.import(&described, ThreadOptions::default()).await?;
        }
        drop(held);
        self.reply(thread, turn).await
    }

    /// Returns Codex's description of a thread; its turns come one by one. A thread of a version that does not give
    /// them so is described without its turns.
    async fn read_by_turns(&self, thread: &str) -> Result<Value, Error> {
        let mut described = self.read(thread, false).await?;
        let id = thread.to_owned();
        let turns = self.with_process("give the turns of a thread", move |codex| Box::pin(turns(codex, id)));
        match turns.await {
            Ok(turns) => described["turns"] = turns.into(),
            Err(error) => tracing::warn!(%error, "a thread is adopted without its history"),
        }
        Ok(described)
    }
}

/// Reads the turns of a thread one by one, the earliest first; of a turn that is longer than a line may be, its summary.
async fn turns(codex: &mut OneOffProcess, thread: String) -> Result<Vec<Value>, Error> {
    let (mut turns, mut next) = (Vec::new(), None);
    for _ in 0..MAX_TURNS {
        let ask = |view: &str| json!({"threadId": thread, "cursor": next, "limit": 1, "sortDirection": "asc", "itemsView": view});
        let mut page = match codex.call("thread/turns/list", &ask("full")).await {
            Err(Error::Unanswered { .. }) => codex.call("thread/turns/list", &ask("summary")).await?,
            page => page?,
        };
        if let Value::Array(data) = page["data"].take() {
            turns.extend(data);
        }
        next = page["nextCursor"].as_str().map(ToOwned::to_owned);
        if next.is_none() {
            break;
        }
    }
    Ok(turns)
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
