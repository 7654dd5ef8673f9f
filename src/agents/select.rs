//! Which runner runs an agent: the named one first if it supports the agent's model, then the others by ascending
//! priority, ties by name. A runner at its usage limit rests before it is tried again.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::runner::{Form, Runner};

/// A runner with its place in the order.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) runner: Runner,
    /// Lower goes first.
    pub(crate) priority: i64,
    /// Empty means every model.
    pub(crate) models: Vec<String>,
    /// Where the configuration says the program is; else it is looked for on the PATH.
    pub(crate) program: Option<PathBuf>,
}

/// All runners of a hub, and which of them rest.
#[derive(Debug)]
pub(crate) struct Selector {
    candidates: Vec<Candidate>,
    /// The runner named on the command line.
    preferred: Option<String>,
    form: Form,
    /// How long a limited runner rests when it does not tell.
    cooldown: Duration,
    resting: Mutex<Vec<(String, Instant)>>,
}

/// A runner to try.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) runner: Runner,
    pub(crate) program: PathBuf,
    pub(crate) form: Form,
}

/// What selection thought of one runner, for the receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Considered {
    pub(crate) runner: String,
    pub(crate) verdict: Verdict,
}

/// Why a runner is or is not tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was named and supports the model.
    Named,
    /// Its turn by priority.
    Priority(i64),
    OtherModels(Vec<String>),
    NotInstalled,
    /// It was at its usage limit; this much longer.
    Resting(Duration),
}

/// The runners to try, in order, and what was thought of every one.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) choices: Vec<Choice>,
    pub(crate) considered: Vec<Considered>,
}

impl Selector {
    /// Says which runners to try for an agent with this `model`, and with this runner named in its own file.
    /// `now` is the time that rests are measured by.
    pub(crate) fn plan(&self, model: Option<&str>, named: Option<&str>, now: Instant) -> Plan {
        let _ = (&self.candidates, &self.preferred, self.form, model, named, now);
        Plan { choices: Vec::new(), considered: Vec::new() }
    }

    /// Lets `runner` rest: it was at its usage limit.
    pub(crate) fn limited(&self, runner: &str, retry_after: Option<Duration>, now: Instant) {
        let _ = (runner, retry_after, now, self.cooldown, &self.resting);
    }
}
