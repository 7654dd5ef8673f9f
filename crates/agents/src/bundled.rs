//! Bundled agents, which are compiled into the binary.

/// The bundled files, each as its path below the root and its content, in the order of their names.
pub(super) const BUNDLED: &[(&str, &str)] = &[
    ("explainer.yaml", include_str!("../assets/explainer.yaml")),
    ("planner.yaml", include_str!("../assets/planner.yaml")),
    ("researcher.yaml", include_str!("../assets/researcher.yaml")),
    ("reviewer.yaml", include_str!("../assets/reviewer.yaml")),
    ("test-writer.yaml", include_str!("../assets/test-writer.yaml")),
];

/// Returns the text of a bundled file.
pub fn bundled_text(relative: &str) -> Option<&'static str> {
    BUNDLED.iter().find(|(path, _)| *path == relative).map(|(_, text)| *text)
}
