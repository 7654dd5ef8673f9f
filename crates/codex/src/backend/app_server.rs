//! `codex app-server`: the protocol of Codex's own clients, JSON-RPC without the `jsonrpc` member.

mod items;

use serde_json::{Value, json};

use super::super::approval::{Approval, Decision, Question, Wants};
use super::super::error::Error;
use super::super::happened::{Change, End, Happened, Heard, Item, Kind, Level, Notified, Ready, Usage};
use super::super::peer::{self, Fault, Ids, Message};
use super::super::settings::Start;
use super::{Asked, Pending, read, send, summary, unusable};
use crate::trace::Trace;

/// What a request of ours was for.
#[derive(Debug)]
enum Purpose {
    Initialize,
    Thread { prompt: String },
    Turn { thread: String },
    Steer { number: u64 },
    Interrupt,
    List,
}

/// The conversation.
#[derive(Debug)]
pub(in crate::codex) struct AppServer {
    ids: Ids<Purpose>,
    greeted: bool,
    /// What waits for the greeting.
    held: Vec<u8>,
    pub(super) pending: Pending,
    /// Ours, once it is known.
    pub(super) thread: Option<String>,
    turn: Option<String>,
    /// How often something was put into a running turn.
    steered: u64,
    /// The files of the patches that run, by their threads and items, for their approvals do not name them.
    patches: Vec<(String, String, Vec<Change>)>,
    version: Option<String>,
    /// What came of the last question for threads, until it is taken.
    pub(super) listed: Option<Result<Value, Fault>>,
    /// What the turns that begin are a part of.
    pub(super) trace: Option<Trace>,
}

impl AppServer {
    pub(super) fn new(run: &str) -> Self {
        Self {
            ids: Ids::default(),
            greeted: false,
            held: Vec::new(),
            pending: Pending::new(run),
            thread: None,
            turn: None,
            steered: 0,
            patches: Vec::new(),
            version: None,
            listed: None,
            trace: None,
        }
    }

    pub(super) fn greet(&mut self, out: &mut Vec<u8>) {
        let client = json!({"name": "adjutant", "title": "Adjutant", "version": env!("CARGO_PKG_VERSION")});
        let id = self.ids.next(Purpose::Initialize);
        send(out, &json!({"id": id, "method": "initialize", "params": {"clientInfo": client}}));
    }

    pub(super) fn start(&mut self, start: &Start, out: &mut Vec<u8>) {
        self.open("thread/start", json!({}), &start.prompt, start, out);
    }

    pub(super) fn resume(&mut self, thread: &str, prompt: &str, start: &Start, out: &mut Vec<u8>) {
        self.open("thread/resume", json!({"threadId": thread}), prompt, start, out);
    }

