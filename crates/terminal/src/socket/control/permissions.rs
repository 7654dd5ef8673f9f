//! Approval rules and their decisions in the control API.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::ControlClient;
use super::protocol::{Error, Rejection, to_json};
use adjutant_app::App;
use adjutant_app::permissions::{PermissionRecord, ToolCall, request};
use adjutant_base::text::timefmt;
use adjutant_permissions::{Decision, Rule};

/// A request about permissions.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Returns the rules, without the default ones.
    Rules,
    /// Returns the decision of the rules for a call, without asking anybody.
    Test(Box<ToolCall>),
    /// Returns the decisions of this hub, oldest first.
    Records,
    /// Removes a rule that was made in the Inbox.
    Remove { name: String },
}

impl Request {
    /// Returns whether it changes what agents may do.
    pub(super) fn decides(&self) -> bool {
        matches!(self, Self::Remove { .. })
    }
}

/// The client's calls.
impl ControlClient {
    /// Returns the rules, without the default ones.
    pub fn approval_rules(&mut self) -> Result<Vec<Rule>, Error> {
        self.ask(&super::Request::Permissions(Request::Rules))
    }

    /// Returns the decision of the rules for a call.
    pub fn test_permission(&mut self, call: ToolCall) -> Result<Decision, Error> {
        self.ask(&super::Request::Permissions(Request::Test(Box::new(call))))
    }

    /// Returns the decisions of this hub, oldest first.
    pub fn permission_records(&mut self) -> Result<Vec<PermissionRecord>, Error> {
        self.ask(&super::Request::Permissions(Request::Records))
    }

    /// Removes a rule that was made in the Inbox.
    pub fn remove_approval_rule(&mut self, name: String) -> Result<(), Error> {
        self.ask(&super::Request::Permissions(Request::Remove { name }))
    }
}

/// Handles a request.
pub(super) async fn answer(app: &App, act: Request) -> Result<Value, Rejection> {
    match act {
        Request::Rules => to_json(&app.approval_rules().await.all()),
        Request::Test(call) => {
            let now = timefmt::millis(SystemTime::now());
            to_json(&app.approval_rules().await.decide(&request(&call), now))
        }
        Request::Records => to_json(&app.permission_records().await),
        Request::Remove { name } => {
            if app.remove_approval_rule(&name).await {
                to_json(&())
            } else {
                Err(Rejection {
                    message: format!("no rule of the Inbox is called `{name}`"),
                    hints: vec![
                        "rules of config.toml are removed there; `adjutant permissions list` shows all"
                            .to_owned(),
                    ],
                })
            }
        }
    }
}
