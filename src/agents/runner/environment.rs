//! What of the hub's environment a runner gets: an allow-list, so that a secret of the hub is never a runner's.

use std::ffi::OsString;

/// The environment that runs are given their share of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// As the hub found it when it started.
    pub(crate) variables: Vec<(OsString, OsString)>,
}
