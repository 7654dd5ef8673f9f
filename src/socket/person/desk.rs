//! The desk as a whole at the person's door: its passphrase, and whether the person takes questions.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::popups::Secret;
use super::{Error, Person, Refusal, written};
use crate::app::App;
use crate::popups::{self, Availability};

/// What a person does with the desk.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    /// Says whether a passphrase is set.
    HasPassphrase,
    /// Sets the passphrase; `current` proves the one that is set.
    SetPassphrase { current: Option<Secret>, new: Secret },
    /// Says whether the person takes questions.
    IsAvailable,
    /// Sets it.
    Availability(Availability),
}

/// The client's calls.
impl Person {
    pub(crate) fn has_passphrase(&mut self) -> Result<bool, Error> {
        self.ask(&super::Act::Desk(Act::HasPassphrase))
    }

    pub(crate) fn set_passphrase(&mut self, current: Option<Secret>, new: Secret) -> Result<(), Error> {
        self.ask(&super::Act::Desk(Act::SetPassphrase { current, new }))
    }

    pub(crate) fn availability(&mut self) -> Result<Availability, Error> {
        self.ask(&super::Act::Desk(Act::IsAvailable))
    }

    pub(crate) fn set_availability(&mut self, availability: Availability) -> Result<(), Error> {
        self.ask(&super::Act::Desk(Act::Availability(availability)))
    }
}

/// Does an act with calls of the room.
pub(super) async fn answer(app: &App, act: Act) -> Result<Value, Refusal> {
    let popups = &app.popups;
    let done = match act {
        Act::HasPassphrase => return written(&popups.has_passphrase()),
        Act::IsAvailable => match popups.availability().await {
            Ok(availability) => return written(&availability),
            Err(error) => Err(error),
        },
        Act::SetPassphrase { current, new: Secret(new) } => {
            popups.set_passphrase(current.map(|Secret(current)| current), new).await
        }
        Act::Availability(availability) => popups.set_availability(availability).await,
    };
    if let Err(popups::Error::Store(source)) = &done {
        tracing::error!(error = %source, "the store failed");
    }
    done.map_err(Refusal::new)?;
    written(&())
}
