//! The session manager of one endpoint, through which rmcp reaches the sessions of the registry.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use futures::future::ready;
use futures::{Stream, StreamExt, stream};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManagerError;
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use tokio_util::sync::CancellationToken;

use super::transport::Wire;
use super::{Live, OpenStream, PLACE, Registry, Session};
use adjutant_base::mutex::lock;

/// One endpoint's sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    pub registry: Arc<Registry>,
    pub(crate) endpoint: &'static str,
}

impl Sessions {
    fn session(&self, id: &SessionId) -> Result<Arc<Session>, LocalSessionManagerError> {
        self.registry
            .find(self.endpoint, id)
            .ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = Wire;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, transport) = self.registry.inner.create_session().await?;
        let place = PLACE.try_with(Cell::take).ok().flatten();
        let session = Arc::new(Session::new(id.clone(), self.endpoint));
        lock(&self.registry.live).insert(id.clone(), Live { session: session.clone(), _place: place });
        Ok((id, Wire::new(transport, session)))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.registry.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.session(id).is_ok() && self.registry.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.registry.end(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.session(id)?;
        self.registry.inner.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        lock(&self.session(id)?.state).last = Instant::now();
        self.registry.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let session = self.session(id)?;
        let stream = self.registry.inner.create_standalone_stream(id).await?;
        Ok(counted(stream, session, self.registry.stop.clone()))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let session = self.session(id)?;
        let stream = match self.registry.inner.resume(id, last_event_id.clone()).await {
            Ok(stream) => stream.left_stream(),
            // The response has passed already; it may be kept.
            Err(error) => match lock(&session.responses).kept(&last_event_id) {
                Some(event) => stream::once(ready(event)).right_stream(),
                None => return Err(error),
            },
        };
        Ok(counted(stream, session, self.registry.stop.clone()))
    }
}

/// Returns a stream that keeps its session in use while it is open, and ends when the process stops.
fn counted(
    stream: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    session: Arc<Session>,
    stop: CancellationToken,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    let open = OpenStream::new(session);
    stream
        .map(move |message| {
            let _open = &open;
            message
        })
        .take_until(async move { stop.cancelled().await })
}
