//! Resources that a client watches by address, and the digest of each when it was last read.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use rmcp::model::SubscriptionFilter;
use tokio::time::{Instant, timeout_at};

use crate::client_context::ClientContext;
use crate::{assistant, skills};
use adjutant_base::config::toolsets::Toolset;
use adjutant_base::mutex::lock;

/// Resources that one subscription, or one connection of a client with a handshake, may watch.
pub(crate) const MAX_WATCHED: usize = 64;

/// Maximum bytes of a watched address.
const MAX_ADDRESS_BYTES: usize = 2048;

/// Timeout of one read of all watched resources. A subscription, or the next notification, waits no longer for it.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// The resources of one subscription or connection, by address.
#[derive(Debug, Default)]
pub(crate) struct WatchedResources(Mutex<BTreeMap<String, Version>>);

/// The state of a resource when it was last read.
#[derive(Debug, PartialEq, Eq)]
enum Version {
    /// It could not be read, so the client may know another version.
    Unknown,
    Missing,
    Digest(String),
}

impl WatchedResources {
    /// Stops watching an address. An address that is not watched is ignored.
    pub(crate) fn remove(&self, uri: &str) {
        lock(&self.0).remove(uri);
    }
}

/// Watches `addresses`. One that could not be read until `end` is reported as changed once it can be read.
pub(super) async fn watch_all(
    client: &ClientContext,
    addresses: Vec<String>,
    end: Instant,
) -> WatchedResources {
    let mut versions = BTreeMap::new();
    for uri in addresses {
        let now = timeout_at(end, version(client, &uri)).await.ok().flatten();
        versions.insert(uri, now.unwrap_or(Version::Unknown));
    }
    WatchedResources(Mutex::new(versions))
}

/// Adds an address to `watched`. Returns `false` if there are [`MAX_WATCHED`] already.
pub(crate) async fn watch(client: &ClientContext, watched: &WatchedResources, uri: &str) -> bool {
    let now = version(client, uri).await.unwrap_or(Version::Unknown);
    let mut versions = lock(&watched.0);
    let fits = versions.contains_key(uri) || versions.len() < MAX_WATCHED;
    if fits {
        versions.insert(uri.to_owned(), now);
    }
    fits
}

/// Reads all watched resources again, and returns the addresses of those that changed since they were last read.
pub(super) async fn changed_resources(client: &ClientContext, watched: &WatchedResources) -> Vec<String> {
    let addresses: Vec<String> = lock(&watched.0).keys().cloned().collect();
    let (mut changed, end) = (Vec::new(), Instant::now() + READ_TIMEOUT);
    for uri in addresses {
        let Ok(Some(now)) = timeout_at(end, version(client, &uri)).await else { continue };
        let mut versions = lock(&watched.0);
        let Some(before) = versions.get_mut(&uri).filter(|before| **before != now) else { continue };
        *before = now;
        changed.push(uri);
    }
    changed
}

/// Returns whether this client can watch a resource with this address. The resource need not exist.
pub(crate) fn can_be_watched(client: &ClientContext, uri: &str) -> bool {
    let of_toolset = |toolset, has_form: fn(&str) -> bool| client.has(toolset) && has_form(uri);
    uri.len() <= MAX_ADDRESS_BYTES
        && (of_toolset(Toolset::Prompts, skills::is_skill_uri)
            || of_toolset(Toolset::Assistant, assistant::is_resource_uri))
}

/// Returns the part of a requested filter that is granted: the addresses that can be watched, at most
/// [`MAX_WATCHED`]. rmcp leaves out what the server does not declare.
pub(crate) fn granted_filter(client: &ClientContext, requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut granted = requested.clone();
    if let Some(resources) = &mut granted.resource_subscriptions {
        resources.retain(|uri| can_be_watched(client, uri));
        resources.truncate(MAX_WATCHED);
    }
    granted
}

/// Reads a resource; `None` if it cannot be read now.
async fn version(client: &ClientContext, uri: &str) -> Option<Version> {
    if !can_be_watched(client, uri) {
        return Some(Version::Missing);
    }
    let digest = if skills::is_skill_uri(uri) {
        skills::digest(&*client.prompts().await, uri)
    } else {
        assistant::digest(client, uri).await?
    };
    Some(digest.map_or(Version::Missing, Version::Digest))
}
