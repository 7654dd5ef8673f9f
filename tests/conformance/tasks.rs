//! Tools whose calls become tasks, for clients that take them. rmcp refuses a task to any other client.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, CreateTaskResult, ErrorData};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskFuture, TaskOptions};
use serde_json::{Value, json};

use super::input_required::{self, entered, needs, question};
use super::shape::{complete, shape, text};
use super::state::Fixture;

/// Runs one tool. An unknown name is a wrong parameter.
pub(super) async fn call(
    fixture: &Fixture,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let start = |work: Box<dyn FnOnce(TaskContext) -> TaskFuture>| {
        let task = fixture.shared.tasks.spawn(TaskOptions::new(), work);
        Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
    };
    match request.name.as_ref() {
        "slow_compute" => {
            let seconds = request.arguments.as_ref().and_then(|arguments| arguments.get("seconds")?.as_u64());
            let time = Duration::from_secs(seconds.unwrap_or_default());
            if !context.client_capabilities().is_some_and(|client| client.supports_tasks()) {
                tokio::time::sleep(time).await;
                return text("Computed.").map(CallToolResponse::Complete);
            }
            start(Box::new(move |task| Box::pin(compute(task, time))))
        }
        "failing_job" => start(Box::new(|_| {
            Box::pin(async {
                let failure = json!([{"type": "text", "text": "This job always fails."}]);
                Ok(complete(json!({"content": failure, "isError": true}))?)
            })
        })),
        "protocol_error_job" => start(Box::new(|_| {
            Box::pin(async { Err(ErrorData::internal_error("This job always breaks.", None).into()) })
        })),
        "confirm_delete" => start(Box::new(|task| {
            Box::pin(async move {
                let confirmed = confirm(&task, "confirm").await?;
                Ok(text(&format!("Confirmed: {confirmed}"))?)
            })
        })),
        "multi_input" => start(Box::new(|task| {
            Box::pin(async move {
                tokio::try_join!(confirm(&task, "first"), confirm(&task, "second"))?;
                Ok(text("Both inputs have arrived.")?)
            })
        })),
        "test_tool_with_task" => {
            if let Some(name) = entered(request.input_responses.as_ref(), "user_name", "name") {
                let greeting = text(&format!("Hello, {name}!"));
                start(Box::new(|_| Box::pin(async { Ok(greeting?) })))
            } else {
                let inputs = json!({"user_name": question("What is your name?", "name", "string")});
                needs(inputs, None).map(CallToolResponse::InputRequired)
            }
        }
        _ => input_required::call(fixture, request, context),
    }
}

/// Ends after `time`, or when the client cancels the task.
async fn compute(task: TaskContext, time: Duration) -> Result<CallToolResult, TaskExit> {
    match tokio::time::timeout(time, task.cancelled()).await {
        Ok(()) => Err(TaskExit::Cancelled),
        Err(_) => Ok(text("Computed.")?),
    }
}

/// Asks the user of the client for a confirmation, and returns the answer.
async fn confirm(task: &TaskContext, key: &str) -> Result<Value, TaskExit> {
    task.request_input(key, shape(question("Go on?", "confirm", "boolean"))?).await
}
