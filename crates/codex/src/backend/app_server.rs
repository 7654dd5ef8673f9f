//! `codex app-server`: the protocol of Codex's own clients, JSON-RPC without the `jsonrpc` member.

mod approvals;
mod events;
mod items;

use serde_json::{Map, Value, json};

use super::super::approval::{Approval, ApprovalKind, Decision};
use super::super::error::Error;
use super::super::event::{CodexEvent, End, EventBatch, Item, ItemKind, ItemState, Level, Ready};
use super::super::jsonrpc::{self, Message, PendingRequests, RpcError};
use super::super::patch::FileChange;
use super::super::thread_options::{Act, ThreadOptions, TurnInput};
use super::pending_approvals::{PendingApproval, PendingApprovals};
use super::{json_fields, summary};
use adjutant_base::trace_context::Trace;
pub(crate) use items::history;

/// The purpose of a request of Adjutant.
#[derive(Debug)]
enum Purpose {
    Initialize,
    Thread {
        turn: Box<TurnInput>,
    },
    Turn {
        thread: String,
        /// The model and the effort that the turn changes.
        model: Option<String>,
        effort: Option<String>,
    },
    Steer {
        number: u64,
    },
    Interrupt,
    EndCommands,
    /// A request outside of a session.
    Call,
}

/// The protocol state.
#[derive(Debug, Default)]
pub(crate) struct AppServer {
    requests: PendingRequests<Purpose>,
    initialized: bool,
    /// Requests that wait for the answer to `initialize`.
    held: Vec<u8>,
    pub(super) pending: PendingApprovals,
    /// The thread of this session, once it is known.
    pub(super) thread: Option<String>,
    /// The thread's folder, model and effort.
    ready: Ready,
    turn: Option<String>,
    /// The number of steerings.
    steered: u64,
    /// The files of the running patches, by thread and item, because approvals do not name them.
    patches: Vec<(String, String, Vec<FileChange>)>,
    /// The plan of the running turn.
    plan: Option<Item>,
    version: Option<String>,
    /// The answer to the last call, until it is taken.
    pub(crate) answered: Option<Result<Value, RpcError>>,
    /// The trace of the turns that start.
    pub(super) trace: Option<Trace>,
}

impl AppServer {
    pub(crate) fn new(run: &str) -> Self {
        Self { pending: PendingApprovals::new(run), ..Self::default() }
    }

    pub(crate) fn initialize(&mut self, out: &mut Vec<u8>) {
        let client = json!({"name": "adjutant", "title": "Adjutant", "version": env!("CARGO_PKG_VERSION")});
        let id = self.requests.register(Purpose::Initialize);
        // Without it, the commands that continue after a turn cannot be ended.
        let capabilities = json!({"experimentalApi": true});
        let params = json!({"clientInfo": client, "capabilities": capabilities});
        let request = json!({"id": id, "method": "initialize", "params": params});
        jsonrpc::write_line(out, &request);
    }

    pub(super) fn start(&mut self, start: &ThreadOptions, out: &mut Vec<u8>) {
        self.open("thread/start", json!({}), start, out);
    }

    pub(super) fn resume(&mut self, thread: &str, start: &ThreadOptions, out: &mut Vec<u8>) {
        // With its turns the answer would be one line, which may exceed the limit of a line.
        self.open("thread/resume", json!({"threadId": thread, "excludeTurns": true}), start, out);
    }

    fn open(&mut self, method: &str, mut params: Value, start: &ThreadOptions, out: &mut Vec<u8>) {
        let texts = [
            ("cwd", &start.cwd),
            ("model", &start.model),
            ("sandbox", &start.sandbox),
            ("approvalPolicy", &start.approval_policy),
            ("baseInstructions", &start.base_instructions),
            ("developerInstructions", &start.developer_instructions),
        ];
        for (name, value) in json_fields::present(texts) {
            params[name] = value;
        }
        let mut config = start.config.clone();
        let texts = [("compact_prompt", &start.compact_prompt), ("profile", &start.profile)];
        config.extend(json_fields::present(texts).map(|(name, value)| (name.to_owned(), value)));
        if !config.is_empty() {
            params["config"] = Value::Object(config);
        }
        self.request(Purpose::Thread { turn: Box::new(start.turn.clone()) }, method, &params, out);
    }

