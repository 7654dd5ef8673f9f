//! Resources and prompts of the assistant contract, and their shapes at 2024-11-05.

mod contract;
pub mod http_wrapping;
mod prompts;
mod resources;

pub use contract::contract;
pub use prompts::{get, listed as prompts};
pub use resources::{LISTED, digest, is_ours, listed as resources, names, read, templates};
