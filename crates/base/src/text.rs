//! Text that crates share: escapes of untrusted text, Markdown of agents, digests and ids, times, suggestions, YAML and front matter.

pub mod clip;
pub mod counted;
pub mod escape_invisible;
pub mod front_matter;
pub mod hex;
pub mod named_enum;
pub mod random_id;
pub mod shell_quoting;
pub mod suggest;
pub mod timefmt;
pub mod untrusted_markdown;
pub mod yaml;
