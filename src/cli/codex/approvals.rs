//! `adjutant codex approvals`.

use serde_json::json;

use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::{escape, escape_line};
use adjutant_codex::approval::Approval;
use adjutant_terminal::socket::control::ControlClient;

/// Prints the pending approvals.
pub(super) fn list(client: &mut ControlClient) -> Result<(), Failure> {
    let approvals = client.codex_approvals()?;
    if output::is_json() {
        let approvals = approvals.iter().map(|approval| json!(approval)).collect();
        return output::json(&output::list(approvals, "approval_id"));
    }
    if approvals.is_empty() {
        output::note("Codex has no pending approvals");
    }
    approvals.iter().flat_map(lines).try_for_each(|line| output::data(&line))
}

/// Returns an approval with everything that it allows.
fn lines(approval: &Approval) -> Vec<String> {
    let mut lines = vec![escape_line(&format!("{}  {}", approval.id, approval.title()))];
    let mut add = |label: &str, text: &str| {
        lines.push(format!("  {label}: {}", escape(text).replace('\n', "\n    ")));
    };
    add("thread", &approval.thread);
    for detail in approval.details() {
        add(detail.label, &detail.text);
    }
    for change in approval.changes() {
        add(&escape_line(&change.how), &format!("{}\n{}", escape_line(&change.path), change.diff.trim_end()));
    }
    for words in approval.words() {
        add("in its words", words);
    }
    lines
}
