//! The hub's side of a run.

use std::path::{Path, PathBuf};

use tokio::sync::{mpsc, oneshot};

use super::run::{Command, Error, Outcome, OutputLine};

/// A run that goes on. Dropping it is what the hub's exit would be: the run ends or goes on, as its
/// [`OnHubExit`](super::OnHubExit) says.
#[derive(Debug)]
pub(crate) struct Running {
    /// The supervisor's process.
    pub(crate) supervisor: u32,
    /// Lines of stdout as they come; closed when all were given. Who does not read them delays [`Running::ended`],
    /// nothing else.
    pub(crate) lines: mpsc::Receiver<OutputLine>,
    canceller: Canceller,
    outcome: oneshot::Receiver<Outcome>,
    spool: PathBuf,
}

/// Cancels a run, from wherever.
#[derive(Clone, Debug)]
pub(crate) struct Canceller(mpsc::Sender<()>);

impl Canceller {
    /// Asks for the run's end; asking twice is asking once.
    pub(crate) fn cancel(&self) {
        let _ = self.0.try_send(());
    }
}

impl Running {
    /// Asks for the run's end; the outcome says when nothing is left of it.
    pub(crate) fn cancel(&self) {
        self.canceller.cancel();
    }

    /// Returns a handle that cancels this run, to be kept elsewhere.
    pub(crate) fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Waits until nothing is left of the run. Lines that were not read are dropped.
    pub(crate) async fn ended(self) -> Outcome {
        drop(self.lines);
        self.outcome.await.unwrap_or_else(|_| Outcome::unseen(&self.spool))
    }
}

/// What [`resume`] finds.
#[derive(Debug)]
pub(crate) enum Resumed {
    /// The run goes on; its lines come from the first one on.
    Running(Running),
    /// It is over.
    Ended(Outcome),
}

/// Starts a supervisor, and the command below it.
pub(crate) async fn start(command: Command) -> Result<Running, Error> {
    tokio::task::yield_now().await;
    Err(Error::Spawn(format!("{} has no supervisor yet", command.spool.display())))
}

/// Takes up the run of this spool folder after its hub ended: attaches to it, or reads how it ended. A run whose
/// supervisor was killed is ended and reported as [`Cause::Lost`](super::Cause::Lost).
pub(crate) async fn resume(spool: &Path) -> Result<Resumed, Error> {
    tokio::task::yield_now().await;
    Err(Error::Spool(format!("{} cannot be read yet", spool.display())))
}
