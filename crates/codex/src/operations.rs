//! Operations on a thread outside of its turns: Codex does each, and the store follows.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::backend::{external_thread, history};
use super::capabilities::{
    ARCHIVE, Capabilities, Capability, DELETE, FORK, FORK_EARLIER, IMPORT, LIMITS, RENAME, REVERT, of,
};
use super::event::{End, Item, ItemKind, ItemState};
use super::one_off_process::OneOffProcess;
use super::persistence::{item_row, stored_diff, title};
use super::rate_limits::RateLimits;
use super::thread_options::{Backend, ThreadOptions};
use super::worktrees::remove_worktree;
use super::{Codex, Error, NumberedItem, now};
use adjutant_base::events::Event;
use adjutant_store::codex::{self as rows, Change};

/// An operation on a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Makes a new thread with the same history, or with the part before a turn.
    Fork {
        before: Option<TurnRef>,
    },
    /// Takes a turn and all later ones back. Files stay as they are.
    Revert {
        before: TurnRef,
    },
    Rename {
        name: String,
    },
    Archive,
    Unarchive,
    /// Deletes the thread, in Codex and in the store.
    Delete,
    /// Ends the commands that continue after their turns.
    EndCommands,
}

/// A turn of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnRef {
    /// Its id.
    Id(String),
    /// Counts from the end; 1 is the last turn.
    FromEnd(usize),
}

impl Operation {
    /// Returns the required capability, and the end of the sentence "codex did not …" for a failure. `None` for an
    /// operation that each version does in some way.
    fn needs(&self) -> Option<(Capability, &'static str)> {
        Some(match self {
            Self::Fork { before: None } => (FORK, "fork the thread"),
            Self::Fork { before: Some(_) } => (FORK_EARLIER, "fork the thread"),
            Self::Revert { .. } => (REVERT, "revert the thread"),
            Self::Rename { .. } => (RENAME, "rename the thread"),
            Self::Archive => (ARCHIVE, "archive the thread"),
            Self::Unarchive => (ARCHIVE, "unarchive the thread"),
            Self::Delete => (DELETE, "delete the thread"),
            Self::EndCommands => return None,
        })
    }

    /// Does the operation. Returns Codex's description of the thread, if there is one.
    async fn run(&self, codex: &mut OneOffProcess, thread: &str) -> Result<Value, Error> {
        let mut params = json!({"threadId": thread});
        let method = match self {
            Self::Fork { before } => {
                if let Some(before) = before {
                    let turns = codex.call("thread/read", &with(&params, "includeTurns", true)).await?;
                    params["beforeTurnId"] = before.find(&turns)?.0.into();
                }
                "thread/fork"
            }
            Self::Revert { before } => {
                let turns = codex.call("thread/resume", &params).await?;
                let (id, count) = before.find(&turns)?;
                // Threads of 0.153 and later name the turn, older ones count; a thread keeps its kind.
                if turns["thread"]["historyMode"] == "paginated" {
                    params["beforeTurnId"] = id.into();
                    "thread/revert"
                } else {
                    params["numTurns"] = count.into();
                    "thread/rollback"
                }
            }
            Self::Rename { name } => {
                params["name"] = name.as_str().into();
                "thread/name/set"
            }
            Self::Archive => "thread/archive",
            Self::Unarchive => "thread/unarchive",
            Self::Delete => "thread/delete",
            Self::EndCommands => return Ok(Value::Null),
        };
        Ok(codex.call(method, &params).await?["thread"].take())
    }
}

impl TurnRef {
    /// Returns the id of the turn, and the number of turns from it to the last one.
    fn find(&self, result: &Value) -> Result<(String, usize), Error> {
        let turns = result["thread"]["turns"].as_array().map(Vec::as_slice).unwrap_or_default();
        let at = match self {
            Self::Id(id) => turns.iter().position(|turn| turn["id"] == **id),
            Self::FromEnd(count) => turns.len().checked_sub(*count).filter(|at| *at < turns.len()),
        };
        let at = at.ok_or_else(|| match self {
            Self::Id(id) => Error::UnknownTurn(id.clone()),
            Self::FromEnd(_) => Error::FewTurns(turns.len()),
        })?;
        Ok((turns[at]["id"].as_str().unwrap_or_default().to_owned(), turns.len() - at))
    }
}

