//! Text that modules share: instants and spans, escapes of untrusted text, near names, YAML and front matter.

pub mod escape_invisible;
pub mod front_matter;
pub mod named_enum;
pub mod suggest;
pub mod timefmt;
pub mod yaml;
