//! Persistent values: the user's availability, the approval passphrase and the secrets of the hub.

use super::Questions;
use super::availability::Availability;
use super::error::Error;
use super::outcome::Channel;
use super::rows;
use adjutant_base::text::hex;
use adjutant_store::questions;

impl Questions {
    /// Returns the user's availability now.
    pub async fn availability(&self) -> Result<Availability, Error> {
        let text = questions::setting(&self.core.store, "availability").await?;
        let set: Availability = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Ok(set.at(self.core.clock.now()))
    }

    /// Sets the user's availability.
    pub async fn set_availability(&self, availability: Availability) -> Result<(), Error> {
        questions::set_setting(&self.core.store, "availability", &rows::json(&availability)).await?;
        self.announce();
        Ok(())
    }

    /// Sets the approval passphrase, or changes it if `current` is the old one. Keeps one core busy for a moment.
    pub async fn set_passphrase(&self, current: Option<String>, new: String) -> Result<(), Error> {
        let (passphrase, now) = (self.core.passphrase.clone(), self.core.clock.now());
        let set = tokio::task::spawn_blocking(move || passphrase.set(current.as_deref(), &new, now)).await;
        set.map_err(|_| Error::Passphrase("it was not kept".to_owned()))??;
        // Open questions of high risk can be answered now.
        self.announce();
        Ok(())
    }

    /// Checks a passphrase. Keeps one core busy for a moment, and requires a pause after wrong ones through this channel.
    pub async fn check_passphrase(&self, given: String, channel: Channel) -> Result<(), Error> {
        let (passphrase, now) = (self.core.passphrase.clone(), self.core.clock.now());
        // argon2 keeps a core busy for a moment, which would block the event loop.
        let checked = tokio::task::spawn_blocking(move || passphrase.check(&given, channel, now)).await;
        checked.map_err(|_| Error::Passphrase("it was not checked".to_owned()))?
    }

    /// Returns whether an approval passphrase is set.
    pub fn has_passphrase(&self) -> bool {
        self.core.passphrase.is_set()
    }

    /// Returns the secret that authenticates the buttons of phone notifications: made once and kept in the store.
    pub async fn phone_key(&self) -> Result<String, Error> {
        self.key("phone_key").await
    }

    /// Returns the secret that seals the state which clients carry between the rounds of a call. It is kept in the
    /// store because a question outlives its hub.
    pub async fn state_key(&self) -> Result<String, Error> {
        self.key("state_key").await
    }

    /// Returns a secret of 32 bytes in hexadecimal digits by its name: made once, and kept in the store.
    async fn key(&self, name: &str) -> Result<String, Error> {
        if let Some(key) = questions::setting(&self.core.store, name).await? {
            return Ok(key);
        }
        let key = hex::random::<32>().map_err(|_| Error::Random)?;
        Ok(questions::set_first(&self.core.store, name, &key).await?)
    }
}
