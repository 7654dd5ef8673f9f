//! The prompts that are compiled into the binary.

/// Path below the root and content of each, in the order of their names.
pub(super) const BUNDLED: &[(&str, &str)] = &[
    ("commit.md", include_str!("../../assets/prompts/commit.md")),
    ("critique.md", include_str!("../../assets/prompts/critique.md")),
    ("debug.md", include_str!("../../assets/prompts/debug.md")),
    ("explain.md", include_str!("../../assets/prompts/explain.md")),
    ("plan.md", include_str!("../../assets/prompts/plan.md")),
    ("release-notes.md", include_str!("../../assets/prompts/release-notes.md")),
    ("research.md", include_str!("../../assets/prompts/research.md")),
    ("review.md", include_str!("../../assets/prompts/review.md")),
    ("summarize.md", include_str!("../../assets/prompts/summarize.md")),
    ("test-cases.md", include_str!("../../assets/prompts/test-cases.md")),
];

/// Returns the text of a bundled file.
pub(crate) fn bundled_text(relative: &str) -> Option<&'static str> {
    BUNDLED.iter().find(|(path, _)| *path == relative).map(|(_, text)| *text)
}
