//! Settings of the desktop and phone channels.

use super::table::{Plain, Row, SECRET, Table, to_toml};

super::table::settings! {
    /// The settings of delivery channels.
    #[derive(Clone, Debug)]
    pub struct ChannelsConfig, file File, section "notify" {
        /// Whether pending questions are shown as desktop notifications.
        desktop: bool = true, desktop as Plain;
    }
    others {
        /// The ntfy channel; `None` if it is not configured.
        ntfy: Option<NtfyConfig> = None;
    }
}

super::table::table! {
    /// `[ntfy]`: a topic on an ntfy server, <https://ntfy.sh>. Everybody who knows a topic's name can read it, so the
    /// names are secrets, and the server can read what is sent.
    #[derive(Clone)]
    pub struct NtfyConfig {
        /// The ntfy server.
        #[serde(default = "NtfyConfig::default_server")]
        pub server: String,
        /// Topic that notifications are sent to.
        pub topic: String,
        /// Topic on which the buttons of a notification answer.
        pub reply_topic: Option<String>,
        /// Access token of the ntfy server.
        pub token: Option<String>,
        /// Whether the text of a question is sent to the ntfy server.
        #[serde(default)]
        pub body: bool,
    }
}

impl NtfyConfig {
    fn default_server() -> String {
        "https://ntfy.sh".to_owned()
    }

    /// Returns the keys with their values, secrets left out.
    pub(super) fn rows(ntfy: Option<&Self>) -> impl Iterator<Item = Row> {
        let secret = |set: bool| if set { SECRET.to_owned() } else { String::new() };
        let values = [
            ntfy.map(|ntfy| to_toml(&ntfy.server)).unwrap_or_default(),
            secret(ntfy.is_some()),
            secret(ntfy.is_some_and(|ntfy| ntfy.reply_topic.is_some())),
            secret(ntfy.is_some_and(|ntfy| ntfy.token.is_some())),
            ntfy.is_some_and(|ntfy| ntfy.body).to_string(),
        ];
        Self::KEYS.iter().zip(values).map(|((key, about), value)| Row::new("ntfy", key, value, about))
    }

    /// Returns the reason why the section is invalid, as a sentence fragment. Text of questions must not travel in
    /// clear text.
    pub(super) fn invalid_reason(&self) -> Option<String> {
        let loopback_servers = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
        let loopback = loopback_servers.iter().any(|start| {
            self.server
                .strip_prefix(start)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
        });
        if !self.server.starts_with("https://") && !loopback {
            return Some("ntfy: `server` must begin with https://".to_owned());
        }
        let is_valid = |topic: &str| {
            (1..=64).contains(&topic.len())
                && topic.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        if !is_valid(&self.topic) || self.reply_topic.as_deref().is_some_and(|topic| !is_valid(topic)) {
            return Some("ntfy: a topic has up to 64 letters, digits, - and _".to_owned());
        }
        if self.reply_topic.as_ref() == Some(&self.topic) {
            return Some("ntfy: `reply_topic` must differ from `topic`".to_owned());
        }
        None
    }
}

impl std::fmt::Debug for NtfyConfig {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Phone")
            .field("server", &self.server)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}
