//! A time zone by its IANA name, or by the definition of a calendar file. An unknown name is an error, never UTC.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::calendar::zone_definition;
use crate::error::Error;

/// Maximum definitions that are kept as they were read; they are read again otherwise.
const MAX_DEFINITIONS: usize = 64;

static DEFINITIONS: Mutex<BTreeMap<String, TimeZone>> = Mutex::new(BTreeMap::new());

/// A zone of the IANA database or of a calendar file. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone(TimeZone);

impl Zone {
    /// Returns Coordinated Universal Time.
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// Finds a zone by its IANA name, in any case, or reads the definition that it was stored as.
    pub fn named(name: &str) -> Result<Self, Error> {
        let unknown = || Error::UnknownZone { name: name.chars().take(64).collect() };
        if name.eq_ignore_ascii_case("UTC") {
            return Ok(Self::utc());
        }
        if name.starts_with(zone_definition::PREFIX) {
            let mut known = DEFINITIONS.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(zone) = known.get(name) {
                return Ok(Self(zone.clone()));
            }
            let zone = Self::defined(name).ok_or_else(unknown)?;
            if known.len() >= MAX_DEFINITIONS {
                known.clear();
            }
            known.insert(name.to_owned(), zone.0.clone());
            return Ok(zone);
        }
        let zone = TimeZone::get(name).map_err(|_| unknown())?;
        // A zone without a name could not be written down.
        if zone.iana_name().is_some() { Ok(Self(zone)) } else { Err(unknown()) }
    }

    /// Reads a `VTIMEZONE`; `None` where it defines no zone.
    pub(crate) fn defined(text: &str) -> Option<Self> {
        Some(Self(zone_definition::read(text)?))
    }

    /// Returns the IANA name, `UTC`, or the name in the calendar file.
    pub fn name(&self) -> &str {
        let name = self.stored();
        let defined = name.strip_prefix(zone_definition::PREFIX);
        defined.map_or(name, |definition| definition.lines().next().unwrap_or_default())
    }

    /// Returns the text that [`Zone::named`] finds the zone by.
    fn stored(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Returns the rules of the zone for calculations with jiff.
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
        zone.stored().to_owned()
    }
}
