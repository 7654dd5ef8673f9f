//! Names of the tools of the assistant contract.

pub(super) const USER: &str = "getUser";
pub(super) const EVENT: &str = "getEvent";
pub(super) const EVENTS: &str = "listEvents";
pub(super) const NOTIFICATIONS: &str = "listNotifications";
pub(super) const PLAN: &str = "planNotifications";

/// All tools.
pub(super) const NAMES: [&str; 5] = [USER, EVENT, EVENTS, NOTIFICATIONS, PLAN];
