//! `/codex/{thread}`: one thread of Codex with its updates, a reply, an interrupt, its pending approvals and the
//! operations on it.

mod operations;

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::{self, State};
use axum::response::Response;
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Deserialize;

use super::threads;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, SignedForm};
use crate::{csrf, early_submit};
use adjutant_app::App;
use adjutant_codex as codex;
use adjutant_codex::Error;
use adjutant_codex::approval::{Approval, Decision, ResolvedApproval};
use adjutant_codex::event::{Item, ItemKind};
use adjutant_codex::patch::FileChange;
use adjutant_codex::rate_limits::LimitWindow;
use adjutant_codex::thread_options::Backend;
use adjutant_questions::Channel;

/// Items of one page.
const PAGE_SIZE: u32 = 100;

#[derive(Default, Deserialize)]
pub(crate) struct Part {
    /// The page ends before this item's number; without it the page has the last items.
    before: Option<i64>,
    /// The changes of all turns are shown, if it is there.
    diff: Option<String>,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    extract::Path(id): extract::Path<String>,
    Address(part): Address<Part>,
) -> Result<Response, Failure> {
    render(&app, &id, part, None).await
}

/// The error of a form, and its prompt, which stays in the form.
struct FormError {
    message: String,
    prompt: String,
}

/// Does the action of the pressed button, and shows the thread again.
pub(crate) async fn act(
    State(app): State<Arc<App>>,
    extract::Path(id): extract::Path<String>,
    SignedForm(fields): SignedForm,
) -> Result<Response, Failure> {
    let field = |name: &str| fields.get(name).trim();
    let prompt = field("prompt");
    let decide = async |decision| app.decide_approval(field("approval"), decision, Channel::Browser).await;
    if matches!(field("act"), "approve" | "session" | "always" | "deny" | "abort")
        && early_submit::is_too_early(field("made"))
    {
        let error = FormError { message: early_submit::TOO_EARLY.to_owned(), prompt: String::new() };
        return render(&app, &id, Part::default(), Some(error)).await;
    }
    let done = match field("act") {
        "reply" | "steer" if prompt.is_empty() => Ok(()),
        "reply" => app.codex.reply(&id, operations::turn(&fields)).await.map(drop),
        "steer" => app.codex.steer(&id, operations::turn(&fields)).await,
        "interrupt" => app.codex.interrupt(&id).await,
        "approve" => decide(Decision::Approve).await,
        "session" => decide(Decision::ApproveForSession).await,
        "always" => decide(Decision::ApproveAlways).await,
        "deny" => decide(Decision::Deny { note: fields.filled("note") }).await,
        "abort" => decide(Decision::Abort).await,
        _ => match operations::run(&app, &id, &fields).await {
            None => return Err(Failure::BadRequest("The form names an unknown action.")),
            Some(Ok(next)) => return Ok(page::redirect(&next)),
            Some(Err(error)) => Err(error),
        },
    };
    match done {
        Ok(()) => Ok(page::redirect(&format!("/codex/{}", page::path(&id)))),
        Err(Error::UnknownThread(id)) => Err(Failure::not_found("thread", id)),
        Err(error) => {
            let error = FormError { message: threads::error_text(&error), prompt: prompt.to_owned() };
            render(&app, &id, Part::default(), Some(error)).await
        }
    }
}

async fn render(
    app: &Arc<App>,
    id: &str,
    Part { before, diff }: Part,
    error: Option<FormError>,
) -> Result<Response, Failure> {
    let missing = |error| match error {
        Error::UnknownThread(id) => Failure::not_found("thread", id),
        other => Failure::internal(other),
    };
    // Read before the store, so that an item that ends meanwhile is in one of the two.
    let session = match app.codex.session(id) {
        Some(session) => {
            Some(session.snapshot().await.map_or_else(|| session.thread(), |(_, thread)| thread))
        }
        None => None,
    };
    let listed = app.codex.thread(id).await.map_err(missing)?;
    let wanted = codex::Query { limit: PAGE_SIZE, ..codex::Query::default() };
    let ended = app.codex.items(id, &wanted, before).await.map_err(missing)?;
    let running = session.iter().filter(|_| before.is_none()).flat_map(|thread| thread.running.values());
    let running = running.filter(|running| !ended.iter().any(|ended| ended.item.id == running.id));
    let agents = codex::Query { parent: id.to_owned(), ..wanted };
    let agents = app.codex.threads(&agents, None).await.map_err(missing)?;
    let changes = match diff {
        Some(_) => Some(app.codex.diff(id).await.map_err(missing)?),
        None => None,
    };
    let limits = session.iter().flat_map(|thread| &thread.limits.windows).map(LimitWindow::words);
    let left = session.iter().flat_map(|thread| thread.left.values());
    let folder = Path::new(&listed.row.cwd);
    let values = context! {
        csrf => csrf::token()?,
        changes,
        agents => Value::from(Serde(&agents)),
        limits => limits.collect::<Vec<_>>(),
        left => left.map(|running| item(running, None, folder)).collect::<Vec<_>>(),
        made => early_submit::render_time(SystemTime::now()),
        thread => Value::from(Serde(&listed)),
        fault => error.as_ref().map(|error| &error.message),
        typed => error.as_ref().map_or("", |error| &error.prompt),
        steers => listed.row.backend == Backend::AppServer.name(),
        busy => session.as_ref().is_some_and(|thread| thread.turn.is_some()),
        approvals => session.iter().flat_map(|thread| &thread.asked).map(|asked| approval(asked, folder)).collect::<Vec<_>>(),
        running => running.map(|running| item(running, None, folder)).collect::<Vec<_>>(),
        items => ended.iter().map(|ended| item(&ended.item, Some(ended.at), folder)).collect::<Vec<_>>(),
        older => page::last_of_full(&ended, PAGE_SIZE).map(|ended| ended.seq),
        latest => before.is_none(),
    };
    page::page(app, Place::Section("/codex"), "thread.html", values).await
}

