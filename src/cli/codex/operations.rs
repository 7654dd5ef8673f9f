//! `adjutant codex fork`, `revert`, `rename` and the other operations on a thread; what Codex can do; the limits.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::resolve_full_id;
use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::{escape, escape_line};
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_codex::operations::{Operation, TurnRef};
use adjutant_terminal::socket::control::ControlClient;

/// A thread.
#[derive(Debug, Args)]
pub(super) struct ThreadArgs {
    /// The thread's id, or enough of its beginning
    thread: String,
}

/// Operations on threads, and reports.
#[derive(Debug, Subcommand)]
pub(super) enum OperationCommand {
    /// Show the last plan of a thread
    Plan(ThreadArgs),
    /// Show the changes of all turns of a thread, in order, as one diff
    Diff(ThreadArgs),
    /// Commit the files in the worktree of a thread, on a new branch
    Commit {
        /// The thread's id, or enough of its beginning
        thread: String,
        /// The message [default: the title of the thread]
        #[arg(long, short, value_name = "TEXT")]
        message: Option<String>,
    },
    /// Make a new thread with the same history
    Fork {
        /// The thread's id, or enough of its beginning
        thread: String,
        /// Leave this turn and all later ones out
        #[arg(long, value_name = "TURN", conflicts_with = "turns")]
        before: Option<String>,
        /// Leave this many of the last turns out
        #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
        turns: Option<u16>,
    },
    /// Revert the last turns of a thread; files stay as they are
    Revert {
        /// The thread's id, or enough of its beginning
        thread: String,
        /// Take this turn and all later ones back
        #[arg(long, value_name = "TURN", conflicts_with = "turns")]
        before: Option<String>,
        /// Take this many of the last turns back [default: 1]
        #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
        turns: Option<u16>,
    },
    /// Give a thread a name
    Rename {
        /// The thread's id, or enough of its beginning
        thread: String,
        /// The name
        name: String,
    },
    /// Move a thread to the archived ones
    Archive(ThreadArgs),
    /// Restore an archived thread
    Unarchive(ThreadArgs),
    /// Delete a thread, in Codex and in the hub
    Delete {
        /// The thread's id, or enough of its beginning
        thread: String,
        /// Delete it without a question
        #[arg(long)]
        yes: bool,
    },
    /// End the commands that continue after their turns
    EndCommands(ThreadArgs),
    /// Show the rate limits of the account that Codex is logged in with
    Limits,
    /// Show what the installed Codex can do, and since which version
    Capabilities,
}

/// Runs an operation or a report.
pub(super) fn run(command: OperationCommand, client: &mut ControlClient) -> Result<(), Failure> {
    let turn = |before: Option<String>, turns: Option<u16>| {
        before.map(TurnRef::Id).or(turns.map(|count| TurnRef::FromEnd(usize::from(count))))
    };
    let (thread, operation, done) = match command {
        OperationCommand::Fork { thread, before, turns } => {
            (thread, Operation::Fork { before: turn(before, turns) }, "forked as")
        }
        OperationCommand::Revert { thread, before, turns } => {
            let before = turn(before, turns).unwrap_or(TurnRef::FromEnd(1));
            (thread, Operation::Revert { before }, "reverted")
        }
        OperationCommand::Rename { thread, name } => (thread, Operation::Rename { name }, "renamed"),
        OperationCommand::Archive(ThreadArgs { thread }) => (thread, Operation::Archive, "archived"),
        OperationCommand::Unarchive(ThreadArgs { thread }) => (thread, Operation::Unarchive, "unarchived"),
        OperationCommand::Delete { thread, yes } => {
            if !yes {
                return Err(Failure::usage("deleting a thread cannot be undone")
                    .hint(format!("adjutant codex delete {thread} --yes")));
            }
            (thread, Operation::Delete, "deleted")
        }
        OperationCommand::EndCommands(ThreadArgs { thread }) => {
            (thread, Operation::EndCommands, "ended the commands of")
        }
        OperationCommand::Commit { thread, message } => return commit(&thread, message, client),
        OperationCommand::Plan(ThreadArgs { thread }) => return plan(&thread, client),
        OperationCommand::Diff(ThreadArgs { thread }) => return diff(&thread, client),
        OperationCommand::Limits => return limits(client),
        OperationCommand::Capabilities => return capabilities(client),
    };
    let thread = resolve_full_id(client, &thread)?;
    let id = client.operate_codex(&thread, operation)?;
    output::changed(format!("{done} {id}"), &json!({"id": id, "thread_id": id}))
}

