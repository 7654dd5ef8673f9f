//! A time zone by its IANA name. An unknown name is an error, never UTC.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::error::Error;

/// A zone of the IANA database. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone(TimeZone);

impl Zone {
    /// Returns Coordinated Universal Time.
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// Finds a zone by its IANA name, in any case.
    pub fn named(name: &str) -> Result<Self, Error> {
        let unknown = || Error::UnknownZone { name: name.chars().take(64).collect() };
        if name.eq_ignore_ascii_case("UTC") {
            return Ok(Self::utc());
        }
        let zone = TimeZone::get(name).map_err(|_| unknown())?;
        // A zone without a name could not be written down.
        if zone.iana_name().is_some() { Ok(Self(zone)) } else { Err(unknown()) }
    }

    /// Returns the IANA name, or `UTC`.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// The zone as the arithmetic takes it.
    pub fn rules(&self) -> &TimeZone {
        &self.0
    }

    /// Returns the civil time that the clocks of the zone show.
    pub fn civil(&self, at: Timestamp) -> DateTime {
        self.0.to_datetime(at)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TryFrom<String> for Zone {
    type Error = Error;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::named(&name)
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.name().to_owned()
    }
}
