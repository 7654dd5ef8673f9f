//! The Inbox as a whole in the control API: its passphrase, and the user's availability.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::ControlClient;
use super::protocol::{Error, Rejection, to_json};
use super::questions::Secret;
use crate::socket::principal::ControlPeer;
use adjutant_questions as questions;
use adjutant_questions::Availability;

/// A request about the Inbox.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Returns whether a passphrase is set.
    HasPassphrase,
    /// Checks that the user asks.
    Prepare,
    /// Sets the passphrase; `current` proves the one that is set.
    SetPassphrase { current: Option<Secret>, new: Secret },
    /// Gives the session of this process a ticket, for the approval passphrase.
    Prove(Secret),
    /// Returns the availability.
    IsAvailable,
    /// Sets the availability.
    Availability(Availability),
}

impl Request {
    /// Returns whether it decides who may answer, or whether anybody may ask. What needs the passphrase that is set
    /// proves itself.
    pub(super) fn decides(&self) -> bool {
        matches!(self, Self::Prepare | Self::SetPassphrase { current: None, .. } | Self::Availability(_))
    }
}

/// The client's calls.
impl ControlClient {
    /// Returns whether an approval passphrase is set.
    pub fn has_passphrase(&mut self) -> Result<bool, Error> {
        self.ask(&super::Request::Inbox(Request::HasPassphrase))
    }

    /// Checks that the hub accepts a first passphrase from this process.
    pub fn prepare_passphrase(&mut self) -> Result<(), Error> {
        self.ask(&super::Request::Inbox(Request::Prepare))
    }

    /// Sets the approval passphrase; the hub rejects a wrong `current` one.
    pub fn set_passphrase(&mut self, current: Option<Secret>, new: Secret) -> Result<(), Error> {
        self.ask(&super::Request::Inbox(Request::SetPassphrase { current, new }))
    }

    /// Proves with the approval passphrase that the user is in the session of this process, for an hour.
    pub fn prove(&mut self, passphrase: Secret) -> Result<(), Error> {
        self.ask(&super::Request::Inbox(Request::Prove(passphrase)))
    }

    /// Returns whether the user accepts questions now.
    pub fn availability(&mut self) -> Result<Availability, Error> {
        self.ask(&super::Request::Inbox(Request::IsAvailable))
    }

    /// Sets whether the user accepts questions.
    pub fn set_availability(&mut self, availability: Availability) -> Result<(), Error> {
        self.ask(&super::Request::Inbox(Request::Availability(availability)))
    }
}

/// Handles a request.
pub(super) async fn answer(peer: &ControlPeer, request: Request) -> Result<Value, Rejection> {
    let questions = &peer.app.questions;
    let done = match request {
        Request::HasPassphrase => return to_json(&questions.has_passphrase()),
        Request::IsAvailable => match questions.availability().await {
            Ok(availability) => return to_json(&availability),
            Err(error) => Err(error),
        },
        Request::Prepare => Ok(()),
        Request::SetPassphrase { current, new: Secret(new) } => {
            let set = questions.set_passphrase(current.map(|Secret(current)| current), new).await;
            if set.is_ok() {
                peer.end_tickets();
            }
            set
        }
        Request::Prove(Secret(passphrase)) => peer.prove(passphrase).await,
        Request::Availability(availability) => questions.set_availability(availability).await,
    };
    if let Err(questions::Error::Store(source)) = &done {
        tracing::error!(error = %source, "the store failed");
    }
    done.map_err(Rejection::new)?;
    to_json(&())
}
