//! Sealed state that a client of the stateless revision returns with the next round of a call (`requestState`). It is
//! invalid for another caller or another call, after a change, and after its time to live.
//!
//! The state passes through the program that runs the agent. So it is authenticated; it is not encrypted and holds no
//! secret.

use std::sync::LazyLock;
use std::time::Duration;

use rmcp::model::{RequestStateCodec, SealOptions};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Time for a user to finish one round.
const TIME_TO_LIVE: Duration = Duration::from_hours(24);

/// A key that lives as long as the process; `None` if the system has no randomness.
static PROCESS_KEY: LazyLock<Option<[u8; 32]>> = LazyLock::new(|| {
    let mut key = [0; 32];
    getrandom::fill(&mut key).ok().map(|()| key)
});

/// A key, and the digest of the caller and the call that the state is bound to.
#[derive(Debug)]
pub(crate) struct StateSealer {
    codec: RequestStateCodec,
    bound_to: [u8; 32],
}

impl StateSealer {
    /// Creates a sealer with `key` that binds states to `parts`; `None` for a key that is too short.
    pub(crate) fn new(key: &[u8], parts: &[&str]) -> Option<Self> {
        let mut bound_to = Sha256::new();
        for part in parts {
            bound_to.update(part.len().to_le_bytes());
            bound_to.update(part);
        }
        Some(Self {
            codec: RequestStateCodec::try_new(key.to_vec()).ok()?,
            bound_to: bound_to.finalize().into(),
        })
    }

    /// Creates a sealer with the key of this process.
    pub(crate) fn ephemeral(parts: &[&str]) -> Option<Self> {
        Self::new(PROCESS_KEY.as_ref()?, parts)
    }

    /// Seals `state` for a day.
    pub(crate) fn seal(&self, state: &str) -> String {
        self.seal_for(state, TIME_TO_LIVE)
    }

    fn seal_for(&self, state: &str, ttl: Duration) -> String {
        let options = SealOptions::new().associated_data(&self.bound_to).ttl(ttl);
        self.codec.seal_with(state.as_bytes(), &options)
    }

    /// Returns the sealed state; `None` if it is invalid. The client does not get the reason.
    pub(crate) fn unseal(&self, sealed: &str) -> Option<String> {
        let opened = self.codec.open_with(sealed, &self.bound_to);
        String::from_utf8(
            opened.inspect_err(|error| tracing::info!(%error, "a requestState is invalid")).ok()?,
        )
        .ok()
    }
}

/// Returns the arguments of a call as text that is the same for every order of their members.
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
    fn a_state_is_valid_for_its_own_call_only() {
        let sealed = seal(&["ann", "triggerPopup", "{}"]).seal("q1");
        assert_eq!(seal(&["ann", "triggerPopup", "{}"]).unseal(&sealed).as_deref(), Some("q1"));
        for others in
            [&["bob", "triggerPopup", "{}"][..], &["ann", "ask_form", "{}"], &["ann", "triggerPopup{}"]]
        {
            assert_eq!(seal(others).unseal(&sealed), None, "{others:?}");
        }
        assert_eq!(StateSealer::new(&[8; 32], &["ann", "triggerPopup", "{}"]).unwrap().unseal(&sealed), None);
        // The borders between the parts count.
        assert_eq!(seal(&["ab", "c"]).unseal(&seal(&["a", "bc"]).seal("x")), None);
        assert!(StateSealer::new(b"short", &[]).is_none());
    }

    #[test]
    fn a_state_expires() {
        let seal = seal(&["ann"]);
        let sealed = seal.seal_for("q1", Duration::from_millis(1));
        let end = Instant::now() + Duration::from_secs(10);
        while seal.unseal(&sealed).is_some() {
            assert!(Instant::now() < end, "it never expires");
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
        #[test]
        fn a_changed_state_is_invalid(at in any::<prop::sample::Index>(), to in "[A-Za-z0-9_.-]") {
            let seal = seal(&["ann"]);
            let sealed = seal.seal("q0123456789abcdef");
            let at = at.index(sealed.len());
            let changed = format!("{}{to}{}", &sealed[..at], &sealed[at + 1..]);
            prop_assume!(changed != sealed);
            prop_assert_eq!(seal.unseal(&changed), None);
        }

        #[test]
        fn nonsense_is_invalid(text in "\\PC{0,200}") {
            prop_assert_eq!(seal(&["ann"]).unseal(&text), None);
        }
    }
}
