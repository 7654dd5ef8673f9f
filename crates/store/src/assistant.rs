//! Users, calendars, events, plans and notifications: rows, and the verbs that move them.
//!
//! A change of an event and the changes of its planned notifications are one transaction. A notification goes from
//! planned to sending under a lease; every later change repeats the state and the attempt it starts from.

pub mod audit;
mod bulk_insert;
pub mod calendars;
pub mod events;
pub mod feeds;
pub mod logins;
pub mod notifications;
pub mod outbox;
mod packed_rows;
pub mod plans;
pub mod rules;
pub mod users;

/// Every statement of this folder, for the test that prepares them on both engines.
#[cfg(test)]
pub(super) const STATEMENTS: &[&[&str]] = &[
    audit::STATEMENTS,
    calendars::STATEMENTS,
    events::STATEMENTS,
    feeds::STATEMENTS,
    logins::STATEMENTS,
    notifications::STATEMENTS,
    outbox::STATEMENTS,
    plans::STATEMENTS,
    rules::STATEMENTS,
    users::STATEMENTS,
];