    pub(super) fn turn(&mut self, thread: &str, input: &TurnInput, out: &mut Vec<u8>) {
        let (method, params) = match &input.act {
            Act::Prompt => {
                let mut params = json!({"threadId": thread, "input": parts(input)});
                for (name, value) in
                    json_fields::present([("model", &input.model), ("effort", &input.effort)])
                {
                    params[name] = value;
                }
                ("turn/start", params)
            }
            Act::Compact => ("thread/compact/start", json!({"threadId": thread})),
            Act::Review(target) => ("review/start", json!({"threadId": thread, "target": target})),
        };
        let named = |name: &str| json_fields::text(&params[name]);
        let purpose =
            Purpose::Turn { thread: thread.to_owned(), model: named("model"), effort: named("effort") };
        self.request(purpose, method, &params, out);
    }

    pub(super) fn end_commands(&mut self, thread: &str, out: &mut Vec<u8>) {
        let params = json!({"threadId": thread});
        self.request(Purpose::EndCommands, "thread/backgroundTerminals/clean", &params, out);
    }

    pub(super) fn interrupt(&mut self, thread: &str, out: &mut Vec<u8>) {
        if let Some(turn) = self.turn.clone() {
            let params = json!({"threadId": thread, "turnId": turn});
            self.request(Purpose::Interrupt, "turn/interrupt", &params, out);
        }
    }

    /// The request names the turn, so that Codex does not add a late one to the next turn.
    pub(super) fn steer(&mut self, thread: &str, input: &TurnInput, out: &mut Vec<u8>) -> Result<u64, Error> {
        let turn = self.turn.clone().ok_or(Error::NoTurn)?;
        self.steered += 1;
        let number = self.steered;
        let params = json!({"threadId": thread, "expectedTurnId": turn, "input": parts(input)});
        self.request(Purpose::Steer { number }, "turn/steer", &params, out);
        Ok(number)
    }

    /// Sends any other request. Its answer is in `answered`.
    pub(crate) fn call(&mut self, method: &str, params: &Value, out: &mut Vec<u8>) {
        self.request(Purpose::Call, method, params, out);
    }

    fn request(&mut self, purpose: Purpose, method: &str, params: &Value, out: &mut Vec<u8>) {
        let id = self.requests.register(purpose);
        let out = if self.initialized { out } else { &mut self.held };
        let mut request = json!({"id": id, "method": method});
        // A method without parameters takes none at all.
        if !params.is_null() {
            request["params"] = params.clone();
        }
        if let Some(trace) = &self.trace {
            // A member of Codex itself; versions without it ignore it.
            request["trace"] = trace.headers().collect();
        }
        jsonrpc::write_line(out, &request);
    }

    pub(crate) fn on_line(&mut self, line: &[u8], out: &mut Vec<u8>) -> EventBatch {
        match jsonrpc::parse(line) {
            Message::Notification { method, params } => self.on_notification(&method, &params),
            Message::Request { id, method, params } => self.on_request(id, method, &params),
            Message::Response { id, answer } => match self.requests.complete(&id) {
                Some(purpose) => self.on_response(purpose, answer, out),
                None => jsonrpc::unreadable(&format!("it answers the request {id}, which nobody sent")),
            },
            Message::Bad(reason) => jsonrpc::unreadable(&reason),
        }
    }

