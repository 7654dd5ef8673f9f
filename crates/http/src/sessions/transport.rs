//! The transport between a session and its handler, which counts a request as in flight until its response passes.

use std::sync::Arc;
use std::time::Instant;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, CustomResult, JsonRpcMessage, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::LocalSessionWorker;

use super::{Call, Session};
use adjutant_base::mutex::lock;
use adjutant_mcp::ToolsetSelection;
use adjutant_mcp::protocol_version::{Revision, contract_initialize};

type Inner = WorkerTransport<LocalSessionWorker>;

/// rmcp's transport of one session, with the session's state.
pub(crate) struct Wire {
    inner: Inner,
    session: Arc<Session>,
}

impl Wire {
    pub(crate) fn new(inner: Inner, session: Arc<Session>) -> Self {
        Self { inner, session }
    }

    /// Records a request as in flight, and releases one that the client cancelled: it gets no answer.
    fn note(&self, message: &RxJsonRpcMessage<RoleServer>) {
        let mut state = lock(&self.session.state);
        match message {
            // Other messages counted as use when they arrived; this may be later.
            JsonRpcMessage::Request(request) => {
                state.last = Instant::now();
                let call = match &request.request {
                    ClientRequest::InitializeRequest(initialize) => {
                        Call::Initialize(Box::new(initialize.params.client_info.clone()))
                    }
                    _ => Call::Other,
                };
                state.in_flight.insert(request.id.clone(), call);
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    state.in_flight.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Ends the request that a message answers, and gives the answer to `initialize` the format of its contract.
    fn settle(&self, message: TxJsonRpcMessage<RoleServer>) -> TxJsonRpcMessage<RoleServer> {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let Some(id) = id else { return message };
        self.session.pass(id, &message);
        let mut state = lock(&self.session.state);
        state.last = Instant::now();
        let call = state.in_flight.remove(id);
        match (call, message) {
            (Some(Call::Initialize(client)), JsonRpcMessage::Response(mut response)) => {
                if let ServerResult::InitializeResult(result) = &response.result
                    && let Some(revision) = Revision::parse(result.protocol_version.as_str())
                {
                    state.revision = Some(revision);
                    let server = ToolsetSelection::from_name(self.session.endpoint);
                    let contract =
                        server.and_then(|server| contract_initialize(server, revision, result, &client));
                    if let Some(value) = contract {
                        response.result = ServerResult::CustomResult(CustomResult(value));
                    }
                }
                JsonRpcMessage::Response(response)
            }
            (_, message) => message,
        }
    }
}

impl Transport<RoleServer> for Wire {
    type Error = <Inner as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let item = self.settle(item);
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.inner.receive().await?;
        self.note(&message);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
