//! Errors of the domains as sentences.

/// Returns a sentence fragment as a sentence: an error of a domain begins in lower case and has no full stop.
pub(super) fn sentence(fragment: &str) -> String {
    let mut characters = fragment.chars();
    let first = characters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    let stop = if fragment.is_empty() || fragment.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{stop}", characters.as_str())
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn an_error_becomes_a_sentence() {
        assert_eq!(sentence("the note is empty"), "The note is empty.");
        assert_eq!(sentence("Zone: unknown."), "Zone: unknown.");
        assert_eq!(sentence(""), "");
    }
}
