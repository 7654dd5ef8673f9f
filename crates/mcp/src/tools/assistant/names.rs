//! Names of the assistant's tools.

pub(super) const USER: &str = "getUser";
pub(super) const EVENT: &str = "getEvent";
pub(super) const EVENTS: &str = "listEvents";
pub(super) const NOTIFICATIONS: &str = "listNotifications";
pub(super) const PLAN: &str = "planNotifications";

/// The tools of the contract.
pub(super) const CONTRACT: [&str; 5] = [USER, EVENT, EVENTS, NOTIFICATIONS, PLAN];

pub(super) const USERS: &str = "listUsers";
pub(super) const CREATE: &str = "createEvent";
pub(super) const UPDATE: &str = "updateEvent";
pub(super) const CANCEL: &str = "cancelEvent";

/// The tools that clients of 2024-11-05 do not have.
pub(super) const NEWER: [&str; 4] = [USERS, CREATE, UPDATE, CANCEL];
