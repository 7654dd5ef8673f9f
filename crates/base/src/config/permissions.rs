//! Settings of the domain `permissions`: the switch, the wait, and the approval rules of the file.

use std::path::PathBuf;
use std::time::Duration;

use super::table::{Plain, PositiveSeconds, Row};

super::table::settings! {
    /// The settings of permission requests.
    #[derive(Clone, Debug)]
    pub struct PermissionsConfig, file File, section "permissions" {
        /// Whether hooks of clients ask the rules and the Inbox. With `false` each client asks by itself.
        enabled: bool = true, enabled as Plain;
        /// Maximum seconds that a permission request waits in the Inbox; then the client asks by itself.
        wait: Duration = Duration::from_secs(20), wait_seconds as PositiveSeconds;
    }
    others {
        /// The rules of the file.
        rules: Vec<ApprovalRule> = Vec::new();
    }
}

impl PermissionsConfig {
    /// Returns the number of rules as a setting.
    pub(super) fn rules_row(&self) -> Row {
        let about = "Number of approval rules that the file has.";
        Row::new("", "approval_rules", self.rules.len().to_string(), about)
    }
}

super::table::table! {
    /// One approval rule. Each condition that is set must hold.
    #[derive(Clone, Debug)]
    pub struct ApprovalRule {
        /// The name that decisions show; required.
        pub name: String,
        /// `allow`, `ask` or `deny`; required. Deny wins over ask, and ask over allow.
        pub decision: String,
        /// `claude`, `codex`, `copilot`, `gemini` or `opencode`.
        pub client: Option<String>,
        /// The client, or the command after its `cd`, works in this folder or below it. A rule that allows then covers no files outside of it for file tools.
        pub folder: Option<PathBuf>,
        /// The tool, as the client names it.
        pub tool: Option<String>,
        /// The words of one command, such as `cargo test`; with ` *` at the end it may have further words.
        pub command: Option<String>,
        /// The host of the address that is fetched.
        pub host: Option<String>,
        /// The file that is read or written, or a folder that it is in. A rule that allows a folder allows no hidden files in it.
        pub path: Option<PathBuf>,
        /// An instant such as `2026-12-31T00:00:00Z`, from which on the rule does not count.
        pub expires: Option<String>,
    }
}
