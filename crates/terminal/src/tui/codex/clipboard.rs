//! The terminal's clipboard, over SSH too: OSC 52.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Maximum bytes of copied text; terminals accept about 100,000 bytes of base64.
pub(super) const MAX_BYTES: usize = 72 * 1024;

/// Returns the escape sequence that copies a text, up to [`MAX_BYTES`] of it.
pub(super) fn sequence(text: &str) -> String {
    format!("\u{1b}]52;c;{}\u{7}", STANDARD.encode(&text.as_bytes()[..text.floor_char_boundary(MAX_BYTES)]))
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
