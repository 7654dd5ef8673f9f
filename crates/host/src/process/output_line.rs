//! A line of a run's output, as it is passed on.

use serde::{Deserialize, Serialize};

/// A line of the runner's stdout, without its end, invalid UTF-8 replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputLine {
    /// The line, at most 1 MiB of it.
    pub text: String,
    /// The bytes of the line, if they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Vec<u8>>,
    /// Number of bytes that were cut off at the end of the line.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Number of bytes of stdout that the spool dropped before this line, because they were not read in time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
}

/// Maximum bytes of a line that is passed on.
pub(super) const MAX_LINE_BYTES: usize = 1 << 20;

impl OutputLine {
    /// Makes a line of its bytes without the end, of which `cut` more were cut off.
    pub(super) fn new(mut line: Vec<u8>, cut: u64, missed: u64) -> Self {
        let cut = cut + line.len().saturating_sub(MAX_LINE_BYTES) as u64;
        line.truncate(MAX_LINE_BYTES);
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        let text = String::from_utf8_lossy(text).into_owned();
        let raw = (text.as_bytes() != line).then_some(line);
        Self { text, raw, cut, missed }
    }

    /// Returns the bytes of the stream that it takes up, with its end and what was dropped before it.
    pub(super) fn stream_bytes(&self) -> u64 {
        let kept = self.raw.as_ref().map_or(self.text.len(), Vec::len) as u64;
        self.missed + kept + self.cut + 1
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