    fn open(&mut self, method: &str, mut params: Value, prompt: &str, start: &Start, out: &mut Vec<u8>) {
        let texts = [
            ("cwd", &start.cwd),
            ("model", &start.model),
            ("sandbox", &start.sandbox),
            ("approvalPolicy", &start.approval_policy),
            ("baseInstructions", &start.base_instructions),
            ("developerInstructions", &start.developer_instructions),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                params[name] = Value::from(value.as_str());
            }
        }
        let mut config = start.config.clone();
        for (name, value) in [("compact_prompt", &start.compact_prompt), ("profile", &start.profile)] {
            if let Some(value) = value {
                config.insert(name.to_owned(), Value::from(value.as_str()));
            }
        }
        if !config.is_empty() {
            params["config"] = Value::Object(config);
        }
        self.request(Purpose::Thread { prompt: prompt.to_owned() }, method, &params, out);
    }

    pub(super) fn turn(&mut self, thread: &str, prompt: &str, out: &mut Vec<u8>) {
        let params = json!({"threadId": thread, "input": [{"type": "text", "text": prompt}]});
        self.request(Purpose::Turn { thread: thread.to_owned() }, "turn/start", &params, out);
    }

    pub(super) fn interrupt(&mut self, thread: &str, out: &mut Vec<u8>) {
        if let Some(turn) = self.turn.clone() {
            let params = json!({"threadId": thread, "turnId": turn});
            self.request(Purpose::Interrupt, "turn/interrupt", &params, out);
        }
    }

    /// The turn is named, so that what comes too late does not begin the next one.
    pub(super) fn steer(&mut self, thread: &str, text: &str, out: &mut Vec<u8>) -> Result<u64, Error> {
        let turn = self.turn.clone().ok_or(Error::NoTurn)?;
        self.steered += 1;
        let number = self.steered;
        let params = json!({
            "threadId": thread, "expectedTurnId": turn, "input": [{"type": "text", "text": text}],
        });
        self.request(Purpose::Steer { number }, "turn/steer", &params, out);
        Ok(number)
    }

    /// Asks for a part of the threads that Codex has.
    pub(super) fn list(&mut self, params: &Value, out: &mut Vec<u8>) {
        self.request(Purpose::List, "thread/list", params, out);
    }

    fn request(&mut self, purpose: Purpose, method: &str, params: &Value, out: &mut Vec<u8>) {
        let id = self.ids.next(purpose);
        let out = if self.greeted { out } else { &mut self.held };
        let mut request = json!({"id": id, "method": method, "params": params});
        if let Some(trace) = &self.trace {
            // Codex's own member; versions without it leave it alone.
            request["trace"] = trace.headers().collect();
        }
        send(out, &request);
    }

    pub(super) fn hear(&mut self, line: &[u8], out: &mut Vec<u8>) -> Heard {
        match peer::parse(line) {
            Message::Notification { method, params } => self.notified(method, &params),
            Message::Request { id, method, params } => self.asked(id, method, &params),
            Message::Response { id, answer } => match self.ids.answered(&id) {
                Some(purpose) => self.answered(purpose, answer, out),
                None => unusable(&format!("it answers the request {id}, which nobody sent")),
            },
            Message::Bad(reason) => unusable(&reason),
        }
    }

    fn answered(&mut self, purpose: Purpose, answer: Result<Value, Fault>, out: &mut Vec<u8>) -> Heard {
        let happened = match (purpose, answer) {
            (Purpose::Initialize, Ok(result)) => {
                // `NAME/VERSION (…)`
                let agent = read::words(&result["userAgent"]);
                let version = agent.split_once('/').map(|(_, rest)| rest);
                self.version = version.and_then(|rest| rest.split(' ').next()).map(ToOwned::to_owned);
                self.greeted = true;
                send(out, &json!({"method": "initialized"}));
                out.append(&mut self.held);
                Vec::new()
            }
            (Purpose::Thread { prompt }, Ok(result)) => {
                let thread = read::words(&result["thread"]["id"]);
                self.thread = Some(thread.clone());
                self.turn(&thread, &prompt, out);
                vec![Happened::Ready(Ready {
                    model: read::text(&result["model"]).or_else(|| read::text(&result["thread"]["model"])),
                    cwd: read::text(&result["cwd"]).or_else(|| read::text(&result["thread"]["cwd"])),
                    version: self.version.clone(),
                })]
            }
            (Purpose::Turn { .. }, Ok(result)) => {
                self.turn = read::text(&result["turn"]["id"]).or(self.turn.take());
                Vec::new()
            }
            (Purpose::Steer { number }, Ok(_)) => vec![Happened::Steered { number, refused: None }],
            (Purpose::Steer { number }, Err(fault)) => {
                // An old one goes on to list everything that it does know.
                let why = fault.message.split(", expected one of").next().unwrap_or_default();
                vec![Happened::Steered { number, refused: Some(why.to_owned()) }]
            }
            (Purpose::List, answer) => {
                self.listed = Some(answer);
                Vec::new()
            }
            (Purpose::Interrupt, Ok(_)) => Vec::new(),
            (Purpose::Initialize | Purpose::Thread { .. }, Err(fault)) => {
                vec![Happened::Closed { message: Some(fault.message) }]
            }
            (Purpose::Turn { thread }, Err(fault)) => {
                self.thread = Some(thread);
                vec![Happened::TurnEnded { turn: None, end: End::Failed, message: Some(fault.message) }]
            }
            (Purpose::Interrupt, Err(fault)) => vec![Happened::Notice {
                level: Level::Warning,
                message: format!("the turn cannot be interrupted: {}", fault.message),
            }],
        };
        Heard { thread: self.thread.clone(), notified: None, happened }
    }

    fn notified(&mut self, method: String, params: &Value) -> Heard {
        let thread = read::text(&params["threadId"]).or_else(|| read::text(&params["thread"]["id"]));
        // 0.92 says everything a second time, in the words of mcp-server.
        let summary = match method.strip_prefix("codex/event/") {
            Some(_) => summary::of_event(&params["msg"]),
            None => summary::of_params(params),
        };
        let (thread, happened) = match thread {
            Some(another) if self.thread.as_ref().is_some_and(|ours| *ours != another) => {
                (self.thread.clone(), self.told_of_another(&another, &method, params))
            }
            thread => {
                let happened = self.told_of_ours(&method, params);
                (thread, happened)
            }
        };
        Heard { thread, notified: Some(Notified { method, summary }), happened }
    }

    fn told_of_ours(&mut self, method: &str, params: &Value) -> Vec<Happened> {
        let turn = read::text(&params["turnId"]).or_else(|| read::text(&params["turn"]["id"]));
        let item = || read::words(&params["itemId"]);
        match method {
            "turn/started" => {
                self.turn.clone_from(&turn);
                vec![Happened::TurnStarted { turn: turn.unwrap_or_default() }]
            }
            "turn/completed" => self.turn_ended(&params["turn"]),
            "item/started" => {
                let item = items::item(&params["item"], turn, false);
                self.note_patch(params, &item);
                vec![Happened::ItemStarted { item }]
            }
            "item/completed" => {
                let item = items::item(&params["item"], turn, true);
                self.patches.retain(|(_, id, _)| *id != item.id);
                vec![Happened::ItemEnded { item }]
            }
            "item/agentMessage/delta"
            | "item/reasoning/summaryTextDelta"
            | "item/commandExecution/outputDelta" => {
                vec![Happened::ItemGrew { id: item(), text: read::words(&params["delta"]) }]
            }
            "turn/diff/updated" => vec![Happened::Diff { diff: read::words(&params["diff"]) }],
            "thread/tokenUsage/updated" => vec![Happened::Usage(usage(&params["tokenUsage"]["total"]))],
            "serverRequest/resolved" => self.pending.take_back(&params["requestId"]).into_iter().collect(),
            "warning" => notice(Level::Warning, &params["message"]),
            "deprecationNotice" => notice(Level::Info, &params["summary"]),
            "error" => notice(Level::Error, &params["error"]["message"]),
            _ => Vec::new(),
        }
    }

    /// An agent that ours started has a thread of its own in the same process. What it does is its own; what it asks is
    /// asked here, for there is nobody else to answer.
    fn told_of_another(&mut self, thread: &str, method: &str, params: &Value) -> Vec<Happened> {
        match method {
            "item/started" => self.note_patch(params, &items::item(&params["item"], None, false)),
            "item/completed" => {
                let ended = read::words(&params["item"]["id"]);
                self.patches.retain(|(_, id, _)| *id != ended);
            }
            "turn/completed" => return self.forget(thread),
            "serverRequest/resolved" => {
                return self.pending.take_back(&params["requestId"]).into_iter().collect();
            }
            _ => {}
        }
        Vec::new()
    }

    fn note_patch(&mut self, params: &Value, item: &Item) {
        if let Kind::Patch { changes } = &item.kind {
            self.patches.push((read::words(&params["threadId"]), item.id.clone(), changes.clone()));
        }
    }

    /// Forgets what belonged to the turn of a thread, and takes back what it asked.
    fn forget(&mut self, thread: &str) -> Vec<Happened> {
        self.patches.retain(|(of, ..)| of != thread);
        self.pending.take_back_of(thread)
    }

    fn turn_ended(&mut self, turn: &Value) -> Vec<Happened> {
        let end = match turn["status"].as_str() {
            Some("interrupted") => End::Interrupted,
            Some("failed") => End::Failed,
            _ => End::Completed,
        };
        self.turn = None;
        let ours = self.thread.clone().unwrap_or_default();
        let mut happened = self.forget(&ours);
        let message = read::text(&turn["error"]["message"]);
        happened.push(Happened::TurnEnded { turn: read::text(&turn["id"]), end, message });
        happened
    }

    fn asked(&mut self, id: Value, method: String, params: &Value) -> Heard {
        let asker = read::text(&params["threadId"]).or_else(|| self.thread.clone()).unwrap_or_default();
        // An agent that ours started asks through our thread.
        let thread = self.thread.clone().unwrap_or_else(|| asker.clone());
        let item = read::text(&params["itemId"]);
        let mut choices = vec![Decision::Approve];
        let wants = match method.as_str() {
            "item/commandExecution/requestApproval" => {
                // It is taken also where `availableDecisions`, which is what Codex's own screen shows, leaves it out.
                choices.push(Decision::ApproveForSession);
                Wants::Command { argv: argv(&params["command"]), cwd: read::folder(&params["cwd"]) }
            }
            "item/fileChange/requestApproval" => {
                choices.push(Decision::ApproveForSession);
                let patch = self.patches.iter().find(|(_, id, _)| Some(id) == item.as_ref());
                Wants::Patch { changes: patch.map(|(.., changes)| changes.clone()).unwrap_or_default() }
            }
            "mcpServer/elicitation/request" => Wants::Elicitation {
                server: read::words(&params["serverName"]),
                message: read::words(&params["message"]),
                schema: params["requestedSchema"].clone(),
            },
            "item/tool/requestUserInput" => {
                choices.clear();
                Wants::Input { questions: questions(&params["questions"]) }
            }
            _ => {
                choices.clear();
                Wants::Unknown { method: method.clone(), params: params.clone() }
            }
        };
        let approval = Approval {
            id: self.pending.name(&id),
            thread: thread.clone(),
            turn: read::text(&params["turnId"]),
            item,
            wants,
            reason: read::text(&params["reason"]),
            choices,
        };
        let notified = Some(Notified { method: method.clone(), summary: summary::of_params(params) });
        let happened = vec![self.pending.ask(Asked { request: id, method, thread: asker }, approval)];
        Heard { thread: Some(thread), notified, happened }
    }
}

