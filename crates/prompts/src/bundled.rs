//! The prompts that are compiled into the binary.

/// Path below the root and content of each, in the order of their names.
pub(super) const BUNDLED: &[(&str, &str)] = &[
    ("commit.md", include_str!("../assets/commit.md")),
    ("critique.md", include_str!("../assets/critique.md")),
    ("debug.md", include_str!("../assets/debug.md")),
    ("explain.md", include_str!("../assets/explain.md")),
    ("plan.md", include_str!("../assets/plan.md")),
    ("release-notes.md", include_str!("../assets/release-notes.md")),
    ("research.md", include_str!("../assets/research.md")),
    ("review.md", include_str!("../assets/review.md")),
    ("summarize.md", include_str!("../assets/summarize.md")),
    ("test-cases.md", include_str!("../assets/test-cases.md")),
];

/// Returns the text of a bundled file.
pub fn bundled_text(relative: &str) -> Option<&'static str> {
    BUNDLED.iter().find(|(path, _)| *path == relative).map(|(_, text)| *text)
}
