//! The messages that change the Codex view, its effects, and its actions on the hub.

use crossterm::event::{Event, KeyEvent};

use crate::socket::control::codex::{Prompt, SentPrompt, ThreadUpdate};
use adjutant_codex::approval::Decision;
use adjutant_codex::event::ItemKind;
use adjutant_codex::operations::Operation;
use adjutant_codex::thread_options::TurnInput;
use adjutant_codex::{ListedThread, NumberedItem};
use adjutant_questions::{Answer, Field};

/// Maximum items of one request.
pub(super) const MAX_ITEMS: u32 = 200;

/// A message that changes the state.
#[derive(Debug)]
pub(super) enum Message {
    Key(KeyEvent),
    Paste(String),
    /// Time has passed, or the window has another size.
    Tick,
    /// The keyboard is closed.
    InputClosed,
    /// The list for the search `number`.
    Threads {
        number: u64,
        threads: Vec<ListedThread>,
    },
    /// An update of the thread that was opened as `number`.
    Updated {
        number: u64,
        update: ThreadUpdate,
    },
    /// Whether the hub can be reached.
    Reached(Result<(), String>),
    Sent {
        prompt: String,
        sent: Result<SentPrompt, String>,
    },
    Older {
        thread: String,
        items: Result<Vec<NumberedItem>, String>,
    },
    /// The result of an action, shown as a sentence. `typed` returns to the input box if it failed.
    Done {
        typed: Option<String>,
        done: Result<&'static str, String>,
    },
    /// Whether the running turn took a prompt; one that it did not take returns to the input box.
    Steered {
        input: TurnInput,
        done: Result<(), String>,
    },
    /// The result of an operation: the thread that is shown then, if there is one.
    Operated(Result<Option<String>, String>),
    /// The answer to a question about a thread.
    Reported {
        thread: String,
        kind: Result<ItemKind, String>,
    },
    /// The fields of an approval.
    Form {
        approval: String,
        fields: Result<Vec<Field>, String>,
    },
}

impl Message {
    pub(super) fn from_event(event: Event) -> Self {
        match event {
            Event::Key(key) => Self::Key(key),
            Event::Paste(text) => Self::Paste(text),
            Event::FocusGained | Event::FocusLost | Event::Resize(..) | Event::Mouse(_) => Self::Tick,
        }
    }
}

/// Something to do outside of the state.
#[derive(Debug)]
pub(super) enum Effect {
    Run(Action),
    /// Follows another thread.
    Open {
        thread: String,
        number: u64,
    },
    /// Lists the threads that contain a text.
    Watch {
        text: String,
        number: u64,
    },
    Copy(String),
    /// Draws the whole screen again, because another program wrote on it.
    Redraw,
    Quit,
}

/// A question about a thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum Report {
    Diff,
    Plan,
    Limits,
}

/// An action on the hub.
#[derive(Debug)]
pub(super) enum Action {
    Send(Box<Prompt>),
    Steer {
        thread: String,
        input: TurnInput,
    },
    Interrupt {
        thread: String,
    },
    Decide {
        approval: String,
        decision: Decision,
    },
    Older {
        thread: String,
        before: i64,
        limit: u32,
    },
    Operate {
        thread: String,
        operation: Operation,
    },
    Report {
        thread: String,
        report: Report,
    },
    /// Requests the fields of an approval.
    Form {
        approval: String,
    },
    Fill {
        approval: String,
        answer: Answer,
    },
}
