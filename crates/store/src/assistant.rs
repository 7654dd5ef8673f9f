//! Users, calendars, events, plans and notifications: rows, and the verbs that move them.
//!
//! A change of an event and what it means for the notifications planned for it are one transaction. A notification
//! goes from planned to sending under a lease; every later change repeats the state and the attempt it starts from.

pub(crate) mod audit;
pub(crate) mod calendars;
pub(crate) mod events;
pub(crate) mod feeds;
mod many;
pub(crate) mod notifications;
pub(crate) mod outbox;
mod packed;
pub(crate) mod plans;
pub(crate) mod rules;
pub(crate) mod users;

/// Defines a row: its struct, how it is read by position, and a macro that starts the statements which read it.
macro_rules! row {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $kind:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name { $($(#[$of])* pub(crate) $field: $kind),* }

        impl<'r> sqlx::FromRow<'r, sqlx::any::AnyRow> for $name {
            fn from_row(row: &'r sqlx::any::AnyRow) -> Result<Self, sqlx::Error> {
                let mut column = 0..;
                let mut next = || column.next().unwrap_or_default();
                Ok(Self { $($field: sqlx::Row::try_get(row, next())?),* })
            }
        }
    };
}

pub(crate) use row;

/// Every statement of this folder, for the test that has both engines read them.
#[cfg(test)]
pub(super) const STATEMENTS: &[&[&str]] = &[
    audit::STATEMENTS,
    calendars::STATEMENTS,
    events::STATEMENTS,
    feeds::STATEMENTS,
    notifications::STATEMENTS,
    outbox::STATEMENTS,
    plans::STATEMENTS,
    rules::STATEMENTS,
    users::STATEMENTS,
];
