//! The severity of a lint's finding, the same for prompts and agents.

use adjutant_base::text::counted::counted;

adjutant_base::named_enum! {
    /// The severity of a finding. The names are also SARIF's `level`.
    Severity {
        /// Worth knowing.
        Note = "note",
        /// Probably not what was meant.
        Warning = "warning",
        /// The file is not served, or cannot be used.
        Error = "error",
    }
}

impl Severity {
    /// Returns one line with the numbers of checked files and of findings; `found` counts the findings of a severity.
    pub fn tally(files: usize, found: impl Fn(Self) -> usize) -> String {
        let [errors, warnings, notes] = [Self::Error, Self::Warning, Self::Note]
            .map(|severity| counted(found(severity), severity.name()));
        format!("{} checked: {errors}, {warnings}, {notes}", counted(files, "file"))
    }
}
