//! The severity of a lint's finding, the same for prompts and agents.

/// How much a finding matters.
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
    /// The word for people, which is also SARIF's `level`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// Says how many files were checked and what was found, in one line; `found` counts the findings of a severity.
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
