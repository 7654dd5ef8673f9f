//! Clients without a session: stateless requests, grouped into one row per client name and version.
//!
//! The console shows the connected clients. A stateless client counts as connected for a few minutes after each
//! request; requests under the same name and version are one client, from any sender.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use adjutant_app::App;
use adjutant_app::client_registry::{ClientHandle, ConnectionKind, UNNAMED};
use adjutant_base::mutex::lock;

/// Time for which a client is shown after its last request.
const PRESENCE_TIMEOUT: Duration = Duration::from_mins(5);

/// Maximum number of rows; a new row replaces the one that was silent longest.
const MAX_ROWS: usize = 64;

/// Bytes of a name or a version that distinguish clients; a request may hold megabytes.
const MAX_NAME_BYTES: usize = 200;

#[derive(Debug)]
struct Row {
    server: &'static str,
    name: String,
    version: String,
    connected: Arc<ClientHandle>,
    last: Instant,
}

/// The rows of one listener.
#[derive(Debug, Default)]
pub(crate) struct Callers(Mutex<HashMap<u64, Row>>);

impl Callers {
    /// Returns the presence of the client that sends a request of `revision` to `server`; an anonymous client has an
    /// empty name.
    pub(crate) fn enter(
        &self,
        app: &App,
        server: &'static str,
        name: &str,
        version: &str,
        revision: &str,
    ) -> Arc<ClientHandle> {
        let (name, version) = (start(name), start(version));
        let mut rows = lock(&self.0);
        let known =
            rows.values_mut().find(|row| row.server == server && row.name == name && row.version == version);
        if let Some(row) = known {
            row.last = Instant::now();
            return row.connected.clone();
        }
        if rows.len() >= MAX_ROWS
            && let Some(silent) = rows.iter().min_by_key(|(_, row)| row.last).map(|(id, _)| *id)
        {
            rows.remove(&silent);
        }
        let connected = Arc::new(app.clients.register(ConnectionKind::Http, server, None));
        let shown = if name.is_empty() { UNNAMED } else { name };
        connected.identify(shown, version, revision);
        let row = Row {
            server,
            name: name.to_owned(),
            version: version.to_owned(),
            connected: connected.clone(),
            last: Instant::now(),
        };
        rows.insert(connected.id, row);
        connected
    }

    /// Removes the rows of clients that were silent for too long.
    pub(crate) fn sweep(&self) {
        lock(&self.0).retain(|_, row| row.last.elapsed() < PRESENCE_TIMEOUT);
    }
}

fn start(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_NAME_BYTES)]
}
