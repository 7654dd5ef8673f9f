//! Whether the person takes questions now.

use serde::{Deserialize, Serialize};

use crate::clock;
use crate::store::Millis;

/// What the person set for the desk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Availability {
    #[default]
    Here,
    /// Until that instant, or until it is changed.
    DoNotDisturb {
        until: Option<Millis>,
    },
    Away {
        until: Option<Millis>,
    },
}

impl Availability {
    /// Returns what holds at `now`: what has run out is [`Self::Here`].
    pub(crate) fn at(self, now: Millis) -> Self {
        match self.until() {
            Some(until) if until <= now => Self::Here,
            _ => self,
        }
    }

    /// Returns when it ends by itself.
    pub(crate) fn until(self) -> Option<Millis> {
        match self {
            Self::Here => None,
            Self::DoNotDisturb { until } | Self::Away { until } => until,
        }
    }

    /// Returns the word that agents read.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::DoNotDisturb { .. } => "do_not_disturb",
            Self::Away { .. } => "away",
        }
    }

    /// Says it in a sentence fragment.
    pub(crate) fn sentence(self) -> String {
        let what = match self {
            Self::Here => "the person is here",
            Self::DoNotDisturb { .. } => "the person does not want to be disturbed",
            Self::Away { .. } => "the person is away",
        };
        match self.until() {
            Some(until) => format!("{what} until {}", clock::stamp(clock::instant(until))),
            None => what.to_owned(),
        }
    }
}
