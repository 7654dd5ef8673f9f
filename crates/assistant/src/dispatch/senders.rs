//! Senders of the channels that the assistant owns, opened once for each hub.

use adjutant_base::config::notification_delivery::Delivery;

use super::email::Mailer;
use super::message::PresentFn;
use super::webhook;

/// The sender of each channel.
pub(super) struct Senders {
    pub(super) delivery: Delivery,
    pub(super) mail: Mailer,
    /// `None` where no HTTP client could be made.
    pub(super) http: Option<reqwest::Client>,
    pub(super) present: PresentFn,
}

impl Senders {
    /// Makes the senders of a configuration. Connects to nothing yet.
    pub(super) fn new(delivery: Delivery, present: PresentFn) -> Self {
        let http = webhook::client().inspect_err(|error| tracing::error!(%error, "no HTTP client")).ok();
        Self { mail: Mailer::new(&delivery), delivery, http, present }
    }
}
