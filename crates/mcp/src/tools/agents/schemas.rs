//! Descriptions and schemas of the agents' tools: those of the contract at 2024-11-05, more of them later.

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::names::{CANCEL, DELEGATE, GET, LIST, MANY, TASKS, WAIT};
use crate::protocol_version::Revision;
use crate::tools::definition::{object, read_only, tool};
use adjutant_agents::catalogue::Catalogue;
use adjutant_agents::definition::{Isolation, Permission};

/// Maximum agents that the description of an argument names; `list_agents` names all.
const MAX_NAMED: usize = 40;

const LIST_DESCRIPTION: &str = "List the agents that a task can be delegated to, with what each is for.";
const DELEGATE_DESCRIPTION: &str = "Delegate a task to a named agent, which works on it in the given directory, and \
return its final message.";
const DELEGATE_MORE: &str = " The agent knows nothing of this conversation: say everything it needs in `task`. The \
result carries a run report: what the hub saw of the run. If the work takes longer than this client waits, the answer is a \
task id: call task_wait with it.";
const MANY_DESCRIPTION: &str = "Delegate several tasks at once; they run side by side as far as there is room. The \
answer holds every result that is there in time, and a task id for each of the rest: call task_wait with it.";
const GET_DESCRIPTION: &str = "Show one of your delegated tasks: its state, what it did lately, and its result once \
it has ended. Does not wait.";
const WAIT_DESCRIPTION: &str = "Wait for one of your delegated tasks and return its result. After `seconds` (50 if \
left out) the answer says how far it is; call again.";
const TASKS_DESCRIPTION: &str =
    "List your delegated tasks, newest first, and which results you have not fetched yet.";
const CANCEL_DESCRIPTION: &str = "Cancel one of your delegated tasks. It is reported as cancelled only once no \
process of it is left.";

/// Returns the tools as `revision` shows them. The annotations of a delegation depend on the agents' permissions.
pub fn tools(revision: Revision, catalogue: &Catalogue) -> Vec<Tool> {
    let none = || json!({"type": "object", "properties": {}});
    let tool = |(name, title): (&'static str, &str), description: &str, input, output, annotations| {
        tool(revision, (name, title), description.to_owned(), (input, output), annotations)
    };
    let list_agents =
        || tool((LIST, "List agents"), LIST_DESCRIPTION, none(), agents_output(), read_only("List agents"));
    // An agent that may only read changes nothing; clients run such a tool without asking.
    let permission = catalogue.agents.values().map(|agent| agent.permission).max().unwrap_or_default();
    let delegates = |title: &str| {
        ToolAnnotations::with_title(title)
            .read_only(false)
            .destructive(permission > Permission::ReadOnly)
            .idempotent(false)
            .open_world(permission > Permission::WorkspaceWrite)
    };
    let delegate = |description: &str, input| {
        let title = "Delegate a task";
        tool((DELEGATE, title), description, object(input, &REQUIRED), task_output(), delegates(title))
    };
    if revision == Revision::V2024_11_05 {
        return vec![list_agents(), delegate(DELEGATE_DESCRIPTION, contract())];
    }
    let mut one = delegation(catalogue);
    let many = object(
        json!({
            "tasks": {"type": "array", "minItems": 1, "maxItems": super::delegate_many::MAX_TASKS, "items": object(without_descriptions(one.clone()), &REQUIRED), "description": "Each with the arguments of delegate_task"},
            "background": {"type": "boolean", "description": "Return the task ids at once"},
        }),
        &["tasks"],
    );
    one["background"] =
        json!({"type": "boolean", "description": "Return the task id at once; task_wait fetches the result"});
    let id = json!({"type": "string", "description": "The id that delegate_task gave"});
    let task = || object(json!({"task_id": id}), &["task_id"]);
    let wait = object(
        json!({
            "task_id": id,
            "seconds": {"type": "integer", "minimum": 1, "maximum": crate::call_timeout::MAX_WAIT.as_secs(), "description": "How long to wait"},
        }),
        &["task_id"],
    );
    let listing = object(
        json!({
            "state": {"type": "string", "enum": super::tasks::STATES, "description": "Only tasks in this state"},
            "limit": {"type": "integer", "minimum": 1, "maximum": super::tasks::MAX_PAGE, "description": "Tasks on one page"},
            "cursor": {"type": "string", "description": "The `next` of the page before"},
        }),
        &[],
    );
    let reads = |name: &'static str, title: &str, description: &str, input, output| {
        tool((name, title), description, input, output, read_only(title))
    };
    let (several, cancels) = ("Delegate several tasks", "Cancel a task");
    vec![
        list_agents(),
        delegate(&format!("{DELEGATE_DESCRIPTION}{DELEGATE_MORE}"), one),
        tool((MANY, several), MANY_DESCRIPTION, many, many_output(), delegates(several)),
        reads(GET, "Show a task", GET_DESCRIPTION, task(), task_output()),
        reads(WAIT, "Wait for a task", WAIT_DESCRIPTION, wait, task_output()),
        reads(TASKS, "List tasks", TASKS_DESCRIPTION, listing, list_output()),
        tool(
            (CANCEL, cancels),
            CANCEL_DESCRIPTION,
            task(),
            task_output(),
            read_only(cancels).read_only(false),
        ),
    ]
}