/// Returns the changes of the files in a turn of a history, as one diff.
fn diff_of(turn: &str, items: &[(Option<i64>, Item)], folder: &str) -> String {
    let items = items.iter().map(|(_, item)| item);
    let done = items.filter(|item| item.turn.as_deref() == Some(turn) && item.state == ItemState::Done);
    let changes = done.flat_map(|item| match &item.kind {
        ItemKind::Patch { changes } => changes.as_slice(),
        _ => &[],
    });
    changes.map(|change| change.unified(folder)).collect()
}

/// Returns the changes that begin and end a turn of a history. `at` is the time of the import.
fn past_turn(thread: &str, turn: &Value, diff: &str, at: i64) -> [Change; 2] {
    let (thread, id) = (thread.to_owned(), turn["id"].as_str().unwrap_or_default().to_owned());
    let started = turn["startedAt"].as_i64().map_or(0, |seconds| seconds.saturating_mul(1000));
    let end = End::of_status(turn["status"].as_str()).name().to_owned();
    [
        Change::TurnStarted { thread: thread.clone(), turn: id.clone(), at: started },
        Change::TurnEnded {
            thread,
            turn: id,
            end,
            failure: None,
            tokens: 0,
            context: (0, 0),
            diff: stored_diff(diff),
            at,
        },
    ]
}

fn with(params: &Value, name: &str, value: impl Into<Value>) -> Value {
    let mut params = params.clone();
    params[name] = value.into();
    params
}

impl Codex {
    /// Does an operation on a thread of the store. Returns the thread that results: the new one of a fork, otherwise
    /// the same.
    pub async fn operate(&self, thread: &str, operation: Operation) -> Result<String, Error> {
        let (codex, id) = (self.clone(), thread.to_owned());
        // A separate task, so that the store follows what Codex did even if the caller leaves.
        let done = self.0.tasks.spawn(async move { codex.carry_out(id, operation).await });
        done.await.map_err(|_| Error::Over)?
    }

    /// Returns the row of a thread that the Codex of this machine has.
    pub(super) async fn row_here(&self, thread: &str) -> Result<rows::Thread, Error> {
        let row = rows::thread(&self.0.store, thread).await?;
        let row = row.ok_or_else(|| Error::UnknownThread(thread.to_owned()))?;
        if row.machine.is_empty() || row.machine == self.0.store.machine() {
            Ok(row)
        } else {
            Err(Error::OtherMachine(row.id))
        }
    }

    async fn carry_out(&self, id: String, operation: Operation) -> Result<String, Error> {
        let thread = id.as_str();
        let row = self.row_here(thread).await?;
        if matches!(&operation, Operation::Rename { name } if name.trim().is_empty()) {
            return Err(Error::NoName);
        }
        let Some((capability, what)) = operation.needs() else {
            return match self.session(thread) {
                Some(session) => session.end_commands().await.map(|()| id),
                None => Ok(id),
            };
        };
        capability.require(&self.installed().await?)?;
        let worktree =
            if operation == Operation::Delete { self.removable_worktree(&row).await? } else { None };
        let lock = self.thread_lock(thread);
        let _held = lock.lock().await;
        // Codex lets only one process write to a thread.
        if let Some(session) = self.session(thread) {
            match session.end().await {
                Ok(()) | Err(Error::Over) => {}
                Err(error) => return Err(error),
            }
        }
        let (asked, about) = (operation.clone(), id.clone());
        let done = self
            .with_process(what, move |codex| Box::pin(async move { asked.run(codex, &about).await }))
            .await;
        let done = match (done, &operation) {
            // Deleted before: the answer was lost, or another program deleted it.
            (Err(Error::NotDone { .. }), Operation::Delete)
                if matches!(self.read(&id, false).await, Err(Error::NotDone { .. })) =>
            {
                Value::Null
            }
            (done, _) => done?,
        };
        let note = |text: String| {
            let item = Item {
                id: format!("operation-{}", now()),
                turn: None,
                state: ItemState::Done,
                kind: ItemKind::Other { name: text, content: Value::Null },
            };
            Change::Item(item_row(&id, &item, now()))
        };
        let thread = id.clone();
        let changes = match operation {
            Operation::Fork { .. } => {
                let settings = serde_json::from_str(&row.settings).unwrap_or_default();
                let new = self.import(&done, settings).await?;
                let title = Change::Title { thread: new.clone(), title: row.title };
                rows::record(&self.0.store, vec![title, note(format!("forked as {new}"))]).await?;
                self.0.events.send(Event::CodexChanged);
                return Ok(new);
            }
            Operation::Revert { before } => {
                let (turns, them) = match before {
                    TurnRef::Id(turn) => (format!("the turn {turn} and those after it were"), "them"),
                    TurnRef::FromEnd(1) => ("the last turn was".to_owned(), "it"),
                    TurnRef::FromEnd(count) => (format!("the last {count} turns were"), "them"),
                };
                vec![note(format!("{turns} reverted; the model no longer knows {them}"))]
            }
            Operation::Rename { name } => vec![Change::Title { thread, title: title(&name) }],
            Operation::Archive => vec![Change::Archived { thread, archived: true }],
            Operation::Unarchive => vec![Change::Archived { thread, archived: false }],
            Operation::Delete => vec![Change::Deleted { thread }],
            Operation::EndCommands => Vec::new(),
        };
        rows::record(&self.0.store, changes).await?;
        if let Some(worktree) = worktree {
            remove_worktree(worktree).await;
        }
        self.0.events.send(Event::CodexChanged);
        Ok(id)
    }

