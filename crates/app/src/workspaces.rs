//! The application as a client in a workspace sees it: with the project's prompts before all others.
//!
//! Clients in one workspace share one set of prompts; it goes when the last of them has left.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::App;
use crate::prompts::Prompts;

/// The workspaces that have clients now.
#[derive(Debug, Default)]
pub(crate) struct Workspaces(Mutex<HashMap<PathBuf, Weak<App>>>);

impl Workspaces {
    /// Returns those that have a client now, by folder.
    pub(super) fn all(&self) -> Vec<Arc<App>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut apps: Vec<_> = known.values().filter_map(Weak::upgrade).collect();
        drop(known);
        apps.sort_by(|one, other| one.workspace.cmp(&other.workspace));
        apps
    }
}

impl App {
    /// Returns the application with the prompts of the project in `folder`; all else is shared.
    pub(crate) fn in_workspace(&self, folder: &Path) -> Arc<Self> {
        let mut known = self.workspaces.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, app| app.strong_count() > 0);
        if let Some(app) = known.get(folder).and_then(Weak::upgrade) {
            return app;
        }
        let mut config = self.config.clone();
        config.prompts.enter_workspace(folder);
        config.agents.enter_workspace(folder);
        let app = Arc::new(Self {
            assistant: self.assistant.clone(),
            codex: self.codex.clone(),
            agents: self.agents.with_agents(&config.agents),
            popups: self.popups.clone(),
            prompts: Prompts::new(config.prompts.roots.clone(), config.prompts.limits),
            recorder: self.recorder.clone(),
            config,
            events: self.events.clone(),
            clients: self.clients.clone(),
            activity: self.activity.clone(),
            listening: self.listening.clone(),
            rooms: self.rooms.clone(),
            awaited: self.awaited.clone(),
            stores: self.stores.clone(),
            workspaces: Workspaces::default(),
            facts: self.facts.clone(),
            people: self.people.clone(),
            workspace: Some(folder.to_owned()),
            shutdown: self.shutdown.clone(),
            started: self.started,
        });
        known.insert(folder.to_owned(), Arc::downgrade(&app));
        app
    }
}
