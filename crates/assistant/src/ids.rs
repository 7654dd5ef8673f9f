//! Ids of users, events, plans and notifications.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use adjutant_base::text::random_id::random_id;
use adjutant_store::assistant::notifications::SNOOZED;

/// Random characters of an id: 80 bits.
const ID_LEN: usize = 16;

/// Maximum bytes of an id that a user or a client wrote.
pub const MAX_LEN: usize = 200;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Makes a new one from the system's randomness.
            pub fn new() -> Result<Self, Error> {
                random().map(|letters| Self(format!(concat!($prefix, "-{}"), letters)))
            }

            /// Parses an id that a user or a client wrote; `None` if nothing can have it.
            pub fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Takes the id of a row.
            pub(super) fn from_row(text: String) -> Self {
                Self(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = &'static str;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    "" => Err("an id is not empty"),
                    _ if text.len() > MAX_LEN => Err("an id has at most 200 bytes"),
                    _ if text.contains(char::is_control) => Err("an id has no control characters"),
                    _ => Ok(Self(text.to_owned())),
                }
            }
        }
    )*};
}

ids! {
    /// Names a user: chosen (`ann`), or made.
    UserId = "user";
    /// Names a calendar.
    CalendarId = "calendar";
    /// Names an event: a single one, a series, or one changed occurrence of a series.
    EventId = "event";
    /// Names a rule of a user.
    RuleId = "rule";
    /// Names a plan.
    PlanId = "plan";
    /// Names a notification. A mail's Message-ID is made of it, so that a second try is seen as the same mail.
    NotificationId = "notification";
}

impl EventId {
    /// Makes ids for events that are added together. They ascend, so that the database writes neighbours, not a page of
    /// each index for each event.
    pub(super) fn ascending() -> Result<impl Iterator<Item = Self>, Error> {
        let letters = random_letters::<{ ID_LEN - 5 }>()?;
        Ok((0_u64..).map(move |number| Self(format!("event-{letters}{number:05x}"))))
    }
}

impl NotificationId {
    /// Makes one for a notification that the user snoozed, which a later plan leaves alone.
    pub(super) fn snoozed() -> Result<Self, Error> {
        Ok(Self(format!("{}{SNOOZED}", Self::new()?)))
    }

    /// Returns the id of the step that follows this one when nobody acknowledges it.
    pub(super) fn next_step(&self) -> Self {
        Self(format!("{}-next", self.0))
    }
}

/// Makes an id for a line of the audit, which is never looked up by it.
pub(super) fn audit_id() -> Result<String, Error> {
    random().map(|letters| format!("audit-{letters}"))
}

fn random() -> Result<String, Error> {
    random_letters::<ID_LEN>()
}

/// Returns a random text of this many characters.
pub(super) fn random_letters<const COUNT: usize>() -> Result<String, Error> {
    random_id::<COUNT>().map_err(|_| Error::Randomness)
}

#[cfg(test)]
mod tests {
    use super::EventId;
    use adjutant_base::text::random_id::is_random_id;

    #[test]
    fn events_that_are_added_together_have_ids_in_their_order() {
        let ids: Vec<EventId> = EventId::ascending().unwrap().take(100_000).collect();
        assert!(ids.is_sorted_by(|one, next| one < next));
        assert!(
            ids.iter().all(|id| is_random_id(id.as_str().strip_prefix("event-").unwrap(), super::ID_LEN))
        );
        assert!(!ids.contains(&EventId::ascending().unwrap().next().unwrap()));
    }
}
