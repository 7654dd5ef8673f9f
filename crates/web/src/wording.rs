//! Texts and numbers as the pages show them.

/// Returns a number with a comma between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

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
