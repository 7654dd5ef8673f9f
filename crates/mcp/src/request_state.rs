//! What a client of the stateless revision carries from one round of a call to the next (`requestState`), sealed: it is
//! worth nothing to another caller, for another call, changed, or too late.
//!
//! It passes through the program that runs the agent, so it is authenticated; it is not encrypted, and holds no secret.

use std::sync::LazyLock;
use std::time::Duration;

use rmcp::model::{RequestStateCodec, SealOptions};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// How long a person may take for one round.
const TIME_TO_LIVE: Duration = Duration::from_hours(24);

/// A key that lives as long as the process; `None` where the system has no randomness.
static PROCESS_KEY: LazyLock<Option<[u8; 32]>> = LazyLock::new(|| {
    let mut key = [0; 32];
    getrandom::fill(&mut key).ok().map(|()| key)
});

/// A key, and what is sealed with it: which call of whom.
#[derive(Debug)]
pub(crate) struct StateSealer {
    codec: RequestStateCodec,
    about: [u8; 32],
}

impl StateSealer {
    /// Seals with `key` for what `parts` say together; `None` for a key that is too short.
    pub(crate) fn new(key: &[u8], parts: &[&str]) -> Option<Self> {
        let mut about = Sha256::new();
        for part in parts {
            about.update(part.len().to_le_bytes());
            about.update(part);
        }
        Some(Self { codec: RequestStateCodec::try_new(key.to_vec()).ok()?, about: about.finalize().into() })
    }

    /// Seals for as long as this process lives.
    pub(crate) fn ephemeral(parts: &[&str]) -> Option<Self> {
        Self::new(PROCESS_KEY.as_ref()?, parts)
    }

    /// Returns `state` as the client is to bring it back, for a day.
    pub(crate) fn seal(&self, state: &str) -> String {
        self.seal_for(state, TIME_TO_LIVE)
    }

    fn seal_for(&self, state: &str, patience: Duration) -> String {
        let options = SealOptions::new().associated_data(&self.about).ttl(patience);
        self.codec.seal_with(state.as_bytes(), &options)
    }

    /// Returns what was sealed; `None` for anything else, without saying what is wrong with it.
    pub(crate) fn unseal(&self, sealed: &str) -> Option<String> {
        let opened = self.codec.open_with(sealed, &self.about);
        let opened =
            opened.inspect_err(|error| tracing::info!(%error, "a requestState was not taken")).ok()?;
        String::from_utf8(opened).ok()
    }
}

/// The arguments of a call as text that does not go by the order of their members.
pub(crate) fn canonical(arguments: &Map<String, Value>) -> String {
    let mut arguments = Value::Object(arguments.clone());
    arguments.sort_all_objects();
    arguments.to_string()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;
    use serde_json::json;

    use super::{StateSealer, canonical};

    const KEY: [u8; 32] = [7; 32];

    fn seal(parts: &[&str]) -> StateSealer {
        StateSealer::new(&KEY, parts).unwrap()
    }

    #[test]
    fn a_state_is_good_for_what_it_was_sealed_for() {
        let sealed = seal(&["ann", "triggerPopup", "{}"]).seal("q1");
        assert_eq!(seal(&["ann", "triggerPopup", "{}"]).unseal(&sealed).as_deref(), Some("q1"));
        for others in
            [&["bob", "triggerPopup", "{}"][..], &["ann", "ask_form", "{}"], &["ann", "triggerPopup{}"]]
        {
            assert_eq!(seal(others).unseal(&sealed), None, "{others:?}");
        }
        assert_eq!(StateSealer::new(&[8; 32], &["ann", "triggerPopup", "{}"]).unwrap().unseal(&sealed), None);
        // Where one part ends and the next begins is a part of it.
        assert_eq!(seal(&["ab", "c"]).unseal(&seal(&["a", "bc"]).seal("x")), None);
        assert!(StateSealer::new(b"short", &[]).is_none());
    }

    #[test]
    fn a_state_ends_in_time() {
        let seal = seal(&["ann"]);
        let sealed = seal.seal_for("q1", Duration::from_millis(1));
        let end = Instant::now() + Duration::from_secs(10);
        while seal.unseal(&sealed).is_some() {
            assert!(Instant::now() < end, "it never ends");
        }
    }

    #[test]
    fn arguments_are_the_same_in_any_order() {
        let (one, other) =
            (json!({"a": 1, "b": {"c": 2, "d": [3]}}), json!({"b": {"d": [3], "c": 2}, "a": 1}));
        let text = |value: &serde_json::Value| canonical(value.as_object().unwrap());
        assert_eq!(text(&one), text(&other));
        assert_ne!(text(&one), text(&json!({"a": 1, "b": {"c": 2, "d": [4]}})));
    }

    proptest! {
        /// Whatever is changed about it, it is no state any more.
        #[test]
        fn a_changed_state_is_none(at in any::<prop::sample::Index>(), to in "[A-Za-z0-9_.-]") {
            let seal = seal(&["ann"]);
            let sealed = seal.seal("q0123456789abcdef");
            let at = at.index(sealed.len());
            let changed = format!("{}{to}{}", &sealed[..at], &sealed[at + 1..]);
            prop_assume!(changed != sealed);
            prop_assert_eq!(seal.unseal(&changed), None);
        }

        #[test]
        fn nonsense_is_no_state(text in "\\PC{0,200}") {
            prop_assert_eq!(seal(&["ann"]).unseal(&text), None);
        }
    }
}
