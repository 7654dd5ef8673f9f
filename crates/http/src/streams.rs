//! Event streams of callers without a session: the newest of each caller, and the streams that broke off.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};

use tokio_util::sync::CancellationToken;

use adjutant_base::mutex::lock;
use adjutant_questions::{Questions, Route};

/// The open streams, and the POSTs that wait for their own answers.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// The newest stream of each caller: an older one ends, so that nothing is sent twice.
    open: Mutex<HashMap<String, CancellationToken>>,
    waiting: Mutex<HashSet<Route>>,
    /// Streams that broke off since the last [`Self::sweep`].
    broken: Mutex<HashSet<String>>,
}

impl Streams {
    /// Makes the stream of a caller, and ends an older one.
    pub(crate) fn replace(&self, stream: &str) -> CancellationToken {
        let replaced = CancellationToken::new();
        let mut open = lock(&self.open);
        open.retain(|_, token| !token.is_cancelled());
        if let Some(older) = open.insert(stream.to_owned(), replaced.clone()) {
            older.cancel();
        }
        replaced
    }

    /// Ends the sessions of the streams that broke off and were not opened again. A caller that never opened a stream
    /// becomes silent at most.
    pub(crate) async fn sweep(&self, questions: &Questions) {
        let broken = std::mem::take(&mut *lock(&self.broken));
        for stream in broken {
            if !self.is_open(&stream) {
                questions.session_closed(&session_of(&stream)).await;
                // The stream may have been opened again in between.
                if self.is_open(&stream) {
                    questions.session_resumed(&session_of(&stream)).await;
                }
            }
        }
    }

    /// Records that a stream is closed, unless a newer stream has replaced it.
    pub(crate) fn closed(&self, stream: &str, replaced: &CancellationToken) {
        if replaced.is_cancelled() {
            return;
        }
        lock(&self.open).remove(stream);
        lock(&self.broken).insert(stream.to_owned());
    }

    /// Returns whether a caller reads its stream now.
    pub(crate) fn is_open(&self, stream: &str) -> bool {
        lock(&self.open).contains_key(stream)
    }

    /// Returns the requests of the POSTs that wait for their own answers; `stream` does not send those.
    pub(crate) fn waiting_on(&self, stream: &str) -> HashSet<String> {
        let waiting = self.waiting();
        waiting.iter().filter(|route| route.stream == stream).map(|route| route.request.clone()).collect()
    }

    /// Locks the routes of POSTs that wait for their own answers.
    pub(crate) fn waiting(&self) -> MutexGuard<'_, HashSet<Route>> {
        lock(&self.waiting)
    }
}

/// Returns the session of a caller's stream: it stays the same when the stream breaks and is opened again.
pub(crate) fn session_of(stream: &str) -> String {
    format!("stream:{stream}")
}
