//! How a person is reached who looks at no screen of ours.

use serde::Deserialize;

/// The delivery channels' share.
#[derive(Clone, Debug)]
pub(crate) struct ChannelsConfig {
    /// Whether the desktop's notification service is used where there is one.
    pub(crate) desktop: bool,
    /// The phone; `None` unless somebody set it up.
    pub(crate) phone: Option<Phone>,
}

impl Default for ChannelsConfig {
    fn default() -> Self {
        Self { desktop: true, phone: None }
    }
}

/// `[phone]`: a topic on an ntfy server, <https://ntfy.sh>. Whoever knows a topic's name can read it, so the names are
/// secrets, and what is sent is in the server's hands.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Phone {
    #[serde(default = "Phone::usual_server")]
    pub(crate) server: String,
    /// Where notices go.
    pub(crate) topic: String,
    /// Where the phone's buttons answer; without it there are no buttons.
    pub(crate) reply_topic: Option<String>,
    /// An access token of the server's, for topics that ask for one.
    pub(crate) token: Option<String>,
    /// Whether the message of a question leaves this machine too, and not only its title and options.
    #[serde(default)]
    pub(crate) body: bool,
}

impl Phone {
    fn usual_server() -> String {
        "https://ntfy.sh".to_owned()
    }

    /// Says what is wrong with it, in a sentence fragment. What a phone shows must not travel in clear text.
    pub(super) fn fault(&self) -> Option<String> {
        let here = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
        let loopback = here.iter().any(|start| {
            self.server
                .strip_prefix(start)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
        });
        if !self.server.starts_with("https://") && !loopback {
            return Some("phone: `server` must begin with https://".to_owned());
        }
        let fits = |topic: &str| {
            (1..=64).contains(&topic.len())
                && topic.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        if !fits(&self.topic) || self.reply_topic.as_deref().is_some_and(|topic| !fits(topic)) {
            return Some("phone: a topic has up to 64 letters, digits, - and _".to_owned());
        }
        if self.reply_topic.as_ref() == Some(&self.topic) {
            return Some("phone: `reply_topic` must be another topic than `topic`".to_owned());
        }
        None
    }
}

impl std::fmt::Debug for Phone {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Phone")
            .field("server", &self.server)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}
