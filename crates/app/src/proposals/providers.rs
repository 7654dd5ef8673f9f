//! Providers of proposals: the configured ones, and the client that plans.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use adjutant_agents::Agents;
use adjutant_base::config::assistant::AssistantConfig;

/// Asks the client's model: the instructions, and the turns so far, which begin with the hub's. The error is a sentence
/// fragment.
pub(super) type Sampler =
    Arc<dyn Fn(String, Vec<String>) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// The providers that may be asked.
#[derive(Clone, Copy)]
pub struct Providers<'a> {
    pub config: &'a AssistantConfig,
    /// The agents, in a process that runs tasks.
    pub agents: Option<&'a Agents>,
    pub client: &'a Client,
    /// Cancelled when the call that plans is cancelled.
    pub cancelled: &'a CancellationToken,
}

/// The client that plans, and how its model can be asked.
#[derive(Clone, Default)]
pub struct Client {
    /// It may answer questions by a second call.
    pub answers: bool,
    pub sampling: Sampling,
}

/// How a client's model is asked by sampling.
#[derive(Clone, Default)]
pub enum Sampling {
    /// The client has not declared it.
    #[default]
    None,
    /// By a request to the client, while its call waits.
    Direct(Sampler),
    /// By the answer to its call, after which it calls again: see [`super::client_dialogue`].
    InputRequired,
}
