//! `adjutant codex show`.

use clap::Args;
use serde_json::json;

use super::{MAX_THREADS, as_json, resolve_full_id};
use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::{escape, escape_line};
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_codex::approval::ResolvedApproval;
use adjutant_codex::event::{Item, ItemKind, ItemState};
use adjutant_codex::{ListedThread, Query};
use adjutant_terminal::socket::control::ControlClient;

/// Maximum items of one answer.
const MAX_ITEMS: u32 = 1000;

/// Arguments of `adjutant codex show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The thread's id, or enough of its beginning
    thread: String,
    /// Show at most this many of the newest items
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ITEMS)))]
    items: u32,
    /// Show all items
    #[arg(long, conflicts_with = "items")]
    all: bool,
    /// Show older items: `next` of the previous page, as --json prints it
    #[arg(long, value_name = "NEXT", default_value_t = i64::MAX, hide_default_value = true)]
    after: i64,
}

/// Prints one thread.
pub(super) fn run(args: &ShowArgs, client: &mut ControlClient) -> Result<(), Failure> {
    let id = resolve_full_id(client, &args.thread)?;
    let thread = client.codex_thread(&id)?;
    let agents =
        client.codex_threads(Query { limit: MAX_THREADS, parent: id.clone(), ..Query::default() })?;
    let limit = if args.all { MAX_ITEMS } else { args.items };
    let mut items = client.codex_items(&id, args.after, limit)?;
    while let Some(oldest) = items.last().filter(|_| args.all) {
        let older = client.codex_items(&id, oldest.seq, MAX_ITEMS)?;
        if older.is_empty() {
            break;
        }
        items.extend(older);
    }
    items.reverse();
    if output::is_json() {
        let is_whole = args.all || items.len() < args.items as usize;
        let next = items.first().filter(|_| !is_whole).map(|item| item.seq);
        let items = items.iter().map(|numbered| json!(numbered.item)).collect();
        let agents: Vec<_> = agents.iter().map(|agent| &agent.row.id).collect();
        let head = output::with(as_json(&thread), json!({"agents": agents}));
        return output::json(&output::with(head, output::page(items, "item_id", None, next)));
    }
    let mut head = head(&thread);
    head.extend(
        agents.iter().map(|agent| format!("agent     {}  {}", agent.row.id, escape_line(&agent.row.title))),
    );
    head.iter().try_for_each(|line| output::data(line))?;
    items.iter().try_for_each(|numbered| output::data(&format!("\n{}", render(&numbered.item))))
}

fn head(ListedThread { row: thread, state }: &ListedThread) -> Vec<String> {
    let end = thread.last_end.as_ref().map(|end| format!(", {end}")).unwrap_or_default();
    let mut lines = vec![
        format!("thread    {}", thread.id),
        format!("state     {}{end}", state.name()),
        format!("folder    {}", escape_line(&thread.cwd)),
        format!("model     {}", escape_line(&thread.model)),
        format!("codex     {}, driven by its {}", escape_line(&thread.version), escape_line(&thread.backend)),
        format!("tokens    {}", thread.tokens),
        format!("context   {}", context(thread.context, thread.context_window)),
        format!("created   {}", stamp(instant(thread.created_at))),
        format!("updated   {}", stamp(instant(thread.updated_at))),
    ];
    if !thread.parent.is_empty() {
        lines.push(format!("agent of  {}", thread.parent));
    }
    if !thread.machine.is_empty() {
        lines.push(format!("machine   {}", escape_line(&thread.machine)));
    }
    lines.extend(thread.last_failure.as_ref().map(|failure| format!("failure   {}", escape_line(failure))));
    lines
}

/// Returns the used part of the model's context, in tokens.
fn context(used: i64, window: i64) -> String {
    match window {
        0 => format!("{used} tokens"),
        window => format!("{used} of {window} tokens, {}% left", (window - used).max(0) * 100 / window),
    }
}

/// Renders an item as text, after its kind.
fn render(item: &Item) -> String {
    let text = match &item.kind {
        ItemKind::Command { command, output, exit_code, .. } => {
            let code = exit_code.map(|code| format!("\n[exit code {code}]")).unwrap_or_default();
            let said = format!("$ {command}\n{}", output.trim_end());
            format!("{}{code}", said.trim_end())
        }
        ItemKind::Other { name, content } => match ResolvedApproval::read(content) {
            Some(resolved) => format!("{name}\n[{}]", resolved.outcome()),
            None => name.clone(),
        },
        kind => kind.text(),
    };
    let state = match (item.state, &item.kind) {
        (ItemState::Done | ItemState::Running, _)
        | (_, ItemKind::Command { exit_code: Some(_), .. } | ItemKind::User { .. }) => "",
        (ItemState::Failed, ItemKind::Agent { .. } | ItemKind::Reasoning { .. } | ItemKind::Plan { .. }) => {
            "\n[unfinished]"
        }
        (ItemState::Failed, _) => "\n[failed]",
        (ItemState::Declined, _) => "\n[declined]",
    };
    let text = format!("{}{state}", text.trim_end());
    // No text of a model looks like the next item.
    format!("{}  {}", item.kind.name(), escape(text.trim_end()).replace('\n', "\n  "))
}
