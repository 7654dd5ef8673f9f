//! Changes of the logins of users, from the command line and from the console.

use jiff::Timestamp;

use super::App;
use adjutant_assistant::logins::Role;
use adjutant_assistant::{Error, UserId};

impl App {
    /// Gives a user a login with a password, or changes it, and returns its role: `role`, else the one before, else `user`. `actor`
    /// is for the audit.
    pub async fn set_password(
        &self,
        user: &UserId,
        password: String,
        role: Option<Role>,
        actor: &str,
    ) -> Result<Role, Error> {
        let before = self.assistant.login(user.as_str()).await?;
        let role = role.or(before.map(|login| login.role)).unwrap_or(Role::User);
        self.assistant.set_login(user, role, password, actor, Timestamp::now()).await?;
        Ok(role)
    }

    /// Changes the role of a user's login. With an identity provider, a user without a login gets one, which has no password.
    pub async fn set_role(&self, user: &UserId, role: Role, actor: &str) -> Result<(), Error> {
        self.assistant.set_role(user, role, self.openid.is_some(), actor, Timestamp::now()).await
    }
}
