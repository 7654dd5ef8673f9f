//! Settings of notifications that leave this machine: a mail server, a provider of phone calls.

use std::path::{Path, PathBuf};

use super::env;
use super::error::Error;
use super::table::{Notation, Plain, SECRET};

super::table::settings! {
    /// The settings of notifications by mail and phone call. Without a mail server or a provider, a notification is
    /// prepared, not sent, and recorded as simulated.
    #[derive(Clone, Debug)]
    pub struct Delivery, file File, section "notifications" {
        /// Mail server, or folder that mails are written to.
        mail: Option<Mail> = None, mail as MailAddress;
        /// Sender of the mails.
        mail_from: Option<String> = None, mail_from as Plain;
        /// Provider of phone calls.
        phone: Option<Phone> = None, phone as PhoneTable;
        /// Program that turns text into speech.
        speech: Vec<String> = Vec::new(), speech as Plain;
    }
    others {
        /// The folder of sound files; `None` for a process without a home.
        spool: Option<PathBuf> = None;
    }
}

/// Beginnings of a mail server's address.
const MAIL_SCHEMES: [&str; 3] = ["smtp://", "smtps://", "smtp+insecure://"];

/// The notation of [`Mail`].
struct MailAddress;

impl Notation<Option<Mail>> for MailAddress {
    type Written = String;

    fn read(written: String, home: &Path) -> Result<Option<Mail>, Error> {
        match written.strip_prefix("folder:") {
            Some(folder) => Ok(Some(Mail::Folder(home.join(folder)))),
            None if MAIL_SCHEMES.iter().any(|scheme| written.starts_with(scheme)) => {
                Ok(Some(Mail::Server(written)))
            }
            None => Err(Error::Mail),
        }
    }

    fn show(value: &Option<Mail>) -> String {
        match value {
            Some(Mail::Server(_)) => SECRET.to_owned(),
            Some(Mail::Folder(folder)) => format!("{:?}", format!("folder:{}", env::abbreviate(folder))),
            None => String::new(),
        }
    }
}

/// The notation of [`Phone`].
struct PhoneTable;

impl Notation<Option<Phone>> for PhoneTable {
    type Written = Phone;

    fn read(written: Phone, _home: &Path) -> Result<Option<Phone>, Error> {
        Ok(Some(Phone { base_url: written.base_url.trim_end_matches('/').to_owned(), ..written }))
    }

    fn show(value: &Option<Phone>) -> String {
        if value.is_some() { SECRET.to_owned() } else { String::new() }
    }
}

/// The destination of mails.
#[derive(Clone)]
pub enum Mail {
    /// `smtps://`, `smtp://` (STARTTLS is required except on this machine) or `smtp+insecure://`, with user and
    /// password where the server wants them.
    Server(String),
    /// A folder that gets one `.eml` file for each mail.
    Folder(PathBuf),
}

super::table::table! {
    /// A provider of phone calls with Twilio's API.
    #[derive(Clone)]
    pub struct Phone {
        /// URL of a provider with Twilio's API; required.
        pub base_url: String,
        /// Account at the provider; required.
        pub account: String,
        /// Token of the account; required.
        pub token: String,
        /// Number that the calls come from; required.
        pub from: String,
    }
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
