//! The prompts that are compiled into the binary.

/// Path below the root and content of each, in the order of their names.
pub(super) const BUNDLED: &[(&str, &str)] = &[
    ("research.md", include_str!("../../assets/prompts/research.md")),
    ("summarize.md", include_str!("../../assets/prompts/summarize.md")),
];
