//! Who has a calendar here, as lists of resources name them: whether they are others than before. The command line
//! adds and removes users in a process of its own, so the database is looked at, once for all who want to know.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::App;
use crate::assistant::{Error, User};

/// How long a look counts as fresh, unless this process wrote meanwhile.
const FRESH: Duration = Duration::from_secs(4);

/// The last look.
#[derive(Debug, Default)]
pub(super) struct People {
    last: Mutex<Option<Look>>,
    /// Held by who looks, so that others who want to know wait instead of looking too.
    looking: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Look {
    at: Instant,
    written: Option<u64>,
    /// Ids and names.
    seen: Vec<(String, String)>,
    number: u64,
}

impl App {
    /// Returns a number that is another one when the first `most` users, or their names, are others than before; `None`
    /// when the database was never read.
    pub(crate) async fn people(&self, most: u32) -> Option<u64> {
        let _looking = self.people.looking.lock().await;
        let written = self.written();
        if let Some(look) = &*self.people.last()
            && look.at.elapsed() < FRESH
            && look.written == written
        {
            return Some(look.number);
        }
        match self.list_people(most).await {
            Ok((_, number)) => Some(number),
            Err(error) => {
                tracing::warn!(%error, "the users cannot be listed");
                let mut last = self.people.last();
                let look = last.as_mut()?;
                // Whoever waits behind this one would wait for the same.
                look.at = Instant::now();
                Some(look.number)
            }
        }
    }

    /// Returns the first `most` users as they are now, and their number.
    pub(crate) async fn list_people(&self, most: u32) -> Result<(Vec<User>, u64), Error> {
        let written = self.written();
        let users = self.assistant.users(None, most).await?;
        let seen: Vec<_> =
            users.iter().map(|user| (user.id.as_str().to_owned(), user.name.clone())).collect();
        let mut last = self.people.last();
        let number = match &*last {
            Some(look) => look.number + u64::from(look.seen != seen),
            None => 0,
        };
        *last = Some(Look { at: Instant::now(), written, seen, number });
        Ok((users, number))
    }
}

impl People {
    fn last(&self) -> MutexGuard<'_, Option<Look>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
