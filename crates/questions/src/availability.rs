//! The user's availability: whether new questions are accepted now.

use serde::{Deserialize, Serialize};

use adjutant_base::text::timefmt;
use adjutant_store::Millis;

/// The availability that the user has set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    #[default]
    Here,
    /// Lasts until that instant, or without one until the user changes it.
    DoNotDisturb {
        until: Option<Millis>,
    },
    Away {
        until: Option<Millis>,
    },
}

impl Availability {
    /// Returns the availability at `now`; after its end it is [`Self::Here`].
    pub fn at(self, now: Millis) -> Self {
        match self.until() {
            Some(until) if until <= now => Self::Here,
            _ => self,
        }
    }

    /// Returns the instant at which it ends by itself.
    pub fn until(self) -> Option<Millis> {
        match self {
            Self::Here => None,
            Self::DoNotDisturb { until } | Self::Away { until } => until,
        }
    }

    /// Returns the word that agents read.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::DoNotDisturb { .. } => "do_not_disturb",
            Self::Away { .. } => "away",
        }
    }

    /// Returns it as a sentence fragment.
    pub fn sentence(self) -> String {
        let what = match self {
            Self::Here => "the user is here",
            Self::DoNotDisturb { .. } => "the user does not want to be disturbed",
            Self::Away { .. } => "the user is away",
        };
        match self.until() {
            Some(until) => format!("{what} until {}", timefmt::stamp(timefmt::instant(until))),
            None => what.to_owned(),
        }
    }
}