fn commit(thread: &str, message: Option<String>, client: &mut ControlClient) -> Result<(), Failure> {
    let thread = resolve_full_id(client, thread)?;
    let message = match message {
        Some(message) => message,
        None => client.codex_thread(&thread)?.row.title,
    };
    let (commit, branch) = client.commit_codex(&thread, message)?;
    output::changed(
        format!("committed {commit} on {}", escape_line(&branch)),
        &json!({"id": thread, "thread_id": thread, "commit": commit, "branch": branch}),
    )
}

fn plan(thread: &str, client: &mut ControlClient) -> Result<(), Failure> {
    let thread = resolve_full_id(client, thread)?;
    let plan = client.codex_plan(&thread)?;
    if output::is_json() {
        let plan = plan.map_or(Value::Null, |item| json!(item));
        return output::json(&json!({"id": thread, "thread_id": thread, "plan": plan}));
    }
    if let Some(item) = plan {
        output::data(&escape(&item.kind.text()))
    } else {
        output::note("the thread has no plan");
        Ok(())
    }
}

fn diff(thread: &str, client: &mut ControlClient) -> Result<(), Failure> {
    let thread = resolve_full_id(client, thread)?;
    let diff = client.codex_diff(&thread)?;
    if output::is_json() {
        return output::json(&json!({"id": thread, "thread_id": thread, "diff": diff}));
    }
    if diff.is_empty() {
        output::note("the thread has not changed a file by a patch");
    }
    output::text(diff.trim_end())
}

fn limits(client: &mut ControlClient) -> Result<(), Failure> {
    let limits = client.codex_limits()?;
    if output::is_json() {
        let windows = limits.windows.iter().map(|window| {
            let resets_at = window.resets_at.map(|at| stamp(instant(at)));
            json!({
                "id": window.name, "used_percent": window.used_percent, "minutes": window.minutes,
                "resets_at": resets_at,
            })
        });
        let page = output::list(windows.collect(), "limit_id");
        return output::json(&output::with(json!({"plan": limits.plan}), page));
    }
    if limits.windows.is_empty() {
        output::note("Codex reports no limits");
    }
    limits.windows.iter().try_for_each(|window| {
        let resets = window.resets_at.map(|at| format!(", until {}", stamp(instant(at)))).unwrap_or_default();
        output::data(&escape_line(&format!("{}  {}{resets}", window.name, window.words())))
    })
}

fn capabilities(client: &mut ControlClient) -> Result<(), Failure> {
    let all = client.codex_capabilities()?;
    if output::is_json() {
        let items = all.capabilities.iter().map(
            |one| json!({"id": one.name, "about": one.about, "offered": one.offered, "since": one.since}),
        );
        let head = json!({"version": all.version, "backend": all.backend});
        return output::json(&output::with(head, output::list(items.collect(), "capability_id")));
    }
    output::note(format!("codex {} over its {}", escape_line(&all.version), all.backend));
    let rows: Vec<_> = all
        .capabilities
        .iter()
        .map(|one| {
            let offered = match one.offered {
                Some(true) => "yes",
                Some(false) => "no",
                None => "not tested",
            };
            [one.name.clone(), offered.to_owned(), one.since.clone(), one.about.clone()]
        })
        .collect();
    output::table(["CAPABILITY", "OFFERED", "SINCE", "CODEX CAN"], 3, &rows, "")
}
