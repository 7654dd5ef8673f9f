//! The errors of a configuration.

use std::path::{Path, PathBuf};

/// The reason why a configuration is rejected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no home folder: neither --home nor ADJUTANT_HOME nor HOME is an absolute path")]
    NoHome,
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("{} is not a folder", home.display())]
    NoFolder { home: PathBuf },
    #[error("{} is not valid: {reason}", path.display())]
    Invalid { path: PathBuf, reason: String },
    #[error("`{text}` is not a database; expected sqlite:FILE or postgres://USER@HOST/NAME")]
    Database { text: String },
    #[error("`mail` must start with smtp://, smtps://, smtp+insecure:// or folder:")]
    Mail,
    #[error("`{text}` is not an address; expected one like 127.0.0.1:7437, or `off`")]
    Address { text: String },
}

impl Error {
    /// Makes the error about the `config.toml` of `home`; `reason` is a sentence fragment.
    pub(super) fn invalid(home: &Path, reason: String) -> Self {
        Self::Invalid { path: home.join("config.toml"), reason }
    }

    /// Returns the advice for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoHome => "set ADJUTANT_HOME to the folder that adjutant may keep its files in",
            Self::Unreadable { .. } => "make it a file that you may read, or move it away",
            Self::NoFolder { .. } => "move it away, or choose another folder with --home or ADJUTANT_HOME",
            Self::Invalid { .. } => "correct it there; docs/configuration.md lists every setting",
            Self::Database { .. } => "such as sqlite:adjutant.db or postgres://me@localhost/adjutant",
            Self::Mail => "such as smtps://mail.example.org:465, or folder:outbox to write files",
            Self::Address { .. } => {
                "use 127.0.0.1:7437, 127.0.0.1:0 for any free port, or off to disable HTTP"
            }
        }
    }
}
