//! Why a run did not succeed: a closed list, decided by structured events first and by documented words second.

use std::time::Duration;

use super::Form;

/// A run that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) class: Class,
    /// One sentence for a person, bounded, without escape sequences; it may hold the runner's own words.
    pub(crate) detail: String,
    /// When the limit ends, where the runner told it.
    pub(crate) retry_after: Option<Duration>,
    /// The other command line that would get past this; the run did nothing yet.
    pub(crate) retry_with: Option<Form>,
}

/// What kind of failure it was. The words are stable: they stand in results and in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// Quota, rate limit or credit used up: the only class that moves on to the next runner.
    UsageLimit,
    /// Not logged in, or the key was refused.
    Authentication,
    /// The model's name is not known to the runner or its provider.
    ModelUnknown,
    /// The provider could not be reached.
    Network,
    /// The provider answered with an error of its own.
    Provider,
    /// The program is not there, or cannot be started.
    NotInstalled,
    /// A time limit of ours ended it.
    TimedOut(Limit),
    Cancelled,
    /// The runner declined: a permission, a folder it does not trust, a flag it does not know.
    Refused,
    /// It ended by a signal, or with a failure it did not explain.
    Crashed,
    /// It ended well, but what it wrote cannot be read.
    BadOutput,
    /// It ended well, and said nothing.
    EmptyAnswer,
    /// The hub went away while it ran.
    HubGone,
}

/// Which time limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Limit {
    Wall,
    Idle,
    FirstOutput,
}

impl Class {
    /// Returns the stable word for results, rows and logs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::UsageLimit => "usage_limit",
            Self::Authentication => "authentication",
            Self::ModelUnknown => "model_unknown",
            Self::Network => "network",
            Self::Provider => "provider",
            Self::NotInstalled => "not_installed",
            Self::TimedOut(Limit::Wall) => "timed_out",
            Self::TimedOut(Limit::Idle) => "timed_out_idle",
            Self::TimedOut(Limit::FirstOutput) => "timed_out_first_output",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
            Self::Crashed => "crashed",
            Self::BadOutput => "bad_output",
            Self::EmptyAnswer => "empty_answer",
            Self::HubGone => "hub_gone",
        }
    }
}
