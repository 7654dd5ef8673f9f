//! The terminal's clipboard, over SSH too: OSC 52.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Bytes of text that are copied; terminals take about 100,000 bytes of base64.
pub(super) const MOST: usize = 72 * 1024;

/// Returns what makes a terminal put a text into its clipboard; what is beyond [`MOST`] is left out.
pub(super) fn sequence(text: &str) -> String {
    format!("\u{1b}]52;c;{}\u{7}", STANDARD.encode(&text.as_bytes()[..text.floor_char_boundary(MOST)]))
}

#[cfg(test)]
mod tests {
    use super::sequence;

    #[test]
    fn a_text_goes_as_base64() {
        assert_eq!(sequence("M"), "\u{1b}]52;c;TQ==\u{7}");
        assert_eq!(sequence("Ma"), "\u{1b}]52;c;TWE=\u{7}");
        assert_eq!(sequence("Many tides"), "\u{1b}]52;c;TWFueSB0aWRlcw==\u{7}");
        assert!(sequence(&"é".repeat(100_000)).len() < 100_000);
    }
}