    fn on_response(
        &mut self,
        purpose: Purpose,
        answer: Result<Value, RpcError>,
        out: &mut Vec<u8>,
    ) -> EventBatch {
        let events = match (purpose, answer) {
            (Purpose::Initialize, Ok(result)) => {
                // `NAME/VERSION (…)`
                let agent = json_fields::words(&result["userAgent"]);
                let version = agent.split_once('/').map(|(_, rest)| rest);
                self.version = version.and_then(|rest| rest.split(' ').next()).map(ToOwned::to_owned);
                self.initialized = true;
                jsonrpc::write_line(out, &json!({"method": "initialized"}));
                out.append(&mut self.held);
                Vec::new()
            }
            (Purpose::Thread { turn }, Ok(result)) => {
                let thread = json_fields::words(&result["thread"]["id"]);
                self.thread = Some(thread.clone());
                self.turn(&thread, &turn, out);
                let named = |name: &str| {
                    json_fields::text(&result[name]).or_else(|| json_fields::text(&result["thread"][name]))
                };
                self.ready = Ready {
                    model: named("model"),
                    effort: named("reasoningEffort"),
                    cwd: named("cwd"),
                    version: self.version.clone(),
                };
                vec![CodexEvent::Ready(self.ready.clone())]
            }
            (Purpose::Turn { model, effort, .. }, Ok(result)) => {
                self.turn = json_fields::text(&result["turn"]["id"]).or(self.turn.take());
                if model.is_none() && effort.is_none() {
                    Vec::new()
                } else {
                    self.ready.model = model.or(self.ready.model.take());
                    self.ready.effort = effort.or(self.ready.effort.take());
                    vec![CodexEvent::Ready(self.ready.clone())]
                }
            }
            (Purpose::Steer { number }, Ok(_)) => vec![CodexEvent::Steered { number, refused: None }],
            (Purpose::Steer { number }, Err(fault)) => {
                // An old version lists every method that it knows after this.
                let why = fault.message.split(", expected one of").next().unwrap_or_default();
                vec![CodexEvent::Steered { number, refused: Some(why.to_owned()) }]
            }
            (Purpose::Call, answer) => {
                self.answered = Some(answer);
                Vec::new()
            }
            (Purpose::Interrupt | Purpose::EndCommands, Ok(_)) => Vec::new(),
            (Purpose::Initialize | Purpose::Thread { .. }, Err(fault)) => {
                vec![CodexEvent::Closed { message: Some(fault.message) }]
            }
            (Purpose::Turn { thread, .. }, Err(fault)) => {
                self.thread = Some(thread);
                vec![CodexEvent::TurnEnded { turn: None, end: End::Failed, message: Some(fault.message) }]
            }
            (purpose @ (Purpose::Interrupt | Purpose::EndCommands), Err(fault)) => {
                let what = if matches!(purpose, Purpose::Interrupt) {
                    "the turn cannot be interrupted"
                } else {
                    "the commands cannot be ended"
                };
                events::notice(Level::Warning, &format!("{what}: {}", fault.message).into())
            }
        };
        EventBatch { thread: self.thread.clone(), notification: None, events }
    }

    fn on_notification(&mut self, method: &str, params: &Value) -> EventBatch {
        let thread =
            json_fields::text(&params["threadId"]).or_else(|| json_fields::text(&params["thread"]["id"]));
        // 0.92 sends every event a second time, in the words of mcp-server.
        let notification = match method.strip_prefix("codex/event/") {
            Some(_) => summary::of_event(method.to_owned(), &params["msg"]),
            None => summary::of_params(method.to_owned(), params),
        };
        let (thread, events) = match thread {
            Some(another) if self.thread.as_ref().is_some_and(|ours| *ours != another) => {
                (self.thread.clone(), self.on_other_notification(&another, method, params))
            }
            thread => {
                let events = self.on_own_notification(method, params);
                (thread, events)
            }
        };
        EventBatch { thread, notification: Some(notification), events }
    }

