//! Settings of the domain `questions`: limits, timeouts and retention.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::table::{Clients, Milliseconds, Plain, PositiveDays, PositiveMinutes, PositiveSeconds, Seconds};

crate::named_enum! {
    /// What is left out of lists, exports and notices of questions.
    Redact {
        Nothing = "nothing",
        /// What has the form of a secret, or a secret's name.
        Secrets = "secrets",
        /// Secrets, typed answers and notes.
        Answers = "answers",
    }
}

super::table::settings! {
    /// The settings of questions.
    #[derive(Clone, Debug)]
    pub struct QuestionsConfig, file File, section "questions" {
        /// Maximum bytes of a question's text.
        max_message_bytes: usize = 64 * 1024, max_message_bytes as Plain;
        /// Maximum number of options of one question.
        max_options: usize = 100, max_options as Plain;
        /// Maximum number of pending questions of one session of a client; over HTTP without sessions, of each name that
        /// a client gives itself.
        pending_per_client: u32 = 50, pending_per_client as Plain;
        /// Maximum number of pending questions of all clients.
        pending: u32 = 20_000, pending as Plain;
        /// Default minutes until a question expires.
        timeout: Duration = Duration::from_hours(24), timeout_minutes as PositiveMinutes;
        /// Maximum minutes until a question expires that a client may ask for.
        max_timeout: Duration = Duration::from_hours(7 * 24), max_timeout_minutes as PositiveMinutes;
        /// Days that a decided question is kept, with its texts and answers; at least 1. An answer that its client has not received is
        /// kept until then.
        keep: Duration = Duration::from_hours(90 * 24), keep_days as PositiveDays;
        /// What lists, exports and notices leave out: `nothing`, `secrets` (what looks like one), or `answers` (secrets, typed
        /// answers and notes). The page of a question shows it whole, and logs hold no text.
        redact: Redact = Redact::Secrets, redact as Plain;
        /// Milliseconds for which an answer can be undone before it is sent.
        undo: Duration = Duration::from_secs(3), undo_milliseconds as Milliseconds;
        /// Seconds that a question stays pending after its client has disconnected.
        disconnect_grace: Duration = Duration::from_mins(10), disconnect_grace_seconds as Seconds;
        /// Seconds without a request after which a client without a session is shown as no longer waiting.
        silence_timeout: Duration = Duration::from_mins(5), silent_seconds as PositiveSeconds;
        /// Seconds that a call waits for the answer before it returns a ticket.
        wait_timeout: Duration = Duration::from_secs(50), wait_seconds as Seconds;
        /// `wait_seconds` for clients whose name begins so.
        wait_timeout_by_client: BTreeMap<String, Duration> = BTreeMap::new(), wait_seconds_by_client as Clients;
        /// Seconds between two reads of a shared database for changes of other hubs. With `nats` in `[workers]` hubs wake each
        /// other at once.
        poll_interval: Duration = Duration::from_secs(1), poll_seconds as PositiveSeconds;
        /// Groups of users that a question can be for, as `@NAME`: `groups = { backend = ["ann", "bob"] }`.
        groups: BTreeMap<String, Vec<String>> = BTreeMap::new(), groups as Plain;
        /// The user or `@GROUP` that a question of a folder and those below it is for, unless the question says so itself:
        /// `for_folders = { "/srv/shop" = "@backend" }`. The longest folder counts.
        for_folders: BTreeMap<PathBuf, String> = BTreeMap::new(), for_folders as Plain;
        /// Clients whose own forms show questions as well.
        in_client: Vec<String> = Vec::new(), ask_in_client as Clients;
    }
    others {
        /// Bytes of a title.
        max_title_bytes: usize = 300;
        /// Fields of one question.
        max_fields: usize = 20;
        /// Bytes of an option's label or value.
        max_option_bytes: usize = 2 * 1024;
        /// Bytes of an answer's text or a note.
        max_answer_bytes: usize = 64 * 1024;
        /// The file with the verifier of the approval passphrase; `None` for a process without a home.
        passphrase: Option<PathBuf> = None;
    }
}

impl QuestionsConfig {
    /// Returns what is wrong with the groups and the folders of groups, if anything is.
    pub(super) fn fault(&self) -> Option<String> {
        if let Some(group) = self.groups.keys().find(|group| group.is_empty() || group.contains('|')) {
            return Some(format!(
                "`{group}` is not a name of a group: it has at least one letter and no `|`"
            ));
        }
        self.for_folders.iter().find_map(|(path, addressee)| {
            let folder = path.display();
            match addressee.strip_prefix('@') {
                _ if !path.is_absolute() => {
                    Some(format!("`{folder}` in `for_folders` is not an absolute path"))
                }
                Some(group) if !self.groups.contains_key(group) => {
                    Some(format!("`for_folders` names the group `{addressee}`, which `groups` does not have"))
                }
                None if addressee.is_empty() || addressee.contains('|') => {
                    Some(format!("`{folder}` in `for_folders` names no user"))
                }
                _ => None,
            }
        })
    }
}
