//! What the popups room is configured with: limits of a question, and how long the desk waits.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The popups room's share.
#[derive(Clone, Debug)]
pub(crate) struct PopupsConfig {
    /// Bytes of a title, and of a message.
    pub(crate) largest_title: usize,
    pub(crate) largest_message: usize,
    /// Fields of one question, options of one field, bytes of a label or a value.
    pub(crate) most_fields: usize,
    pub(crate) most_options: usize,
    pub(crate) largest_option: usize,
    /// Bytes of an answer's text or a note.
    pub(crate) largest_answer: usize,
    /// Questions of one client, and of all, that wait for the person.
    pub(crate) pending_per_client: u32,
    pub(crate) pending: u32,
    /// How long a question waits when its asker did not say, and at most.
    pub(crate) timeout: Duration,
    pub(crate) longest_timeout: Duration,
    /// How long an answer may be taken back; it reaches its asker afterwards.
    pub(crate) undo: Duration,
    /// How long a question outlives the last client that waits for it, so that the client may come back.
    pub(crate) gone_grace: Duration,
    /// How long a client whose end nobody can see may be silent before the person is shown that nobody waits.
    pub(crate) silent: Duration,
    /// How long a decided question stays in the history.
    pub(crate) keep: Duration,
    /// How long a tool call blocks before it answers `pending` with a ticket; by the client's name where known better.
    pub(crate) patience: Duration,
    pub(crate) patience_of: BTreeMap<String, Duration>,
    /// Clients, by the beginning of their names in lower case or `*` for all, whose own forms show questions too.
    pub(crate) in_client: Vec<String>,
    /// The file with the verifier of the desk passphrase; `None` for a process without a home.
    pub(crate) passphrase: Option<PathBuf>,
}

impl Default for PopupsConfig {
    fn default() -> Self {
        Self {
            largest_title: 300,
            largest_message: 64 * 1024,
            most_fields: 20,
            most_options: 100,
            largest_option: 2 * 1024,
            largest_answer: 64 * 1024,
            pending_per_client: 50,
            pending: 20_000,
            timeout: Duration::from_hours(24),
            longest_timeout: Duration::from_hours(7 * 24),
            undo: Duration::from_secs(3),
            gone_grace: Duration::from_mins(10),
            silent: Duration::from_mins(5),
            keep: Duration::from_hours(90 * 24),
            patience: Duration::from_secs(50),
            patience_of: BTreeMap::new(),
            // What a client answers is the word of the program that runs the agent, and not every one that declares
            // forms draws them, so the person says whose are trusted.
            in_client: Vec::new(),
            passphrase: None,
        }
    }
}

/// `[popups]` of `config.toml`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    largest_message_bytes: Option<usize>,
    most_options: Option<usize>,
    pending_per_client: Option<u32>,
    pending: Option<u32>,
    timeout_minutes: Option<u64>,
    longest_timeout_minutes: Option<u64>,
    /// 0 lets every answer leave at once.
    undo_milliseconds: Option<u64>,
    gone_grace_seconds: Option<u64>,
    silent_seconds: Option<u64>,
    keep_days: Option<u64>,
    patience_seconds: Option<u64>,
    /// By the beginning of a client's name.
    #[serde(default)]
    patience_seconds_of: BTreeMap<String, u64>,
    /// By the beginning of a client's name, or `*`.
    #[serde(default)]
    ask_in_client: Vec<String>,
}

impl File {
    pub(super) fn apply(self, popups: &mut PopupsConfig) {
        fn set<T>(place: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *place = value;
            }
        }
        let minutes = |value: Option<u64>| value.map(|minutes| Duration::from_mins(minutes.max(1)));
        set(&mut popups.largest_message, self.largest_message_bytes);
        set(&mut popups.most_options, self.most_options);
        set(&mut popups.pending_per_client, self.pending_per_client);
        set(&mut popups.pending, self.pending);
        set(&mut popups.longest_timeout, minutes(self.longest_timeout_minutes));
        set(&mut popups.timeout, minutes(self.timeout_minutes));
        set(&mut popups.undo, self.undo_milliseconds.map(Duration::from_millis));
        set(&mut popups.gone_grace, self.gone_grace_seconds.map(Duration::from_secs));
        set(&mut popups.silent, self.silent_seconds.map(|seconds| Duration::from_secs(seconds.max(1))));
        let days = |days: u64| Duration::from_hours(days.clamp(1, 100_000) * 24);
        set(&mut popups.keep, self.keep_days.map(days));
        set(&mut popups.patience, self.patience_seconds.map(Duration::from_secs));
        let patience = self.patience_seconds_of.into_iter();
        popups.patience_of = patience
            .map(|(client, seconds)| (client.to_ascii_lowercase(), Duration::from_secs(seconds)))
            .collect();
        popups.in_client = self.ask_in_client.iter().map(|client| client.to_ascii_lowercase()).collect();
    }
}
