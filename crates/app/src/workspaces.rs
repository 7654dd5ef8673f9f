//! The application of each workspace, in which the project's prompts and agents come before all others.
//!
//! Clients in one workspace share one application, which is dropped when the last of them disconnects.

use std::path::Path;
use std::sync::{Arc, Weak};

use super::App;
use adjutant_base::mutex::lock;
use adjutant_prompts::Prompts;

impl App {
    /// Returns the application with the prompts and agents of the project in `folder`; all else is shared.
    pub fn in_workspace(&self, folder: &Path) -> Arc<Self> {
        let mut known = lock(&self.workspaces);
        known.retain(|_, app| app.strong_count() > 0);
        if let Some(app) = known.get(folder).and_then(Weak::upgrade) {
            return app;
        }
        let mut config = self.config.clone();
        config.prompts.enter_workspace(folder);
        config.agents.enter_workspace(folder);
        let app = Arc::new(Self {
            agents: self.agents.with_agents(&config.agents),
            prompts: Prompts::new(&config.prompts),
            config,
            workspace: Some(folder.to_owned()),
            ..self.copy()
        });
        known.insert(folder.to_owned(), Arc::downgrade(&app));
        app
    }

    /// Returns an application that shares everything with this one.
    pub(super) fn copy(&self) -> Self {
        Self {
            assistant: self.assistant.clone(),
            codex: self.codex.clone(),
            agents: self.agents.clone(),
            questions: self.questions.clone(),
            prompts: self.prompts.clone(),
            recorder: self.recorder.clone(),
            config: self.config.clone(),
            events: self.events.clone(),
            clients: self.clients.clone(),
            activity: self.activity.clone(),
            requests: self.requests.clone(),
            agent_processes: self.agent_processes.clone(),
            listening: self.listening.clone(),
            toolsets: self.toolsets.clone(),
            waiters: self.waiters.clone(),
            approval_questions: self.approval_questions.clone(),
            allowed_changes: self.allowed_changes.clone(),
            permissions: self.permissions.clone(),
            earlier_questions: self.earlier_questions.clone(),
            stores: self.stores.clone(),
            workspaces: self.workspaces.clone(),
            repo_status: self.repo_status.clone(),
            user_list: self.user_list.clone(),
            workspace: self.workspace.clone(),
            login: self.login.clone(),
            openid: self.openid.clone(),
            shutdown: self.shutdown.clone(),
            started: self.started,
        }
    }

    /// Returns the application of each workspace that has a client now, by folder.
    pub fn workspaces(&self) -> Vec<Arc<Self>> {
        let known = lock(&self.workspaces);
        let mut apps: Vec<_> = known.values().filter_map(Weak::upgrade).collect();
        drop(known);
        apps.sort_by(|one, other| one.workspace.cmp(&other.workspace));
        apps
    }
}
