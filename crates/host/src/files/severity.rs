//! The severity of a lint's finding, the same for prompts and agents.

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Probably not what was meant.
    Warning,
    /// The file is not served, or cannot be used.
    Error,
}

impl Severity {
    /// Returns the word for users, which is also SARIF's `level`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// Returns one line with the numbers of checked files and of findings; `found` counts the findings of a severity.
    pub fn tally(files: usize, found: impl Fn(Self) -> usize) -> String {
        let [errors, warnings, notes] = [Self::Error, Self::Warning, Self::Note]
            .map(|severity| counted(found(severity), severity.name()));
        format!("{} checked: {errors}, {warnings}, {notes}", counted(files, "file"))
    }
}

fn counted(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