/// 0.92 gives an argument list, later ones the text for a shell.
fn argv(command: &Value) -> Vec<String> {
    match command.as_str() {
        Some(line) => vec![line.to_owned()],
        None => read::list(command),
    }
}

fn questions(questions: &Value) -> Vec<Question> {
    let questions = questions.as_array().into_iter().flatten();
    questions
        .map(|question| Question {
            id: read::words(&question["id"]),
            text: read::words(&question["question"]),
            options: question["options"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|o| read::words(&o["label"]))
                .collect(),
        })
        .collect()
}

/// Writes a decision as the request wants it.
pub(super) fn answer(asked: &Asked, decision: &Decision) -> Value {
    match (asked.method.as_str(), decision) {
        ("mcpServer/elicitation/request", Decision::Approve | Decision::ApproveForSession) => {
            json!({"action": "accept", "content": {}})
        }
        ("mcpServer/elicitation/request", Decision::Content(content)) => {
            json!({"action": "accept", "content": content})
        }
        ("mcpServer/elicitation/request", Decision::Deny { .. }) => {
            json!({"action": "decline", "content": null})
        }
        ("mcpServer/elicitation/request", Decision::Abort) => json!({"action": "cancel", "content": null}),
        ("item/tool/requestUserInput", Decision::Content(answers)) => {
            let answers = answers.as_object().into_iter().flatten();
            let answers: serde_json::Map<String, Value> = answers
                .map(|(id, answer)| {
                    let list = if answer.is_array() { answer.clone() } else { json!([answer]) };
                    (id.clone(), json!({"answers": list}))
                })
                .collect();
            json!({"answers": answers})
        }
        ("item/tool/requestUserInput", _) => json!({"answers": {}}),
        (_, Decision::Approve) => json!({"decision": "accept"}),
        (_, Decision::ApproveForSession) => json!({"decision": "acceptForSession"}),
        // What it does not know counts as a denial there too.
        (_, Decision::Deny { .. } | Decision::Content(_)) => json!({"decision": "decline"}),
        (_, Decision::Abort) => json!({"decision": "cancel"}),
    }
}

fn notice(level: Level, message: &Value) -> Vec<Happened> {
    vec![Happened::Notice { level, message: read::words(message) }]
}

fn usage(total: &Value) -> Usage {
    let count = |member: &str| total[member].as_u64().unwrap_or(0);
    Usage {
        input: count("inputTokens"),
        cached: count("cachedInputTokens"),
        output: count("outputTokens"),
        reasoning: count("reasoningOutputTokens"),
        total: count("totalTokens"),
    }
}
