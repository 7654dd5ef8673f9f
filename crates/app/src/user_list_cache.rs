//! Cache of the list of users that resources name. The command line adds and removes users in a separate process, so
//! the database is read again, once for all subscribers.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use adjutant_assistant::{Assistant, Error, User};
use adjutant_base::mutex::lock;
use adjutant_store::Store;

/// Age up to which the list is fresh, unless this process wrote meanwhile.
const MAX_AGE: Duration = Duration::from_secs(4);

/// The list that was read last.
#[derive(Debug)]
pub struct UserListCache {
    assistant: Assistant,
    stores: Vec<Store>,
    last: Mutex<Option<Listed>>,
    /// Held while the list is read, so that other callers wait instead of reading it too.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Listed {
    at: Instant,
    write_generation: Option<u64>,
    /// Ids and names.
    users: Vec<(String, String)>,
    generation: u64,
}

impl UserListCache {
    /// `stores` are all stores that this process writes to.
    pub(super) fn new(assistant: Assistant, stores: Vec<Store>) -> Self {
        Self { assistant, stores, last: Mutex::default(), reading: tokio::sync::Mutex::default() }
    }

    /// Returns a number that changes when the first `limit` users or their names change; `None` when the database was
    /// never read.
    pub async fn generation(&self, limit: u32) -> Option<u64> {
        let _reading = self.reading.lock().await;
        let write_generation = self.write_generation();
        if let Some(listed) = &*lock(&self.last)
            && listed.at.elapsed() < MAX_AGE
            && listed.write_generation == write_generation
        {
            return Some(listed.generation);
        }
        match self.list(limit).await {
            Ok((_, generation)) => Some(generation),
            Err(error) => {
                tracing::warn!(%error, "the users cannot be listed");
                let mut last = lock(&self.last);
                let listed = last.as_mut()?;
                // The callers that wait for this one would wait for the same failure.
                listed.at = Instant::now();
                Some(listed.generation)
            }
        }
    }

    /// Reads the first `limit` users, and returns them with the generation of the list.
    ///
    /// # Errors
    /// Fails where the store cannot be read.
    pub async fn list(&self, limit: u32) -> Result<(Vec<User>, u64), Error> {
        let write_generation = self.write_generation();
        let users = self.assistant.users(None, limit).await?;
        let names: Vec<_> =
            users.iter().map(|user| (user.id.as_str().to_owned(), user.name.clone())).collect();
        let mut last = lock(&self.last);
        let generation = match &*last {
            Some(listed) => listed.generation + u64::from(listed.users != names),
            None => 0,
        };
        *last = Some(Listed { at: Instant::now(), write_generation, users: names, generation });
        Ok((users, generation))
    }

    fn write_generation(&self) -> Option<u64> {
        self.stores.iter().map(Store::written).sum()
    }
}
