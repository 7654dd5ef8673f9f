//! Infrastructure on the network: bounded HTTP, language models, notification channels, the export of traces.

pub mod channels;
pub mod chat_completions;
pub mod http_client;
pub mod otlp;
