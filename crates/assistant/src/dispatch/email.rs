//! Mails, by SMTP or into a folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lettre::message::Mailbox;
use lettre::message::header::{ContentType, MIME_VERSION_1_0};
use lettre::transport::smtp::PoolConfig;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

use super::send::Letter;
use super::{Outcome, make_private};
use crate::config::delivery::{Delivery, Mail};

/// Connections to the mail server.
const CONNECTIONS: u32 = 8;

/// How long the mail server may take for one step.
const PATIENCE: Duration = Duration::from_secs(20);

/// How mails leave.
pub(super) struct Mailer {
    from: Result<Mailbox, String>,
    by: By,
}

enum By {
    Nothing,
    Server(AsyncSmtpTransport<Tokio1Executor>),
    Folder(PathBuf),
    /// The configured address cannot be used.
    Unusable(String),
}

impl Mailer {
    /// Connects to nothing yet.
    pub(super) fn new(delivery: &Delivery) -> Self {
        let from = delivery.mail_from.as_deref().unwrap_or("Adjutant <adjutant@localhost>");
        let by = match &delivery.mail {
            None => By::Nothing,
            Some(Mail::Folder(folder)) => By::Folder(folder.clone()),
            Some(Mail::Server(url)) => match AsyncSmtpTransport::<Tokio1Executor>::from_url(url) {
                Ok(builder) => {
                    let pool = PoolConfig::new().max_size(CONNECTIONS);
                    By::Server(builder.timeout(Some(PATIENCE)).pool_config(pool).build())
                }
                Err(error) => By::Unusable(error.to_string()),
            },
        };
        Self {
            from: from.parse().map_err(|error| format!("the sender `{from}` is no mail address: {error}")),
            by,
        }
    }
}

pub(super) async fn send(mailer: &Mailer, letter: &Letter<'_>) -> Outcome {
    let message = match message(mailer, letter) {
        Ok(message) => message,
        Err(why) => return Outcome::Refused(why),
    };
    match &mailer.by {
        By::Nothing => Outcome::Simulated("no mail server is configured".to_owned()),
        By::Unusable(why) => Outcome::Refused(format!("the mail server's address cannot be used: {why}")),
        By::Folder(folder) => match keep(folder, letter.notification.id.as_str(), &message.formatted()).await
        {
            Ok(()) => Outcome::Sent("put into the folder for mails".to_owned()),
            Err(error) => Outcome::Failed(format!("the folder for mails cannot be written: {error}")),
        },
        By::Server(server) => match server.send(message).await {
            Ok(response) => Outcome::Sent(response.message().collect::<Vec<_>>().join(" ")),
            Err(error) if error.is_permanent() => {
                Outcome::Refused(format!("the mail server refused: {error}"))
            }
            Err(error) => Outcome::Failed(format!("the mail server did not take it: {error}")),
        },
    }
}

/// The mail. Its Message-ID is the notification's, so that a second try is seen as the same mail.
fn message(mailer: &Mailer, letter: &Letter<'_>) -> Result<Message, String> {
    let Some(address) = &letter.user.email else { return Err("the user has no mail address".to_owned()) };
    let address = address.parse().map_err(|error| format!("`{address}` is no mail address: {error}"))?;
    let to = Mailbox::new(Some(letter.user.name.clone()), address);
    let subject: String =
        letter.notification.wording.subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Message::builder()
        .message_id(Some(format!("<{}@adjutant.invalid>", letter.notification.id)))
        .from(mailer.from.clone()?)
        .to(to)
        .subject(subject)
        .date_now()
        .header(MIME_VERSION_1_0)
        // Without it a reader takes what is not ASCII for something else.
        .header(ContentType::TEXT_PLAIN)
        .body(format!("{}\r\n", letter.text))
        .map_err(|error| format!("the mail cannot be written: {error}"))
}

async fn keep(folder: &Path, id: &str, bytes: &[u8]) -> std::io::Result<()> {
    make_private(folder).await?;
    // Under one name: a second try replaces the first.
    let part = folder.join(format!("{id}.part"));
    tokio::fs::write(&part, bytes).await?;
    tokio::fs::rename(part, folder.join(format!("{id}.eml"))).await
}
