//! The HTTP door: who may come in, what is served to whom, and that nothing else is.

mod battery;
mod client;
mod door;
mod protocol;
