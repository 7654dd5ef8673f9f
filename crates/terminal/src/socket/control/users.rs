//! Logins of users in the control API.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::ControlClient;
use super::protocol::{Error, Rejection, to_json};
use super::questions::Secret;
use adjutant_app::App;
use adjutant_assistant::UserId;
use adjutant_assistant::logins::Role;

/// Name of the actor in the audit log.
const ACTOR: &str = "user at the command line";

/// A request about the login of a user.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Gives the user a login, or changes it. Without a role it stays, and a new login has the role `user`.
    SetPassword { user: UserId, password: Secret, role: Option<Role> },
    /// Changes the role of a login. With an identity provider, a user without a login gets one.
    SetRole { user: UserId, role: Role },
    /// Takes the login away.
    Remove { user: UserId },
}

/// The client's calls.
impl ControlClient {
    /// Gives a user a login, or changes it; returns its role.
    pub fn set_password(
        &mut self,
        user: UserId,
        password: Secret,
        role: Option<Role>,
    ) -> Result<Role, Error> {
        self.ask(&super::Request::Users(Request::SetPassword { user, password, role }))
    }

    /// Changes the role of a login. With an identity provider, a user without a login gets one.
    pub fn set_role(&mut self, user: UserId, role: Role) -> Result<Role, Error> {
        self.ask(&super::Request::Users(Request::SetRole { user, role }))
    }

    /// Takes the login of a user away.
    pub fn remove_login(&mut self, user: UserId) -> Result<(), Error> {
        self.ask(&super::Request::Users(Request::Remove { user }))
    }
}

/// Handles a request.
pub(super) async fn answer(app: &App, request: Request) -> Result<Value, Rejection> {
    match request {
        Request::SetPassword { user, password: Secret(password), role } => {
            to_json(&app.set_password(&user, password, role, ACTOR).await.map_err(Rejection::new)?)
        }
        Request::SetRole { user, role } => {
            app.set_role(&user, role, ACTOR).await.map_err(Rejection::new)?;
            to_json(&role)
        }
        Request::Remove { user } => {
            let removed = app.assistant.remove_login(&user, ACTOR, Timestamp::now()).await;
            removed.map_err(Rejection::new)?;
            to_json(&())
        }
    }
}
