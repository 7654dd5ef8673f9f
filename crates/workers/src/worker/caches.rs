//! Bare repositories that a worker keeps for each repository of a hub, so that only new commits travel.

use std::path::Path;

use super::Worker;
use crate::protocol::{MAX_COMMITS, can_be_subject};
use adjutant_agents::Agents;
use adjutant_agents::worker_order::Order;

impl Worker {
    /// Returns the commits of a hub's repositories that this worker has.
    pub(super) async fn cached_commits(&self, hub: &str) -> Vec<String> {
        let (folder, start) = (self.settings.caches.clone(), format!("{hub}-"));
        let read = tokio::task::spawn_blocking(move || Agents::cached_commits(&folder, &start));
        let mut commits = read.await.unwrap_or_default();
        commits.truncate(MAX_COMMITS);
        commits
    }

    /// Makes the working tree of an order from its bundles and the cache. The error is a sentence fragment.
    pub(super) async fn make_tree(&self, hub: &str, order: &Order, folder: &Path) -> Result<(), String> {
        if !can_be_subject(&order.repository) {
            return Err("the name of its repository is not valid".to_owned());
        }
        let caches = &self.settings.caches;
        std::fs::create_dir_all(caches).map_err(|error| error.to_string())?;
        let cache = caches.join(format!("{hub}-{}.git", order.repository));
        let _alone = self.trees.lock().await;
        self.agents.make_tree(order, folder, &cache).await
    }

    /// Removes caches over the limit, unless another claim counts on one of them now.
    pub(super) async fn tidy_caches(&self, hub: &str, order: &Order, folder: &Path) {
        let Ok(_alone) = self.caches.try_write() else { return };
        let caches = &self.settings.caches;
        let kept = caches.join(format!("{hub}-{}.git", order.repository));
        let limit = self.settings.max_cache_bytes;
        if let Err(reason) = self.agents.tidy_caches(caches, &kept, limit, folder).await {
            tracing::warn!(reason, "the caches of repositories could not be tidied");
        }
    }
}
