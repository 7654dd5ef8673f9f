//! Infrastructure on the network: bounded HTTP, language models, notification channels, logins by OpenID Connect, the export of traces.

pub mod certificate;
pub mod channels;
pub mod chat_completions;
pub mod http_client;
pub mod openid;
pub mod otlp;
