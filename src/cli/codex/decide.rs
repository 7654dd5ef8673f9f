//! `adjutant codex --approvals`, `--approve`, `--deny`.

use std::process::ExitCode;

use crate::cli::output::{self, Failure};
use crate::codex::approval::Decision;
use crate::socket::person::Person;
use crate::visible::line;

/// Prints what Codex waits for.
pub(super) fn list(person: &mut Person, json: bool) -> Result<ExitCode, Failure> {
    let approvals = person.codex_approvals()?;
    if json {
        output::json(&approvals)?;
    } else if approvals.is_empty() {
        output::note("Codex waits for nothing");
    } else {
        let rows: Vec<[String; 3]> = approvals
            .into_iter()
            .map(|asked| [asked.id.clone(), line(&asked.line()), asked.thread])
            .collect();
        output::table(["APPROVAL", "ASKED", "THREAD"], 1, &rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says yes.
pub(super) fn approve(person: &mut Person, approval: &str, for_session: bool) -> Result<ExitCode, Failure> {
    let decision = if for_session { Decision::ApproveForSession } else { Decision::Approve };
    person.decide_codex(approval, decision)?;
    output::note(format!("approved {approval}"));
    Ok(ExitCode::SUCCESS)
}

/// Says no, and why.
pub(super) fn deny(person: &mut Person, approval: &str, note: Option<String>) -> Result<ExitCode, Failure> {
    person.decide_codex(approval, Decision::Deny { note })?;
    output::note(format!("denied {approval}"));
    Ok(ExitCode::SUCCESS)
}
