//! `adjutant codex approvals`, `approve`, `deny`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::{escape, escape_line};
use adjutant_codex::approval::{Approval, Decision};
use adjutant_terminal::socket::control::ControlClient;

/// Arguments of `adjutant codex approvals`.
#[derive(Debug, Args)]
pub(super) struct ApprovalsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Arguments of `adjutant codex approve`.
#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    /// The approval, as `adjutant codex approvals` shows it
    approval: String,
    /// Approve the same request for the rest of the session
    #[arg(long)]
    for_session: bool,
}

/// Arguments of `adjutant codex deny`.
#[derive(Debug, Args)]
pub(super) struct DenyArgs {
    /// The approval, as `adjutant codex approvals` shows it
    approval: String,
    /// Reason, which Codex gets if its version supports it
    why: Option<String>,
}

/// Prints the pending approvals.
pub(super) fn list(args: &ApprovalsArgs, client: &mut ControlClient) -> Result<ExitCode, Failure> {
    let approvals = client.codex_approvals()?;
    if args.json {
        output::json(&json!({ "approvals": approvals }))?;
    } else if approvals.is_empty() {
        output::note("Codex has no pending approvals");
    } else {
        approvals.iter().flat_map(lines).try_for_each(|line| output::data(&line))?;
    }
    Ok(ExitCode::SUCCESS)
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

/// Says yes.
pub(super) fn approve(args: &ApproveArgs, client: &mut ControlClient) -> Result<ExitCode, Failure> {
    let decision = if args.for_session { Decision::ApproveForSession } else { Decision::Approve };
    client.decide_codex(&args.approval, decision)?;
    output::note(format!("approved {}", args.approval));
    Ok(ExitCode::SUCCESS)
}

/// Says no, and why.
pub(super) fn deny(args: DenyArgs, client: &mut ControlClient) -> Result<ExitCode, Failure> {
    client.decide_codex(&args.approval, Decision::Deny { note: args.why })?;
    output::note(format!("denied {}", args.approval));
    Ok(ExitCode::SUCCESS)
}
