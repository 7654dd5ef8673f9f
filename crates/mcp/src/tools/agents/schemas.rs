//! Descriptions and schemas of the agents' tools: clients of 2024-11-05 get only the tools of the contract, newer ones
//! get more.

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::names::{CANCEL, DELEGATE, GET, LIST, MANY, TASKS, WAIT};
use crate::protocol_version::Revision;
use crate::tools::definition::{any_object, object, read_only, tool, words};
use adjutant_agents::catalogue::Catalogue;
use adjutant_agents::definition::{Isolation, Permission};

/// Maximum agents that the description of an argument names; `list_agents` names all.
const MAX_NAMED: usize = 40;

const LIST_CONTRACT: &str = "List the agents that a task can be delegated to, with what each is for.";
const DELEGATE_CONTRACT: &str = "Delegate a task to a named agent, which works on it in the given directory, and \
return its final message.";

const LIST_DESCRIPTION: &str = "List the agents. Call it before you delegate, to choose the agent that fits the task. \
Returns the name, the description, the permission and the model of each.";
const DELEGATE_DESCRIPTION: &str = "Give one task to an agent, which works on it alone in a directory. The agent sees \
nothing of this conversation, so write everything that it needs into `task`. For several independent tasks, call \
delegate_many. Returns the agent's final message and a run report (commands, changed files, checks), or a task_id for \
task_wait if the agent works longer than this call may last.";
const MANY_DESCRIPTION: &str = "Give several independent tasks to agents, which work on them in parallel. For one task, \
call delegate_task. Returns the results in the order of the tasks; a task that is still running has a task_id for \
task_wait.";
const GET_DESCRIPTION: &str = "Look at one delegated task without waiting. Call it to see how far the agent is; to wait \
for the result, call task_wait. Returns the state and the latest activity, or the result once the task has ended.";
const WAIT_DESCRIPTION: &str = "Wait until a delegated task has ended. To look at its progress without waiting, call \
task_get. Returns the result that delegate_task returns, or the state after `seconds`: then call it again.";
const TASKS_DESCRIPTION: &str = "List the tasks that you delegated, newest first. Call it if you do not have a task_id. \
Returns a page of tasks, and in `unfetched` the ids of ended tasks with results that you have not read.";
const CANCEL_DESCRIPTION: &str = "Stop a delegated task that is queued or running. Returns the task; it is cancelled once \
none of its processes is left.";

/// Returns the tools as `revision` shows them. The annotations of a delegation depend on the agents' permissions.
pub fn tools(revision: Revision, catalogue: &Catalogue) -> Vec<Tool> {
    let none = || json!({"type": "object", "properties": {}});
    let tool = |(name, title): (&'static str, &str), description: &str, input, output, annotations| {
        tool(revision, (name, title), description.to_owned(), (input, output), annotations)
    };
    let list_agents = || {
        tool(
            (LIST, "List agents"),
            words(revision, LIST_CONTRACT, LIST_DESCRIPTION),
            none(),
            any_object(),
            read_only("List agents"),
        )
    };
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
        return vec![list_agents(), delegate(DELEGATE_CONTRACT, contract())];
    }
    let text = json!({"type": "string"});
    let required = json!({"agent": text, "task": text, "working_directory": text});
    let background = json!({"type": "boolean", "description": "Return the task_id at once, for task_wait"});
    let many = object(
        json!({
            "tasks": {"type": "array", "minItems": 1, "maxItems": super::delegate_many::MAX_TASKS, "items": object(required, &REQUIRED), "description": "Each takes all arguments of delegate_task but `background`"},
            "background": background,
        }),
        &["tasks"],
    );
    let mut one = delegation(catalogue);
    one["background"] = background;
    let id = json!({"type": "string", "description": "Id from delegate_task, delegate_many or task_list"});
    let task = || object(json!({"task_id": id}), &["task_id"]);
    let wait = object(
        json!({
            "task_id": id,
            "seconds": {"type": "integer", "minimum": 1, "maximum": crate::call_timeout::MAX_WAIT.as_secs(), "description": "Longest time to wait"},
        }),
        &["task_id"],
    );
    let listing = object(
        json!({
            "state": {"type": "string", "enum": super::tasks::STATES, "description": "Only tasks in this state"},
            "limit": {"type": "integer", "minimum": 1, "maximum": super::tasks::MAX_PAGE, "description": "Most tasks of a page"},
            "cursor": {"type": "string", "description": "`next` of the previous page"},
        }),
        &[],
    );
    let reads = |name: &'static str, title: &str, description: &str, input, output| {
        tool((name, title), description, input, output, read_only(title))
    };
    let (several, cancels) = ("Delegate several tasks", "Cancel a task");
    vec![
        list_agents(),
        delegate(DELEGATE_DESCRIPTION, one),
        tool((MANY, several), MANY_DESCRIPTION, many, any_object(), delegates(several)),
        reads(GET, "Show a task", GET_DESCRIPTION, task(), any_object()),
        reads(WAIT, "Wait for a task", WAIT_DESCRIPTION, wait, any_object()),
        reads(TASKS, "List tasks", TASKS_DESCRIPTION, listing, any_object()),
        tool(
            (CANCEL, cancels),
            CANCEL_DESCRIPTION,
            task(),
            any_object(),
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
        "timeout_seconds": {"type": "integer", "minimum": 1, "description": "The run ends after this time"},
        "output_schema": {"type": "object", "description": "JSON Schema for the final message, which is JSON then"},
        "checks": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Commands to run in the directory after the agent, without a shell; if all succeed, the result is verified",
        },
        "isolation": {"type": "string", "enum": Isolation::ALL, "description": "worktree: the agent works in a new git worktree of the last commit; the run report has its patch"},
        "permission": {"type": "string", "enum": levels, "description": "A lower permission than the agent has"},
    });
    if let (Value::Object(properties), Value::Object(more)) = (&mut properties, more) {
        properties.extend(more);
    }
    properties
}

/// Returns the schema of one task; all but its id and status are there once it has ended.
fn task_output() -> Value {
    object(
        json!({
            "task_id": {"type": "string"},
            "status": {"type": "string"},
            "message": {"type": "string"},
            "verdict": {"type": "string", "enum": ["unverified", "verified", "refuted"]},
            "failure": {"type": "object"},
            "run_report": {"type": "object"},
        }),
        &[],
    )
}
