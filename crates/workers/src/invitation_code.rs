//! One-time codes: what a new worker needs to ask a hub for credentials.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

/// The beginning of every code, with the version of its content.
const PREFIX: &str = "adjw1_";

/// The content of a code. Whoever has the code can join once.
#[derive(Clone, Serialize, Deserialize)]
pub struct Code {
    /// Address of the NATS server.
    pub(crate) nats: String,
    pub(crate) seed: String,
    pub(crate) jwt: String,
    /// The public key, by which the hub knows the code.
    pub(crate) id: String,
}

impl Code {
    /// Returns the public key of the code.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the code as one word.
    pub fn to_word(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(json))
    }

    /// Reads a code; `None` if it is not one, such as one that was copied in part.
    pub fn from_word(word: &str) -> Option<Self> {
        let json = BASE64_URL_SAFE_NO_PAD.decode(word.trim().strip_prefix(PREFIX)?).ok()?;
        serde_json::from_slice(&json).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn a_code_is_one_word_and_a_part_of_it_is_none() {
        let text = |text: &str| text.to_owned();
        let code = Code { nats: text("nats://n"), seed: text("s"), jwt: text("j"), id: text("i") };
        let word = code.to_word();
        assert!(!word.contains(char::is_whitespace));
        assert_eq!(Code::from_word(&format!(" {word}\n")).unwrap().nats, "nats://n");
        assert!(Code::from_word(&word[..word.len() - 4]).is_none() && Code::from_word("x").is_none());
    }
}
