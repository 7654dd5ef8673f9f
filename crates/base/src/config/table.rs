//! The table of settings: `settings!` declares a section of `config.toml`, `table!` a table inside one.
//!
//! A setting's key, type, notation, default and sentence are written once. From them come the field of the
//! configuration, the keys that the file may have, the effective value that `/settings` shows, and
//! `docs/configuration.md`. A changed setting takes effect at the next start, but for the sections in
//! `takes_effect_at_once` of `sources.rs`.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::env;
use super::error::Error;

/// Text in place of a secret value, because everybody with a login can read the console.
pub(super) const SECRET: &str = "set, not shown";

/// A setting with its effective value.
pub(super) struct Row {
    /// Section, a dot, and the name in it; the name alone at the top of the file.
    pub(super) key: String,
    /// The value as `config.toml` spells it; empty if nothing is set.
    pub(super) value: String,
    /// The sentence of the reference.
    pub(super) about: &'static str,
}

impl Row {
    pub(super) fn new(section: &str, name: &str, value: String, about: &'static str) -> Self {
        let key = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
        Self { key, value, about: about.trim_ascii() }
    }
}

/// The notation of a value of type `T` in `config.toml`.
pub(super) trait Notation<T> {
    type Written: DeserializeOwned;

    /// Validates the written value; relative paths are below `home`.
    fn read(written: Self::Written, home: &Path) -> Result<T, Error>;

    /// Renders a value for the settings page; secrets are left out.
    fn show(value: &T) -> String;
}

/// Renders a value as TOML; an absent one is empty.
pub(super) fn to_toml(value: &impl Serialize) -> String {
    toml::Value::try_from(value).map(|value| value.to_string()).unwrap_or_default()
}

/// A value that the file spells in its serde form.
pub(super) struct Plain;

impl<T: Serialize + DeserializeOwned> Notation<T> for Plain {
    type Written = T;

    fn read(written: T, _home: &Path) -> Result<T, Error> {
        Ok(written)
    }

    fn show(value: &T) -> String {
        to_toml(value)
    }
}

/// A file; relative to the home folder.
pub(super) struct FileInHome;

impl Notation<Option<PathBuf>> for FileInHome {
    type Written = String;

    fn read(written: String, home: &Path) -> Result<Option<PathBuf>, Error> {
        Ok(Some(home.join(written)))
    }

    fn show(value: &Option<PathBuf>) -> String {
        format!("{:?}", value.as_deref().map(env::abbreviate).unwrap_or_default())
    }
}

/// A count in which 0 counts as 1, because a limit of 0 would let nothing run.
pub(super) struct AtLeastOne;

impl Notation<u32> for AtLeastOne {
    type Written = u32;

    fn read(written: u32, _home: &Path) -> Result<u32, Error> {
        Ok(written.max(1))
    }

    fn show(value: &u32) -> String {
        value.to_string()
    }
}

/// A whole number of units of `UNIT` milliseconds.
pub(super) struct Span<const UNIT: u64>;

/// The same, without 0.
pub(super) struct PositiveSpan<const UNIT: u64>;

pub(super) type Milliseconds = Span<1>;
pub(super) type Seconds = Span<1000>;
pub(super) type PositiveSeconds = PositiveSpan<1000>;
pub(super) type PositiveMinutes = PositiveSpan<60_000>;
pub(super) type Days = Span<MILLIS_PER_DAY>;
pub(super) type PositiveDays = PositiveSpan<MILLIS_PER_DAY>;

const MILLIS_PER_DAY: u64 = 24 * 60 * 60 * 1000;

/// The longest span in milliseconds. A longer one could not be added to an instant.
const MAX_SPAN: u64 = 100_000 * MILLIS_PER_DAY;

impl<const UNIT: u64> Notation<Duration> for Span<UNIT> {
    type Written = u64;

    fn read(written: u64, _home: &Path) -> Result<Duration, Error> {
        Ok(Duration::from_millis(written.saturating_mul(UNIT).min(MAX_SPAN)))
    }

    fn show(value: &Duration) -> String {
        (value.as_millis() / u128::from(UNIT)).to_string()
    }
}

impl<const UNIT: u64> Notation<Duration> for PositiveSpan<UNIT> {
    type Written = NonZeroU64;

    fn read(written: NonZeroU64, home: &Path) -> Result<Duration, Error> {
        Span::<UNIT>::read(written.get(), home)
    }

    fn show(value: &Duration) -> String {
        Span::<UNIT>::show(value)
    }
}

