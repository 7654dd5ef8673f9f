//! Text that crates share: escapes of untrusted text, diffs in messages, digests and ids, times, suggestions, YAML and front matter.

pub mod bare_diff;
pub mod clip;
pub mod escape_invisible;
pub mod front_matter;
pub mod hex;
pub mod named_enum;
pub mod random_id;
pub mod suggest;
pub mod timefmt;
pub mod yaml;
