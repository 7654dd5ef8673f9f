//! A time zone by its name. An unknown name is an error, never UTC.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A zone of the IANA database. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Zone(TimeZone);

impl Zone {
    pub(crate) fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// Finds a zone by its IANA name, in any case.
    pub(crate) fn named(name: &str) -> Result<Self, super::Error> {
        let unknown = || super::Error::UnknownZone { name: name.chars().take(64).collect() };
        if name.eq_ignore_ascii_case("UTC") {
            return Ok(Self::utc());
        }
        let zone = TimeZone::get(name).map_err(|_| unknown())?;
        // A zone without a name could not be written down.
        if zone.iana_name().is_some() { Ok(Self(zone)) } else { Err(unknown()) }
    }

    pub(crate) fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// The zone as the arithmetic takes it.
    pub(crate) fn rules(&self) -> &TimeZone {
        &self.0
    }

    /// Returns the civil time that the clocks of the zone show.
    pub(crate) fn civil(&self, at: Timestamp) -> DateTime {
        self.0.to_datetime(at)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TryFrom<String> for Zone {
    type Error = super::Error;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::named(&name)
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.name().to_owned()
    }
}
