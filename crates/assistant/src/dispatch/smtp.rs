//! Mail server that takes mails by SMTP.
//!
//! lettre reports an error without the step that it is of. A mail may have arrived from the moment on when its text was
//! sent, so the steps are taken one by one here.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lettre::Message;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, MailBodyParameter, MailParameter};
use reqwest::Url;
use tokio::time::timeout;

use super::message::SendOutcome;

/// How long the server may take until it wants the text of a mail.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the server may take to accept the text.
const ACCEPT_TIMEOUT: Duration = Duration::from_mins(1);
/// The outcome of a mail whose text was sent, and which may have arrived.
const NO_ANSWER: &str = "the mail server did not say whether it took the mail";
/// How long a connection stays open for the next mail.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// A mail server with its open connections. Each connection takes one mail at a time.
pub(super) struct SmtpServer {
    host: String,
    port: u16,
    encryption: Encryption,
    credentials: Option<Credentials>,
    hello: ClientId,
    idle: Mutex<Vec<(AsyncSmtpConnection, Instant)>>,
}

/// Encryption of a connection.
enum Encryption {
    /// From the first byte (`smtps://`).
    Implicit(TlsParameters),
    /// By STARTTLS, before anything private is sent. A server without it gets no mail.
    StartTls(TlsParameters),
    None,
}

impl SmtpServer {
    /// Parses the address of a server: `smtps://`, `smtp://` with STARTTLS required except on this machine, or
    /// `smtp+insecure://` without encryption. Connects to nothing yet. The error is a sentence fragment.
    pub(super) fn parse(address: &str) -> Result<Self, String> {
        let url = Url::parse(address).map_err(|error| error.to_string())?;
        let host = url.host_str().ok_or("it names no host")?.trim_matches(['[', ']']).to_owned();
        let tls = || TlsParameters::new(host.clone()).map_err(|error| error.to_string());
        let (encryption, port) = match url.scheme() {
            "smtps" => (Encryption::Implicit(tls()?), 465),
            "smtp+insecure" => {
                tracing::warn!(
                    "mails and the password are sent to the mail server without encryption, because its address \
                     begins with `smtp+insecure://`"
                );
                (Encryption::None, 25)
            }
            _ if is_loopback(&host) && url.query() != Some("tls=required") => (Encryption::None, 25),
            _ => (Encryption::StartTls(tls()?), 587),
        };
        let decoded = |text: &str| {
            let text = percent_encoding::percent_decode_str(text).decode_utf8();
            text.map(std::borrow::Cow::into_owned).map_err(|error| error.to_string())
        };
        let credentials = match url.password() {
            Some(password) => Some(Credentials::new(decoded(url.username())?, decoded(password)?)),
            None => None,
        };
        Ok(Self {
            port: url.port().unwrap_or(port),
            host,
            encryption,
            credentials,
            hello: ClientId::default(),
            idle: Mutex::default(),
        })
    }

    /// Sends one mail.
    pub(super) async fn send(&self, mail: &Message) -> SendOutcome {
        let text = mail.formatted();
        let mut connection = match timeout(PREPARE_TIMEOUT, self.prepare(mail, &text)).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return failed(&error),
            Err(_) => return SendOutcome::Failed("the mail server took too long".to_owned()),
        };
        match timeout(ACCEPT_TIMEOUT, connection.message(&text)).await {
            Ok(Ok(response)) => {
                self.idle().push((connection, Instant::now()));
                SendOutcome::Sent(response.message().collect::<Vec<_>>().join(" "))
            }
            Ok(Err(error)) if error.is_transient() || error.is_permanent() => failed(&error),
            Ok(Err(error)) => SendOutcome::Unknown(format!("{NO_ANSWER}: {error}")),
            Err(_) => SendOutcome::Unknown(NO_ANSWER.to_owned()),
        }
    }

    /// Returns a connection on which the server waits for the text of the mail.
    async fn prepare(&self, mail: &Message, text: &[u8]) -> Result<AsyncSmtpConnection, Error> {
        let mut connection = self.connection().await?;
        let envelope = mail.envelope();
        let mut parameters = Vec::new();
        let is_ascii = |address: &lettre::Address| AsRef::<str>::as_ref(address).is_ascii();
        if !envelope.from().into_iter().chain(envelope.to()).all(is_ascii) {
            parameters.push(MailParameter::SmtpUtfEight);
        }
        if !text.is_ascii() {
            parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        connection.command(Mail::new(envelope.from().cloned(), parameters)).await?;
        for address in envelope.to() {
            connection.command(Rcpt::new(address.clone(), Vec::new())).await?;
        }
        connection.command(Data).await?;
        Ok(connection)
    }

    /// Returns an idle connection that still works, else a new one.
    async fn connection(&self) -> Result<AsyncSmtpConnection, Error> {
        loop {
            let idle = self.idle().pop();
            let Some((mut connection, since)) = idle else { break };
            if since.elapsed() < IDLE_TIMEOUT && connection.test_connected().await {
                return Ok(connection);
            }
        }
        let (address, implicit) = (
            (self.host.as_str(), self.port),
            match &self.encryption {
                Encryption::Implicit(tls) => Some(tls.clone()),
                Encryption::StartTls(_) | Encryption::None => None,
            },
        );
        let limit = Some(PREPARE_TIMEOUT);
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(address, limit, &self.hello, implicit, None).await?;
        if let Encryption::StartTls(tls) = &self.encryption {
            connection.starttls(tls.clone(), &self.hello).await?;
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(AsyncSmtpConnection, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a rejection where the server answered with a permanent error, else a failure.
fn failed(error: &Error) -> SendOutcome {
    if error.is_permanent() {
        SendOutcome::Rejected(format!("the mail server refused: {error}"))
    } else {
        SendOutcome::Failed(format!("the mail server did not take it: {error}"))
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
