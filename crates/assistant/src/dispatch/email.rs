//! Mails, by SMTP or into a folder.

use std::path::{Path, PathBuf};

use lettre::Message;
use lettre::message::Mailbox;
use lettre::message::header::{ContentType, MIME_VERSION_1_0};

use super::message::{SendOutcome, make_private};
use super::smtp::SmtpServer;
use crate::User;
use adjutant_base::config::notification_delivery::{self as config, Delivery};

/// A mail to a user.
pub(super) struct Mail<'a> {
    /// A second try under the same id counts as the same mail.
    pub(super) id: &'a str,
    pub(super) user: &'a User,
    pub(super) subject: &'a str,
    pub(super) text: &'a str,
}

/// Sender of mails.
pub(super) struct Mailer {
    from: Result<Mailbox, String>,
    /// The destination of mails, or the outcome of each mail without one.
    transport: Result<MailTransport, SendOutcome>,
}

enum MailTransport {
    Server(SmtpServer),
    Folder(PathBuf),
}

impl Mailer {
    /// Connects to nothing yet.
    pub(super) fn new(delivery: &Delivery) -> Self {
        let from = delivery.mail_from.as_deref().unwrap_or("Adjutant <adjutant@localhost>");
        let transport = match &delivery.mail {
            None => Err(SendOutcome::Simulated("no mail server is configured".to_owned())),
            Some(config::Mail::Folder(folder)) => Ok(MailTransport::Folder(folder.clone())),
            Some(config::Mail::Server(url)) => {
                SmtpServer::parse(url).map(MailTransport::Server).map_err(|why| {
                    SendOutcome::Rejected(format!("the mail server's address cannot be used: {why}"))
                })
            }
        };
        Self {
            from: from.parse().map_err(|error| format!("the sender `{from}` is not a mail address: {error}")),
            transport,
        }
    }

    /// Returns whether mails are sent, or are put into a folder.
    pub(super) fn is_configured(&self) -> bool {
        self.transport.is_ok()
    }
}

pub(super) async fn send(mailer: &Mailer, message: &Mail<'_>) -> SendOutcome {
    let mail = match compose(mailer, message) {
        Ok(mail) => mail,
        Err(why) => return SendOutcome::Rejected(why),
    };
    match &mailer.transport {
        Err(outcome) => outcome.clone(),
        Ok(MailTransport::Folder(folder)) => match write_mail(folder, message.id, &mail.formatted()).await {
            Ok(()) => SendOutcome::Sent("put into the folder for mails".to_owned()),
            Err(error) => SendOutcome::Failed(format!("the folder for mails cannot be written: {error}")),
        },
        Ok(MailTransport::Server(server)) => server.send(&mail).await,
    }
}

/// Returns the mail. Its Message-ID is made of its id, so that a second try counts as the same mail.
fn compose(mailer: &Mailer, message: &Mail<'_>) -> Result<Message, String> {
    let Some(address) = &message.user.email else { return Err("the user has no mail address".to_owned()) };
    let address = address.parse().map_err(|error| format!("`{address}` is not a mail address: {error}"))?;
    let to = Mailbox::new(Some(message.user.name.clone()), address);
    let subject: String = message.subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Message::builder()
        .message_id(Some(format!("<{}@adjutant.invalid>", message.id)))
        .from(mailer.from.clone()?)
        .to(to)
        .subject(subject)
        .date_now()
        .header(MIME_VERSION_1_0)
        // Without the header a mail program may misread text that is not ASCII.
        .header(ContentType::TEXT_PLAIN)
        .body(format!("{}\r\n", message.text))
        .map_err(|error| format!("the mail cannot be written: {error}"))
}

async fn write_mail(folder: &Path, id: &str, bytes: &[u8]) -> std::io::Result<()> {
    make_private(folder).await?;
    // Under one name: a second try replaces the first.
    let part = folder.join(format!("{id}.part"));
    tokio::fs::write(&part, bytes).await?;
    tokio::fs::rename(part, folder.join(format!("{id}.eml"))).await
}
