//! `adjutant codex approvals`, `approve`, `deny`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_codex::approval::Decision;
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

/// Prints what Codex waits for.
pub(super) fn list(args: &ApprovalsArgs, client: &mut ControlClient) -> Result<ExitCode, Failure> {
    let approvals = client.codex_approvals()?;
    if args.json {
        output::json(&json!({ "approvals": approvals }))?;
    } else if approvals.is_empty() {
        output::note("Codex has no pending approvals");
    } else {
        let rows: Vec<[String; 3]> = approvals
            .into_iter()
            .map(|asked| [asked.id.clone(), escape_line(&asked.line()), asked.thread])
            .collect();
        output::table(["APPROVAL", "ASKED", "THREAD"], 1, &rows)?;
    }
    Ok(ExitCode::SUCCESS)
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
