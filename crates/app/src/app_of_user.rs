//! The application of a user who logged in: the same hub, with the questions that the user may see.

use std::sync::Arc;

use super::App;
use adjutant_assistant::logins::{Act, Login, Role};
use adjutant_questions::Viewer;

impl App {
    /// Returns the application through which a user acts who logged in.
    pub fn for_login(&self, login: Login) -> Arc<Self> {
        let (user, groups) = (login.user.as_str(), &self.config.questions.groups);
        let viewer = match login.role {
            Role::Operator => Viewer::operator(user),
            Role::User => Viewer::member(user, groups, true),
            Role::Viewer => Viewer::member(user, groups, false),
        };
        let questions = Arc::new(self.questions.for_viewer(viewer));
        Arc::new(Self { questions, login: Some(login), ..self.copy() })
    }

    /// Returns whether the user who acts through this application may do this. The owner of the hub may do everything.
    pub fn may(&self, act: Act) -> bool {
        self.login.as_ref().is_none_or(|login| login.role.includes(act))
    }
}
