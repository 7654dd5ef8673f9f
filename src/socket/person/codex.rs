//! Codex sessions at the person's door.

mod live;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Out, Person, Refusal, written};
use crate::app::App;
use crate::codex::approval::{Approval, By, Decision};
use crate::codex::elsewhere::Elsewhere;
use crate::codex::happened::{End, Heard};
use crate::codex::log::Followed;
use crate::codex::settings::Start;
use crate::codex::{self, Begun, Codex, Listed};
use crate::popups::{Answer, Field};
pub(crate) use live::{Kept, Live, Sent, Stands};

/// Entries that are written at once.
const ENTRIES: usize = 500;

/// What a person does with sessions.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    /// Hands in a prompt and tells what happens until its turn has ended. Hanging up leaves the turn alone.
    Run(Box<Order>),
    /// Puts more into the running turn.
    Steer {
        thread: String,
        text: String,
    },
    /// Ends the running turn.
    Interrupt {
        thread: String,
    },
    /// What Codex waits for now.
    Approvals,
    Decide {
        approval: String,
        decision: Decision,
    },
    /// What is to be filled in for an approval that is a form.
    Form {
        approval: String,
    },
    /// Hands in what was.
    Fill {
        approval: String,
        answer: Answer,
    },
    List {
        text: String,
        limit: u32,
    },
    /// Threads that were not begun here.
    Elsewhere {
        limit: u32,
    },
    /// Hands in a prompt, and nothing more is told.
    Send(Box<Order>),
    /// Tells the list, and again whenever it may have changed, until the person hangs up.
    Watch {
        text: String,
        limit: u32,
    },
    /// Tells a thread as it goes on, from process to process, until the person hangs up.
    Follow {
        thread: String,
        /// How many of its ended items are told at first.
        items: u32,
    },
    /// Items before the one of this number, the newest first.
    Items {
        thread: String,
        before: i64,
        limit: u32,
    },
}

/// A prompt: the next of a thread, or the first of a new one.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Order {
    pub(crate) thread: Option<String>,
    pub(crate) start: Start,
}

/// A part of what [`Act::Run`] tells.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told {
    Thread {
        thread: String,
    },
    Entry {
        seq: u64,
        at: i64,
        heard: Box<Heard>,
    },
    /// So many entries came faster than they were read.
    Missed {
        entries: u64,
    },
}

/// How the turn ended.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Ended {
    pub(crate) thread: String,
    pub(crate) end: End,
    /// The agent's last message.
    pub(crate) said: String,
    pub(crate) failure: Option<String>,
}

/// A thread in a list; instants are milliseconds since 1970.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Shown {
    pub(crate) thread: String,
    pub(crate) title: String,
    pub(crate) state: String,
    pub(crate) last_end: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_failure: Option<String>,
    pub(crate) cwd: String,
    pub(crate) model: String,
    pub(crate) backend: String,
    pub(crate) version: String,
    pub(crate) tokens: i64,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
}

/// The client's calls. Each names the type that answers its act.
impl Person {
    /// Gives `told` what happens until the turn has ended.
    pub(crate) fn run_codex(&mut self, order: Order, told: impl FnMut(Told)) -> Result<Ended, super::Error> {
        self.follow(&super::Act::Codex(Act::Run(Box::new(order))), told)
    }

    pub(crate) fn steer_codex(&mut self, thread: &str, text: String) -> Result<(), super::Error> {
        self.ask(&super::Act::Codex(Act::Steer { thread: thread.to_owned(), text }))
    }

    pub(crate) fn interrupt_codex(&mut self, thread: &str) -> Result<(), super::Error> {
        self.ask(&super::Act::Codex(Act::Interrupt { thread: thread.to_owned() }))
    }

    pub(crate) fn codex_approvals(&mut self) -> Result<Vec<Approval>, super::Error> {
        self.ask(&super::Act::Codex(Act::Approvals))
    }

    pub(crate) fn decide_codex(&mut self, approval: &str, decision: Decision) -> Result<(), super::Error> {
        self.ask(&super::Act::Codex(Act::Decide { approval: approval.to_owned(), decision }))
    }

    pub(crate) fn codex_form(&mut self, approval: &str) -> Result<Vec<Field>, super::Error> {
        self.ask(&super::Act::Codex(Act::Form { approval: approval.to_owned() }))
    }

    pub(crate) fn fill_codex(&mut self, approval: &str, answer: Answer) -> Result<(), super::Error> {
        self.ask(&super::Act::Codex(Act::Fill { approval: approval.to_owned(), answer }))
    }

