//! Who has a calendar here, as lists of resources name them: whether they are others than before. The command line
//! adds and removes users in a process of its own, so the database is looked at, once for all who want to know.

use std::time::{Duration, Instant};

use super::App;

/// How long a look counts as fresh, unless this process wrote meanwhile.
const FRESH: Duration = Duration::from_secs(4);

/// The last look.
#[derive(Debug, Default)]
pub(super) struct People(tokio::sync::Mutex<Option<Look>>);

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
    /// when the database cannot be read.
    pub(crate) async fn people(&self, most: u32) -> Option<u64> {
        let mut last = self.people.0.lock().await;
        let written = self.written();
        if let Some(look) = &*last
            && look.at.elapsed() < FRESH
            && look.written == written
        {
            return Some(look.number);
        }
        let users = self.assistant.users(None, most).await;
        let users = users.inspect_err(|error| tracing::warn!(%error, "the users cannot be listed")).ok()?;
        let seen: Vec<_> = users.into_iter().map(|user| (user.id.as_str().to_owned(), user.name)).collect();
        let number = match &*last {
            Some(look) => look.number + u64::from(look.seen != seen),
            None => 0,
        };
        *last = Some(Look { at: Instant::now(), written, seen, number });
        Some(number)
    }
}