/// Returns an item with a word for its kind, with its command or decision in a line, and with the files of its patch.
fn item(item: &Item, at: Option<i64>, folder: &Path) -> Value {
    let resolved;
    let changes = if let ItemKind::Patch { changes } = &item.kind { changes.as_slice() } else { &[] };
    let (word, line, note) = match &item.kind {
        ItemKind::User { .. } => ("Prompt", None, None),
        ItemKind::Agent { .. } => ("Codex", None, None),
        ItemKind::Reasoning { .. } => ("Thinking", None, None),
        ItemKind::Command { command, .. } => ("Command", Some(command.clone()), None),
        ItemKind::Patch { .. } => ("Patch", None, None),
        ItemKind::Tool { server, tool, arguments, .. } => {
            ("Tool", Some(format!("{server}.{tool} {arguments}")), None)
        }
        ItemKind::Plan { .. } => ("Plan", Some(item.kind.text()), None),
        ItemKind::Error { .. } => ("Error", None, None),
        ItemKind::Other { name, content } => {
            resolved = ResolvedApproval::read(content);
            match &resolved {
                Some(decision) => ("Decision", Some(decision.line()), Some(decision.outcome())),
                None => ("Notice", Some(name.clone()), None),
            }
        }
    };
    context! { word, line, note, at, changes => files(changes, folder), ..Value::from(Serde(item)) }
}

/// Returns files, each with its change as a diff and whether it is added, changed or deleted. A file outside the folder keeps its whole path, and a path is one line of
/// the diff, so that it cannot look like another line.
fn files(changes: &[FileChange], folder: &Path) -> Vec<Value> {
    let file = |change: &FileChange| {
        let path = Path::new(&change.path);
        let path = path.strip_prefix(folder).unwrap_or(path).display().to_string();
        let path = path.replace(char::is_control, "\u{fffd}");
        context! { diff => change.unified_as(&path), path, how => &change.how }
    };
    changes.iter().map(file).collect()
}

/// Returns a pending approval with everything that it allows.
fn approval(approval: &Approval, folder: &Path) -> Value {
    context! {
        id => &approval.id,
        title => approval.title(),
        details => Value::from(Serde(approval.details())),
        changes => files(approval.changes(), folder),
        words => approval.words().into_iter().map(Value::from).collect::<Vec<_>>(),
        form => approval.kind.is_form(),
        session => approval.choices.contains(&Decision::ApproveForSession),
        always => approval.choices.contains(&Decision::ApproveAlways),
        approve => approval.choices.contains(&Decision::Approve),
    }
}

#[cfg(test)]
mod tests {
    use super::{FileChange, Path, files};

    #[test]
    fn the_path_of_a_file_outside_the_folder_is_whole_and_one_line() {
        let change =
            |path: &str| FileChange { path: path.to_owned(), how: "add".to_owned(), diff: "x".to_owned() };
        let changes = ["/home/ann/shop/src/a.rs", "/etc/passwd", "/home/ann/shop/a\n+++ b/safe"].map(change);
        let files = files(&changes, Path::new("/home/ann/shop"));
        let diffs: Vec<String> =
            files.iter().map(|file| file.get_attr("diff").unwrap().to_string()).collect();
        let expected = ["src/a.rs", "/etc/passwd", "a\u{fffd}+++ b/safe"]
            .map(|path| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,1 @@\n+x\n"));
        assert_eq!(diffs, expected);
        assert!(files.iter().all(|file| file.get_attr("how").unwrap().to_string() == "add"), "{files:?}");
    }
}
