//! The setting `database`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::env;
use super::error::Error;
use super::table::Notation;

/// The database that holds the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Database {
    /// In the memory of this process, for servers that run without a hub.
    #[default]
    Memory,
    /// An SQLite file. A missing file is created with mode 0600, its folder with 0700.
    File(PathBuf),
    /// `postgres://USER@HOST/NAME`, for several hubs that share one store.
    Postgres(String),
}

impl Database {
    /// Parses the value of the command line; a relative file is below the current folder.
    pub fn named(text: &str) -> Result<Self, Error> {
        Self::parse(text, &std::env::current_dir().unwrap_or_default())
    }

    /// Returns the text that [`Database::named`] parses as this database in any folder.
    pub fn url(&self) -> OsString {
        match self {
            Self::Memory => "sqlite::memory:".into(),
            Self::File(file) => [OsStr::new("sqlite:"), file.as_os_str()].into_iter().collect(),
            Self::Postgres(url) => url.into(),
        }
    }

    /// Parses `sqlite:FILE`, `sqlite::memory:`, or a `postgres://` URL; a relative file is below `folder`. The text in
    /// the error holds no password.
    pub(super) fn parse(text: &str, folder: &Path) -> Result<Self, Error> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        match text.strip_prefix("sqlite:").map(|rest| rest.strip_prefix("//").unwrap_or(rest)) {
            Some(":memory:") => Ok(Self::Memory),
            Some(file) if !file.is_empty() => Ok(Self::File(folder.join(file))),
            _ => {
                let scheme = text.split_once("://").map_or(text, |(scheme, _)| scheme);
                Err(Error::Database { text: scheme.to_owned() })
            }
        }
    }
}

/// The notation of [`Database`].
pub(super) struct DatabaseUrl;

impl Notation<Database> for DatabaseUrl {
    type Written = String;

    fn read(written: String, home: &Path) -> Result<Database, Error> {
        Database::parse(&written, home)
    }

    fn show(value: &Database) -> String {
        let text = match value {
            Database::Memory => "sqlite::memory:".to_owned(),
            Database::File(file) => format!("sqlite:{}", env::abbreviate(file)),
            Database::Postgres(_) => "postgres (its address is not shown)".to_owned(),
        };
        format!("{text:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_from_what_a_person_writes() {
        let read = |text: &str| Database::parse(text, Path::new("/home")).map_err(|error| error.to_string());
        assert_eq!(read("sqlite:/x/y.db"), Ok(Database::File("/x/y.db".into())));
        assert_eq!(read("sqlite:///x/y.db"), Ok(Database::File("/x/y.db".into())));
        assert_eq!(read("sqlite:y.db"), Ok(Database::File("/home/y.db".into())));
        assert_eq!(read("sqlite::memory:"), Ok(Database::Memory));
        let url = "postgres://me@host/db";
        assert_eq!(read(url), Ok(Database::Postgres(url.to_owned())));
        let refused = read("mysql://me:secret@host/db").unwrap_err();
        assert_eq!(refused, "`mysql` is not a database; expected sqlite:FILE or postgres://USER@HOST/NAME");
        assert!(read("sqlite:").is_err());
    }
}
