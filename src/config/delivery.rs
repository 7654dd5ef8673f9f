//! How notifications leave this machine: a mail server, a provider of phone calls.

use std::path::PathBuf;

/// The delivery's share. What is not configured is carried out up to the send and recorded as simulated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    pub(crate) mail: Option<Mail>,
    /// The sender of mails, as `Name <address>`.
    pub(crate) mail_from: Option<String>,
    pub(crate) phone: Option<Phone>,
    /// Where sound files are put; `None` for a process without a home.
    pub(crate) spool: Option<PathBuf>,
    /// The program that turns text into sound, and its arguments: `{voice}` in them is the user's voice. The file that it
    /// writes and the text that it reads are added.
    pub(crate) speech: Vec<String>,
}

/// Where mails go.
#[derive(Clone)]
pub(crate) enum Mail {
    /// `smtp://` or `smtps://` with user and password where the server wants them.
    Server(String),
    /// A folder that gets one `.eml` file for each mail.
    Folder(PathBuf),
}

/// A provider of phone calls that speaks Twilio's language.
#[derive(Clone)]
pub(crate) struct Phone {
    /// The provider's address, without a slash at its end.
    pub(crate) base_url: String,
    pub(crate) account: String,
    pub(crate) token: String,
    /// The number that calls.
    pub(crate) from: String,
}

impl std::fmt::Debug for Mail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // The address may hold a password.
            Self::Server(_) => f.write_str("Server"),
            Self::Folder(folder) => f.debug_tuple("Folder").field(folder).finish(),
        }
    }
}

impl std::fmt::Debug for Phone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Phone").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}