/// Seconds, in which 0 means no limit.
impl Notation<Option<Duration>> for Seconds {
    type Written = u64;

    fn read(written: u64, home: &Path) -> Result<Option<Duration>, Error> {
        <Self as Notation<Duration>>::read(written, home)
            .map(|span| Some(span).filter(|span| !span.is_zero()))
    }

    fn show(value: &Option<Duration>) -> String {
        <Self as Notation<Duration>>::show(&value.unwrap_or_default())
    }
}

/// Prefixes of client names, which are compared in lower case.
pub(super) struct Clients;

impl Notation<Vec<String>> for Clients {
    type Written = Vec<String>;

    fn read(written: Vec<String>, _home: &Path) -> Result<Vec<String>, Error> {
        Ok(written.iter().map(|client| client.to_ascii_lowercase()).collect())
    }

    fn show(value: &Vec<String>) -> String {
        to_toml(value)
    }
}

/// Seconds by the prefix of a client's name.
impl Notation<BTreeMap<String, Duration>> for Clients {
    type Written = BTreeMap<String, u64>;

    fn read(written: BTreeMap<String, u64>, home: &Path) -> Result<BTreeMap<String, Duration>, Error> {
        let entry = |(client, seconds): (String, u64)| {
            Ok((client.to_ascii_lowercase(), <Seconds as Notation<Duration>>::read(seconds, home)?))
        };
        written.into_iter().map(entry).collect()
    }

    fn show(value: &BTreeMap<String, Duration>) -> String {
        to_toml(&value.iter().map(|(client, span)| (client, span.as_secs())).collect::<BTreeMap<_, _>>())
    }
}

/// Declares a section of `config.toml`: the struct of its values with their defaults, and the file's form of it.
///
/// A setting is a field with its sentence as doc comment, its type and default, its key, and its [`Notation`].
/// `others` are fields that no key sets; `tables` are members of the file's form that the caller applies itself.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $Config:ident, file $File:ident, section $section:literal {
            $($(#[doc = $about:literal])+ $field:ident: $type:ty = $default:expr, $key:ident as $notation:ty;)*
        }
        others { $($(#[$other_meta:meta])* $other:ident: $other_type:ty = $other_default:expr;)* }
        $(tables { $($table:ident: $table_type:ty;)* })?
    ) => {
        $(#[$meta])*
        pub struct $Config {
            $($(#[doc = $about])+ pub $field: $type,)*
            $($(#[$other_meta])* pub $other: $other_type,)*
        }

        impl Default for $Config {
            fn default() -> Self {
                Self { $($field: $default,)* $($other: $other_default,)* }
            }
        }

        impl $Config {
            /// Returns the section's settings with their values, in the order of the table.
            pub(in crate::config) fn rows(&self) -> Vec<$crate::config::table::Row> {
                vec![$($crate::config::table::Row::new(
                    $section,
                    stringify!($key),
                    <$notation as $crate::config::table::Notation<$type>>::show(&self.$field),
                    concat!($($about),+),
                )),*]
            }
        }

        /// The section as it is written; every key may be missing.
        #[derive(Default, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub(in crate::config) struct $File {
            $($key: Option<<$notation as $crate::config::table::Notation<$type>>::Written>,)*
            $($(pub(in crate::config) $table: $table_type,)*)?
        }

        impl $File {
            /// Applies the section to `config`; relative paths are below `home`.
            pub(in crate::config) fn apply(
                self,
                config: &mut $Config,
                home: &std::path::Path,
            ) -> Result<(), $crate::config::error::Error> {
                $(if let Some(written) = self.$key {
                    config.$field = <$notation as $crate::config::table::Notation<$type>>::read(written, home)?;
                })*
                Ok(())
            }
        }
    };
}

/// A table of `config.toml` without effective values for its keys.
pub(super) trait Table {
    /// The keys with their sentences, in the order of the reference.
    const KEYS: &'static [(&'static str, &'static str)];
}

/// Declares such a table: its fields are its keys, their doc comments the sentences of the reference.
macro_rules! table {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Table:ident {
            $($(#[doc = $about:literal])+ $(#[serde($($serde:tt)*)])? $field_vis:vis $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        $vis struct $Table {
            $($(#[doc = $about])+ $(#[serde($($serde)*)])? $field_vis $field: $type,)*
        }

        impl $crate::config::table::Table for $Table {
            const KEYS: &'static [(&'static str, &'static str)] =
                &[$((stringify!($field), concat!($($about),+).trim_ascii())),*];
        }
    };
}

pub(super) use {settings, table};