    /// Returns the last plan of a thread, finished or not.
    pub async fn plan(&self, thread: &str) -> Result<Option<Item>, Error> {
        let is_plan = |item: &Item| matches!(item.kind, ItemKind::Plan { .. });
        let running =
            self.session(thread).and_then(|session| session.thread().running.into_values().find(is_plan));
        if running.is_some() {
            return Ok(running);
        }
        self.thread(thread).await?;
        let row = rows::last_of_kind(&self.0.store, thread, "plan").await?;
        Ok(row.map(|row| NumberedItem::from(row).item))
    }

    /// Returns the changes of all turns of a thread, in order, as one diff: a file that several turns changed is in it
    /// several times.
    pub async fn diff(&self, thread: &str) -> Result<String, Error> {
        let session = self.session(thread);
        if let Some(session) = &session {
            let _ = session.snapshot().await;
        }
        self.thread(thread).await?;
        let stored = rows::diffs(&self.0.store, thread).await?.into_iter().map(|(_, diff)| diff);
        let running = session.map(|session| session.thread()).filter(|thread| thread.turn.is_some());
        Ok(stored.chain(running.map(|thread| thread.diff)).collect())
    }

    /// Returns what the installed Codex can do.
    pub async fn capabilities(&self) -> Result<Capabilities, Error> {
        Ok(of(&self.installed().await?))
    }

    /// Returns the rate limits of the account that Codex is logged in with.
    pub async fn rate_limits(&self) -> Result<RateLimits, Error> {
        LIMITS.require(&self.installed().await?)?;
        let answer = self
            .with_process("give the rate limits", |codex| {
                Box::pin(async move { codex.call("account/rateLimits/read", &Value::Null).await })
            })
            .await?;
        Ok(RateLimits::parse(&answer["rateLimits"]))
    }

    /// Returns Codex's description of a thread, `with_turns` or without.
    pub(super) async fn read(&self, thread: &str, with_turns: bool) -> Result<Value, Error> {
        IMPORT.require(&self.installed().await?)?;
        let params = json!({"threadId": thread, "includeTurns": with_turns});
        let read = self.with_process("give the thread", move |codex| {
            Box::pin(async move { codex.call("thread/read", &params).await })
        });
        Ok(read.await?["thread"].take())
    }

    /// Stores a thread that Codex describes, with its history. Returns its id.
    pub(super) async fn import(
        &self,
        described: &Value,
        mut settings: ThreadOptions,
    ) -> Result<String, Error> {
        let about = external_thread(described);
        let at = now();
        settings.turn = about.title.clone().into();
        let mut changes = vec![Change::Thread(rows::NewThread {
            id: about.thread.clone(),
            backend: Backend::AppServer.name().to_owned(),
            version: self.installed().await?.version,
            cwd: about.cwd,
            model: described["model"].as_str().unwrap_or_default().to_owned(),
            title: title(&about.title),
            settings: serde_json::to_string(&settings).unwrap_or_default(),
            parent: String::new(),
            at,
        })];
        let items = history(described);
        let folder = described["cwd"].as_str().unwrap_or_default();
        for turn in described["turns"].as_array().into_iter().flatten() {
            let id = turn["id"].as_str().unwrap_or_default();
            changes.extend(past_turn(&about.thread, turn, &diff_of(id, &items, folder), at));
        }
        changes.extend(
            items
                .iter()
                .map(|(ended, item)| Change::Item(item_row(&about.thread, item, ended.unwrap_or(at)))),
        );
        rows::record(&self.0.store, changes).await?;
        Ok(about.thread)
    }
}
