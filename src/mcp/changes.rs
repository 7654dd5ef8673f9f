//! What clients are told of by themselves: the files of the rooms changed.

use tokio::sync::watch::Receiver;

use crate::mcp::Handler;

/// What changed on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    Prompts,
    Agents,
}

/// The changes of what a server has.
#[derive(Debug)]
pub(crate) struct Changes {
    prompts: Option<Receiver<u64>>,
    agents: Option<Receiver<u64>>,
}

impl Changes {
    /// Watches the files of `handler`'s rooms from now on.
    pub(crate) fn new(handler: &Handler) -> Self {
        let (app, server) = (handler.app(), handler.server());
        Self {
            prompts: server.has_prompts().then(|| app.prompts.changes()),
            agents: server.has_agents().then(|| app.agents.definitions().changes()),
        }
    }

    /// Waits for the next one; for ever where nothing can change.
    pub(crate) async fn next(&mut self) -> Changed {
        tokio::select! {
            () = moved(&mut self.prompts) => Changed::Prompts,
            () = moved(&mut self.agents) => Changed::Agents,
        }
    }
}

async fn moved(of: &mut Option<Receiver<u64>>) {
    let changed = match of {
        Some(receiver) => receiver.changed().await.is_ok(),
        None => false,
    };
    if !changed {
        std::future::pending::<()>().await;
    }
}
