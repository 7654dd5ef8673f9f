//! The terminal's clipboard, over SSH too: OSC 52.

/// Bytes of text that are copied; terminals take about 100,000 bytes of base64.
pub(super) const MOST: usize = 72 * 1024;

/// Returns what makes a terminal put a text into its clipboard; what is beyond [`MOST`] is left out.
pub(super) fn sequence(text: &str) -> String {
    format!("\u{1b}]52;c;{}\u{7}", base64(&text.as_bytes()[..text.floor_char_boundary(MOST)]))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let bits =
            part.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - part.len()));
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            text.push(if digit <= part.len() { char::from(DIGITS[value]) } else { '=' });
        }
    }
    text
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
