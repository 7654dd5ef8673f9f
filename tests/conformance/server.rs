//! `conformance-server [--stdio]`: the tools, prompts and resources that the official conformance suite requires, on the
//! HTTP layers or the stream transport of the product. It serves on a free port of loopback, or one connection on stdin
//! and stdout.
//!
//! Everything here is written as JSON and parsed into rmcp's types, so that it can be compared with the JSON of the
//! suite.
#![expect(deprecated, reason = "the suite still asks for what 2026-07-28 deprecates")]

mod input_required;
mod prompts;
mod resources;
mod server_requests;
mod shape;
mod state;
mod tasks;
mod tools;

use std::error::Error;
use std::io::Write as _;
use std::sync::atomic::Ordering;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::broadcast;

use adjutant_agents::{CommandVariant, Selector};
use adjutant_app::App;
use adjutant_base::config::{Auth, Config, Overrides, Roots, Switch};
use shape::{complete, shape};
use state::{Change, Fixture};

/// Serves until a signal ends the process, without a token.
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let overrides = Overrides {
        http: Some(Switch::address("127.0.0.1:0")?),
        socket: Some(Switch::Off),
        auth: Some(Auth::None),
        ..Overrides::default()
    };
    let config = Config::load(overrides, Roots::Exactly(Vec::new()))?;
    let runners = Selector::new(&config.runners, None, CommandVariant::Native)?;
    let app = App::new(config, runners);
    let mut key = [0; 32];
    getrandom::fill(&mut key)?;
    let fixture = Fixture::new(&key)?;
    if std::env::args().nth(1).as_deref() == Some("--stdio") {
        adjutant_mcp::serve_handler(&app, fixture, tokio::io::stdin(), tokio::io::stdout()).await;
        return Ok(());
    }
    let address = app.config.http.address.ok_or("there is no address to listen on")?;
    let listener = adjutant_http::BoundListener::open(address, &app.config.http, &app.config.home).await?;
    writeln!(std::io::stderr(), "fixture  http://{}/mcp", listener.address())?;
    adjutant_http::serve_handler(app, listener, move || fixture.clone()).await;
    Ok(())
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        shape(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "completions": {},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
                "logging": {},
                "prompts": {"listChanged": true},
                "resources": {"listChanged": true, "subscribe": true},
                "tools": {"listChanged": true},
            },
            "serverInfo": {"name": "adjutant-fixture", "version": env!("CARGO_PKG_VERSION")},
        }))
        .unwrap_or_default()
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        complete(json!({"tools": tools::catalogue(self.shared.extra_tool.load(Ordering::SeqCst))}))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tool = tools::catalogue(true).into_iter().find(|tool| tool["name"] == name)?;
        shape(tool).ok()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tools::call(self, request, &context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.shared.tasks.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.cancel_task(&request.task_id)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        complete(json!({"prompts": prompts::catalogue(self.shared.extra_prompt.load(Ordering::SeqCst))}))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let typed = &request.argument.value;
        let values: Vec<&str> =
            ["paris", "park", "party"].into_iter().filter(|value| value.starts_with(typed)).collect();
        complete(json!({"completion": {"total": values.len(), "values": values, "hasMore": false}}))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        complete(json!({"resources": resources::catalogue()}))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        complete(json!({"resourceTemplates": resources::templates()}))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&request.uri).map(ReadResourceResponse::Complete)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        resources::known(&request.uri)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        resources::known(&request.uri)
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Every message of the fixture is of level `info`, which no level that the suite sets hides.
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.shared.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            // The sink refuses what the client did not ask for, which is the filter that the suite tests.
            let _ = match change {
                Ok(Change::Tools) => subscription.sink().notify_tool_list_changed().await,
                Ok(Change::Prompts) => subscription.sink().notify_prompt_list_changed().await,
                Err(broadcast::error::RecvError::Lagged(_)) => continue,
                Err(broadcast::error::RecvError::Closed) => return Ok(()),
            };
        }
    }
}
