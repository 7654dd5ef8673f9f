//! The parameters of a session, and the services that it shares with the others.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::approval::Approval;
use crate::detect::Installed;
use crate::thread_options::ThreadOptions;
use adjutant_base::events::Events;
use adjutant_host::recorder::Recording;
use adjutant_store::Store;

/// The parameters of one session.
#[derive(Debug)]
pub(crate) struct SessionSetup {
    pub(crate) installed: Installed,
    pub(crate) start: ThreadOptions,
    /// The thread to resume; `None` starts a new one.
    pub(crate) resume: Option<String>,
    pub(crate) workdir: PathBuf,
    pub(crate) spool: PathBuf,
    pub(crate) recording: Recording,
    pub(crate) approval_timeout: Duration,
    pub(crate) idle: Duration,
}

/// The shared services that a session uses.
#[derive(Clone, Debug)]
pub(crate) struct SessionContext {
    pub(crate) store: Store,
    pub(crate) events: Events,
    pub(crate) asked: broadcast::Sender<Approval>,
    pub(crate) stop: CancellationToken,
}
