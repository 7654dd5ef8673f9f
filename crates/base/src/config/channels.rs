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
        /// The phone; `None` if it is not configured.
        phone: Option<Phone> = None;
    }
}

super::table::table! {
    /// `[phone]`: a topic on an ntfy server, <https://ntfy.sh>. Everybody who knows a topic's name can read it, so the
    /// names are secrets, and the server sees what is sent.
    #[derive(Clone)]
    pub struct Phone {
        /// The ntfy server.
        #[serde(default = "Phone::default_server")]
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

impl Phone {
    fn default_server() -> String {
        "https://ntfy.sh".to_owned()
    }

    /// Returns the keys with their values, secrets left out.
    pub(super) fn rows(phone: Option<&Self>) -> impl Iterator<Item = Row> {
        let secret = |set: bool| if set { SECRET.to_owned() } else { String::new() };
        let values = [
            phone.map(|phone| to_toml(&phone.server)).unwrap_or_default(),
            secret(phone.is_some()),
            secret(phone.is_some_and(|phone| phone.reply_topic.is_some())),
            secret(phone.is_some_and(|phone| phone.token.is_some())),
            phone.is_some_and(|phone| phone.body).to_string(),
        ];
        Self::KEYS.iter().zip(values).map(|((key, about), value)| Row::new("phone", key, value, about))
    }

    /// Returns what is wrong with it, in a sentence fragment; `None` if nothing is. What a phone shows must not travel
    /// in clear text.
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
