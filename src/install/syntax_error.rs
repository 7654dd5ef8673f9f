//! Syntax errors of JSON and TOML configurations.

/// The reason why a text cannot be changed. Lines and columns count from 1.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SyntaxError {
    #[error("line {line}, column {column}: {reason}")]
    Syntax { line: usize, column: usize, reason: String },
    #[error("line {line} is not UTF-8")]
    Encoding { line: usize },
    #[error("line {line}: {} is not {expected}", named(.key))]
    Shape { line: usize, key: String, expected: &'static str },
    #[error("line {line}: `{key}` is a duplicate")]
    Twice { line: usize, key: String },
}

fn named(key: &str) -> String {
    if key.is_empty() { "the content of the file".to_owned() } else { format!("`{key}`") }
}
