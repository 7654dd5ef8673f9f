//! Settings of workers on other machines, which run tasks for this hub.

use std::time::Duration;

use super::table::{Plain, PositiveSeconds};

super::table::settings! {
    /// The NATS server through which workers get tasks, and the limits of what travels.
    #[derive(Clone, Debug)]
    pub struct WorkersConfig, file File, section "workers" {
        /// Address of the NATS server, such as `nats://127.0.0.1:4222`. Without it no task leaves this machine, and hubs do not wake each other.
        nats: Option<String> = None, nats as Plain;
        /// Credentials file of the NATS server; relative to the home folder. Without it the hub uses the account of `adjutant worker nats-config`, if it was made.
        creds: Option<String> = None, creds as Plain;
        /// Seconds without a report after which a worker counts as lost.
        lost_after: Duration = Duration::from_mins(1), lost_after_seconds as PositiveSeconds;
        /// Seconds after which the credentials of a joined worker end. A worker that reports gets new ones after half of them.
        credentials_lifetime: Duration = Duration::from_hours(7 * 24), credentials_lifetime_seconds as PositiveSeconds;
        /// Maximum bytes of the bundle of a repository, and of a result.
        max_bundle_bytes: u64 = 256 * 1024 * 1024, max_bundle_bytes as Plain;
    }
    others {}
}