    pub(crate) fn codex_threads(&mut self, text: &str, limit: u32) -> Result<Vec<Shown>, super::Error> {
        self.ask(&super::Act::Codex(Act::List { text: text.to_owned(), limit }))
    }

    pub(crate) fn codex_elsewhere(&mut self, limit: u32) -> Result<Vec<Elsewhere>, super::Error> {
        self.ask(&super::Act::Codex(Act::Elsewhere { limit }))
    }
}

/// Does an act with calls of the room.
pub(super) async fn answer(app: &App, act: Act, out: &mut Out) -> Result<Value, Refusal> {
    let codex = &app.codex;
    match act {
        Act::Run(order) => written(&follow(live::begin(codex, *order).await?, out).await?),
        Act::Steer { thread, text } => {
            codex.steer(&thread, text).await?;
            written(&())
        }
        Act::Interrupt { thread } => {
            codex.interrupt(&thread).await?;
            written(&())
        }
        Act::Approvals => written(&codex.pending()),
        Act::Decide { approval, decision } => {
            let asked = pending(codex, &approval)?;
            codex.decide(&asked.thread, &approval, decision, By::Person).await?;
            written(&())
        }
        Act::Form { approval } => written(&App::approval_form(&pending(codex, &approval)?)),
        Act::Fill { approval, answer } => {
            let asked = pending(codex, &approval)?;
            let decision = app.approval_filled(&asked, answer).map_err(Refusal::new)?;
            codex.decide(&asked.thread, &approval, decision, By::Person).await?;
            written(&())
        }
        Act::List { text, limit } => written(&live::threads(codex, &text, limit).await?),
        Act::Elsewhere { limit } => {
            written(&codex.elsewhere(usize::try_from(limit).unwrap_or(usize::MAX)).await?)
        }
        Act::Send(order) => written(&live::send(codex, *order).await?),
        Act::Watch { text, limit } => live::watch(app, &text, limit, out).await,
        Act::Follow { thread, items } => live::follow(app, &thread, items, out).await,
        Act::Items { thread, before, limit } => {
            written(&live::items(codex, &thread, limit, Some(before)).await?)
        }
    }
}

fn pending(codex: &Codex, approval: &str) -> Result<Approval, codex::Error> {
    let asked = codex.pending().into_iter().find(|asked| asked.id == approval);
    asked.ok_or_else(|| codex::Error::NotAsked(approval.to_owned()))
}

/// Tells what happens until the turn has ended, and all of it.
async fn follow(begun: Begun, out: &mut Out) -> Result<Ended, Refusal> {
    let Begun { thread, session, mut after, mut answer, .. } = begun;
    out.part(&Told::Thread { thread: thread.clone() }).await?;
    let mut last = None;
    // The end is told behind everything that came before it.
    let mut until = u64::MAX;
    while after < until {
        tokio::select! {
            biased;
            ended = &mut answer, if last.is_none() => {
                until = session.log.last();
                last = Some(ended.ok());
            }
            followed = session.log.next(after, ENTRIES) => match followed {
                Followed::Entries(entries) => {
                    for entry in entries {
                        after = entry.seq;
                        let (seq, at) = (entry.seq, entry.at);
                        out.part(&Told::Entry { seq, at, heard: Box::new((*entry.heard).clone()) }).await?;
                    }
                }
                Followed::Missed(entries) => {
                    after += entries;
                    out.part(&Told::Missed { entries }).await?;
                }
                Followed::End => break,
            },
        }
    }
    let last = match last {
        Some(last) => last,
        None => answer.await.ok(),
    };
    let last = last.ok_or(codex::Error::Over)?;
    Ok(Ended { thread, end: last.end, said: last.said, failure: last.failure })
}

fn shown(listed: Listed) -> Shown {
    let Listed { row, state } = listed;
    Shown {
        thread: row.id,
        title: row.title,
        state: state.as_str().to_owned(),
        last_end: row.last_end,
        last_failure: row.last_failure,
        cwd: row.cwd,
        model: row.model,
        backend: row.back,
        version: row.version,
        tokens: row.tokens,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

impl From<codex::Error> for Refusal {
    fn from(error: codex::Error) -> Self {
        if let codex::Error::Store(source) = &error {
            tracing::error!(error = %source, "the store failed");
        }
        let hints = error.hint().into_iter().map(str::to_owned).collect();
        Self { hints, ..Self::new(error) }
    }
}
