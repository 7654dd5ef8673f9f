//! Results of tools that are written as bytes.
//!
//! rmcp's model would hold a large result as a tree of values and copy it several times, and a general serializer
//! examines every byte alone. With a 1 MiB prompt, measurements show that a call stays within a few copies of the text
//! only if the text is written directly into the output and its runs without escapes are copied as a whole.

use std::sync::Arc;

use rmcp::model::CallToolResult;
use serde_json::Value;

/// The members `content` and `structuredContent` of a tool's result.
#[derive(Clone, Debug)]
pub enum RawResult {
    /// Ready bytes, shared between calls.
    Members(Arc<str>),
    /// `{"prompt": …}`, the answer of `expand_prompt`.
    Prompt(String),
}

/// The number of quotations around a string: one as structured content, two as JSON inside a text.
#[derive(Clone, Copy)]
enum Depth {
    Once,
    Twice,
}

/// Returns the members of [`RawResult::Members`] for a text and structured content as JSON.
pub(crate) fn members(text: &str, json: &str) -> Arc<str> {
    let text = Value::from(text);
    format!(r#""content":[{{"type":"text","text":{text}}}],"structuredContent":{json}"#).into()
}

impl RawResult {
    /// The minimum bytes that [`Self::write`] appends.
    pub(crate) fn size_hint(&self) -> usize {
        match self {
            Self::Members(members) => members.len(),
            Self::Prompt(text) => 2 * text.len() + 128,
        }
    }

    /// Returns the result in rmcp's type, so that something can be added to it.
    pub(crate) fn to_call_tool_result(&self) -> Option<CallToolResult> {
        let mut bytes = Vec::with_capacity(self.size_hint() + 2);
        bytes.push(b'{');
        self.write(&mut bytes);
        bytes.push(b'}');
        serde_json::from_slice(&bytes).ok()
    }

    /// Appends the members, without braces around them.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Members(members) => bytes.extend_from_slice(members.as_bytes()),
            Self::Prompt(text) => {
                bytes.extend_from_slice(br#""content":[{"type":"text","text":"{\"prompt\":\""#);
                escape(text.as_bytes(), Depth::Twice, bytes);
                bytes.extend_from_slice(br#"\"}"}],"structuredContent":{"prompt":""#);
                escape(text.as_bytes(), Depth::Once, bytes);
                bytes.extend_from_slice(br#""}"#);
            }
        }
    }
}

/// Returns whether a JSON string needs an escape for a byte (RFC 8259, section 7).
fn special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// The length of the run of bytes that need no escape. Whole blocks are tested at once, which the compiler turns
/// into vector instructions.
fn clean(bytes: &[u8]) -> usize {
    const BLOCK: usize = 32;
    let mut at = 0;
    for block in bytes.chunks_exact(BLOCK) {
        if block.iter().fold(false, |found, byte| found | special(*byte)) {
            break;
        }
        at += BLOCK;
    }
    at + bytes[at..].iter().position(|byte| special(*byte)).unwrap_or(bytes.len() - at)
}

/// Appends the inside of a JSON string.
fn escape(mut text: &[u8], depth: Depth, bytes: &mut Vec<u8>) {
    loop {
        let (run, rest) = text.split_at(clean(text));
        bytes.extend_from_slice(run);
        let Some((byte, rest)) = rest.split_first() else { return };
        text = rest;
        // Escaping `\n` once more gives `\\n`: only quotes and backslashes grow again.
        let backslash: &[u8] = match depth {
            Depth::Once => br"\",
            Depth::Twice => br"\\",
        };
        let short = match byte {
            b'"' | b'\\' => {
                bytes.extend_from_slice(backslash);
                match depth {
                    Depth::Once => {}
                    Depth::Twice => bytes.push(b'\\'),
                }
                bytes.push(*byte);
                continue;
            }
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            control => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                bytes.extend_from_slice(backslash);
                bytes.extend_from_slice(b"u00");
                bytes.push(HEX[usize::from(control >> 4)]);
                bytes.push(HEX[usize::from(control & 15)]);
                continue;
            }
        };
        bytes.extend_from_slice(backslash);
        bytes.push(short);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::RawResult;

    proptest! {
        #[test]
        fn the_bytes_are_what_the_general_serializer_writes(text in any::<String>(), pad in 0..80usize) {
            let text = format!("{}{text}", "x".repeat(pad));
            let mut bytes = Vec::new();
            RawResult::Prompt(text.clone()).write(&mut bytes);
            let answer = json!({"prompt": text});
            let whole = json!({
                "content": [{"type": "text", "text": answer.to_string()}],
                "structuredContent": answer,
            });
            prop_assert_eq!(format!("{{{}}}", String::from_utf8(bytes).unwrap()), whole.to_string());
        }
    }
}
