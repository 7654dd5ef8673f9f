//! TODO

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::app::App;
use crate::app::clients::Transport;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    All,
    Prompts,
}

impl Server {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::All, Self::Prompts].into_iter().find(|server| server.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Prompts => "prompts",
        }
    }
}

pub(crate) async fn serve_stream(
    _app: Arc<App>,
    _server: Server,
    _transport: Transport,
    _pid: Option<u32>,
    _input: impl AsyncRead + Send + Unpin + 'static,
    _output: impl AsyncWrite + Send + Unpin + 'static,
) {
}
