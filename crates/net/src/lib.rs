//! Infrastructure on the network: bounded HTTP, language models, notification channels.

pub mod channels;
pub mod chat_completions;
pub mod http_client;
