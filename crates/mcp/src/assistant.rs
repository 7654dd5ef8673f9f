//! Resources and prompts of the assistant contract, and their form at 2024-11-05.

mod contract;
pub mod http_wrapping;
mod prompts;
mod resources;

pub use contract::contract;
pub use prompts::{get, list as prompts};
pub(crate) use resources::{MAX_LISTED_USERS, is_resource_uri};
pub use resources::{digest, list as resources, read, serves, templates};