const REQUIRED: [&str; 3] = ["agent", "task", "working_directory"];

fn contract() -> Value {
    json!({
        "agent": {"type": "string", "description": "Name of the agent, as list_agents shows it"},
        "task": {"type": "string", "description": "What the agent is to do"},
        "working_directory": {"type": "string", "description": "Absolute path of an existing directory other than /"},
    })
}

/// Returns the arguments of one delegation.
fn delegation(catalogue: &Catalogue) -> Value {
    let mut properties = contract();
    let names: Vec<&str> = catalogue.agents.keys().take(MAX_NAMED).map(String::as_str).collect();
    if !names.is_empty() && catalogue.agents.len() <= MAX_NAMED {
        properties["agent"]["description"] =
            Value::from(format!("Name of the agent, as list_agents shows it: {}", names.join(", ")));
    }
    let levels = Permission::ALL;
    let more = json!({
        "timeout_seconds": {"type": "integer", "minimum": 1, "description": "End the run after this long"},
        "output_schema": {"type": "object", "description": "JSON Schema that the final message must follow, as JSON"},
        "checks": {
            "type": "array",
            "items": {"type": ["array", "string"], "items": {"type": "string"}, "minItems": 1},
            "description": "Commands, each as program and arguments (or a line of plain words; no shell reads it), to be run in the directory once the agent is gone; all pass: the result is verified",
        },
        "isolation": {"type": "string", "enum": Isolation::ALL, "description": "worktree: the agent works in a git worktree of its own, from the last commit, and its patch is in the run report"},
        "permission": {"type": "string", "enum": levels, "description": "Less than the agent's own level"},
    });
    if let (Value::Object(properties), Value::Object(more)) = (&mut properties, more) {
        properties.extend(more);
    }
    properties
}

/// Returns the same properties without their descriptions, which the list has in another tool.
fn without_descriptions(mut properties: Value) -> Value {
    for property in properties.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Value::Object(property) = property {
            property.remove("description");
        }
    }
    properties
}

fn agents_output() -> Value {
    let agent = json!({
        "name": {"type": "string"},
        "description": {"type": "string"},
        "permission": {"type": "string", "enum": Permission::ALL},
        "model": {"type": "string"},
    });
    object(
        json!({"agents": {"type": "array", "items": object(agent, &["name", "description"])}}),
        &["agents"],
    )
}

/// Returns the schema of one task; `message` and `run_report` are there once it has ended.
fn task_output() -> Value {
    object(
        json!({
            "task_id": {"type": "string"},
            "agent": {"type": "string"},
            "status": {"type": "string", "enum": super::tasks::STATES},
            "position": {"type": "integer", "description": "Place in the queue, 1 is next"},
            "message": {"type": "string", "description": "The agent's final message"},
            "structured": {"description": "The final message as JSON, where an output schema was asked for"},
            "failure": {"type": "object", "description": "Why it did not succeed"},
            "verdict": {"type": "string", "enum": ["unverified", "verified", "refuted"], "description": "What the checks say"},
            "run_report": {"type": "object", "description": "What the hub saw of the run"},
            "activity": {"type": "array", "items": {"type": "string"}, "description": "What it did lately"},
            "next": {"type": "string", "description": "What to call next"},
            // The contracts' members for a refused argument.
            "path": {"type": "array"},
            "validator": {"type": "string"},
            "validator_value": {},
        }),
        &[],
    )
}

fn many_output() -> Value {
    let mut task = task_output();
    if let Value::Object(task) = &mut task {
        let properties = task.remove("properties").unwrap_or_default();
        task.insert("properties".to_owned(), without_descriptions(properties));
    }
    object(json!({"results": {"type": "array", "description": "In the order asked", "items": task}}), &[])
}

fn list_output() -> Value {
    let task = json!({
        "task_id": {"type": "string"},
        "agent": {"type": "string"},
        "task": {"type": "string", "description": "The beginning of its text"},
        "status": {"type": "string", "enum": super::tasks::STATES},
        "created_at": {"type": "string"},
        "ended_at": {"type": "string"},
    });
    object(
        json!({
            "tasks": {"type": "array", "items": object(task, &["task_id", "agent", "status"])},
            "total": {"type": "integer"},
            "next": {"type": "string"},
            "unfetched": {"type": "array", "items": {"type": "string"}, "description": "Ended, and nobody fetched the result"},
        }),
        &[],
    )
}