    fn on_own_notification(&mut self, method: &str, params: &Value) -> Vec<CodexEvent> {
        match method {
            "turn/started" => self.turn = json_fields::text(&params["turn"]["id"]),
            "turn/completed" => {
                self.turn = None;
                let ours = self.thread.clone().unwrap_or_default();
                let mut events = self.forget(&ours);
                events.extend(
                    self.plan
                        .take()
                        .map(|item| CodexEvent::ItemEnded { item: Item { state: ItemState::Done, ..item } }),
                );
                events.extend(events::of(method, params));
                return events;
            }
            "serverRequest/resolved" => return self.pending.withdraw(&params["requestId"]),
            _ => {}
        }
        let events = events::of(method, params);
        self.note_patches(params, &events);
        if let ("turn/plan/updated", [CodexEvent::ItemStarted { item }]) = (method, events.as_slice()) {
            self.plan = Some(item.clone());
        }
        events
    }

    /// Reads an event of an agent that this thread started, which has another thread in the same process. Its
    /// approvals are asked here, because nothing else can answer them.
    fn on_other_notification(&mut self, thread: &str, method: &str, params: &Value) -> Vec<CodexEvent> {
        if method == "serverRequest/resolved" {
            return self.pending.withdraw(&params["requestId"]);
        }
        let mut events = if method == "turn/completed" { self.forget(thread) } else { Vec::new() };
        let others = events::of(method, params);
        self.note_patches(params, &others);
        let of_agent = |event| CodexEvent::SubAgent { thread: thread.to_owned(), event: Box::new(event) };
        events.extend(others.into_iter().map(of_agent));
        events
    }

    /// Remembers the files of a patch until it ends.
    fn note_patches(&mut self, params: &Value, events: &[CodexEvent]) {
        for event in events {
            match event {
                CodexEvent::ItemStarted { item } => {
                    if let ItemKind::Patch { changes } = &item.kind {
                        let thread = json_fields::words(&params["threadId"]);
                        self.patches.push((thread, item.id.clone(), changes.clone()));
                    }
                }
                CodexEvent::ItemEnded { item } => self.patches.retain(|(_, id, _)| *id != item.id),
                _ => {}
            }
        }
    }

    /// Forgets the patches of a thread's turn, and withdraws its approvals.
    fn forget(&mut self, thread: &str) -> Vec<CodexEvent> {
        self.patches.retain(|(of, ..)| of != thread);
        self.pending.withdraw_thread(thread)
    }

    fn on_request(&mut self, id: Value, method: String, params: &Value) -> EventBatch {
        let asker =
            json_fields::text(&params["threadId"]).or_else(|| self.thread.clone()).unwrap_or_default();
        // An agent that this thread started asks through this thread.
        let thread = self.thread.clone().unwrap_or_else(|| asker.clone());
        let item = json_fields::text(&params["itemId"]);
        let parsed = match method.as_str() {
            "item/commandExecution/requestApproval" => approvals::command(params),
            "item/fileChange/requestApproval" => {
                let patch = self.patches.iter().find(|(_, id, _)| Some(id) == item.as_ref());
                approvals::patch(params, patch.map(|(.., changes)| changes.clone()).unwrap_or_default())
            }
            "mcpServer/elicitation/request" => approvals::elicitation(params),
            "item/permissions/requestApproval" => approvals::permissions(params),
            "item/tool/requestUserInput" => approvals::input(params),
            _ => None,
        };
        let (kind, others) = parsed.unwrap_or_else(|| {
            (ApprovalKind::Unknown { method: method.clone(), params: params.clone() }, Map::new())
        });
        let (mut choices, mut session_scope) = kind.choices();
        let lasting = approvals::lasting(&kind, params);
        if let Some(scope) = lasting.session {
            choices.push(Decision::ApproveForSession);
            session_scope = Some(scope);
        }
        if lasting.always.is_some() {
            choices.push(Decision::ApproveAlways);
        }
        let secrets = match &kind {
            ApprovalKind::Input { questions } => questions
                .iter()
                .filter(|question| question.secret)
                .map(|question| question.id.clone())
                .collect(),
            _ => Vec::new(),
        };
        let pending = PendingApproval { request: id, method, thread: asker, offer: lasting.offer, secrets };
        // A denial is possible in any case: no version lists it, and each takes it.
        if let Some(listed) = params["availableDecisions"].as_array().filter(|listed| !listed.is_empty()) {
            choices.retain(|choice| {
                answer(&pending, choice).is_ok_and(|answer| listed.contains(&answer["decision"]))
            });
            session_scope = session_scope.filter(|_| choices.contains(&Decision::ApproveForSession));
        }
        let approval = Approval {
            id: self.pending.next_id(),
            thread: thread.clone(),
            turn: json_fields::text(&params["turnId"]),
            item,
            kind,
            folder: json_fields::folder(&params["cwd"])
                .or_else(|| self.ready.cwd.clone().filter(|_| pending.thread == thread)),
            reason: json_fields::text(&params["reason"]),
            session_scope,
            always_scope: lasting.always.filter(|_| choices.contains(&Decision::ApproveAlways)),
            choices,
            others,
        };
        let notification = Some(summary::of_params(pending.method.clone(), params));
        let events = vec![self.pending.insert(pending, approval)];
        EventBatch { thread: Some(thread), notification, events }
    }
}

