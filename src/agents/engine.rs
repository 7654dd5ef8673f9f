//! The queue and what runs of it: one per process, shared by all workspaces.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::caller::{Caller, Viewer};
use super::task::{Happened, Page, Task, TaskId};
use super::{Error, Filter};
use crate::config::delegation::Delegation;
use crate::events::Events;
use crate::store::Store;

/// Shared by all that delegate.
#[derive(Debug)]
pub(super) struct Engine {
    settings: Delegation,
    store: Store,
    events: Events,
}

impl Engine {
    pub(super) fn new(settings: Delegation, store: Store, events: Events) -> Self {
        Self { settings, store, events }
    }

    pub(super) async fn get(&self, viewer: &Viewer, id: &TaskId) -> Result<Task, Error> {
        let _ = (viewer, &self.settings, &self.store, &self.events);
        Err(Error::UnknownTask { id: id.to_string() })
    }

    pub(super) async fn wait(
        &self,
        viewer: &Viewer,
        id: &TaskId,
        _patience: Duration,
    ) -> Result<Task, Error> {
        self.get(viewer, id).await
    }

    pub(super) async fn list(
        &self,
        _viewer: &Viewer,
        _filter: Filter,
        _before: Option<i64>,
        _limit: u32,
    ) -> Result<Page, Error> {
        Ok(Page { tasks: Vec::new(), total: 0, next: None })
    }

    pub(super) async fn cancel(&self, viewer: &Viewer, id: &TaskId) -> Result<Task, Error> {
        self.get(viewer, id).await
    }

    pub(super) async fn happened(
        &self,
        viewer: &Viewer,
        id: &TaskId,
        _after: i64,
        _limit: u32,
    ) -> Result<Vec<Happened>, Error> {
        self.get(viewer, id).await.map(|_| Vec::new())
    }

    pub(super) async fn changed(&self, _id: &TaskId, _after: i64, patience: Duration) {
        tokio::time::sleep(patience).await;
    }

    pub(super) async fn undelivered(&self, _caller: &Caller, _limit: u32) -> Result<Vec<Task>, Error> {
        Ok(Vec::new())
    }

    pub(super) async fn delivered(&self, _id: &TaskId) {}

    pub(super) async fn work(&self, stop: CancellationToken) {
        stop.cancelled().await;
    }
}