/// Encodes a decision for the method of its request. The error is the reason why questions of the model have no answer;
/// an empty result would count as an answer.
pub(super) fn answer(asked: &PendingApproval, decision: &Decision) -> Result<Value, String> {
    let accept = |scope: Option<&str>| match scope {
        Some(scope) => json!({"action": "accept", "content": {}, "_meta": {"persist": scope}}),
        None => json!({"action": "accept", "content": {}}),
    };
    let grant = |scope: &str| json!({"permissions": asked.offer, "scope": scope});
    Ok(match (asked.method.as_str(), decision) {
        ("mcpServer/elicitation/request", Decision::Approve) => accept(None),
        ("mcpServer/elicitation/request", Decision::ApproveForSession) => accept(Some("session")),
        ("mcpServer/elicitation/request", Decision::ApproveAlways) => accept(Some("always")),
        ("mcpServer/elicitation/request", Decision::Content(content)) => {
            json!({"action": "accept", "content": content})
        }
        ("mcpServer/elicitation/request", Decision::Deny { .. }) => {
            json!({"action": "decline", "content": null})
        }
        ("mcpServer/elicitation/request", Decision::Abort) => json!({"action": "cancel", "content": null}),
        ("item/permissions/requestApproval", Decision::Approve) => grant("turn"),
        ("item/permissions/requestApproval", Decision::ApproveForSession) => grant("session"),
        ("item/permissions/requestApproval", _) => json!({"permissions": {}, "scope": "turn"}),
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
        ("item/tool/requestUserInput", Decision::Deny { note: Some(note) }) => return Err(note.clone()),
        ("item/tool/requestUserInput", _) => return Err("the user gave no answer".to_owned()),
        (_, Decision::Approve) => json!({"decision": "accept"}),
        (_, Decision::ApproveForSession) => json!({"decision": "acceptForSession"}),
        (_, Decision::ApproveAlways) => json!({"decision": asked.offer}),
        // Codex treats an unknown decision as a denial too.
        (_, Decision::Deny { .. } | Decision::Content(_)) => json!({"decision": "decline"}),
        (_, Decision::Abort) => json!({"decision": "cancel"}),
    })
}

/// Returns the text, the files and the images of a prompt in the form of Codex.
fn parts(input: &TurnInput) -> Vec<Value> {
    let images = input.images.iter().map(|path| json!({"type": "localImage", "path": path}));
    std::iter::once(json!({"type": "text", "text": input.prompt()})).chain(images).collect()
}
