//! Desktop notifications (`org.freedesktop.Notifications`, or the equivalent of the system).
//!
//! The notification service is another program, and on some systems a call to it can hang for ever. So each call has a
//! thread, which is abandoned after a timeout. While too many calls hang, no new ones are made.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use notify_rust::{Hint, Notification, NotificationHandle, Timeout, Urgency};
use tokio::sync::oneshot;

use super::{Error, Message};
use adjutant_base::mutex::lock;
use adjutant_base::text::{clip, escape_invisible};

/// Timeout of a call.
const DBUS_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum calls without an answer.
const MAX_PENDING_CALLS: usize = 2;

/// Maximum notifications that can be replaced or withdrawn.
const MAX_SHOWN: usize = 32;

/// Maximum bytes of a body, because services clip a longer one anywhere.
const MAX_BODY_BYTES: usize = 400;

/// The desktop channel. Cheap to clone.
#[derive(Clone, Default)]
pub struct Desktop {
    pending_calls: Arc<AtomicUsize>,
    shown: Arc<Mutex<HashMap<String, NotificationHandle>>>,
    /// The newest call for each key. A call that hung may return after its message was replaced or withdrawn.
    newest_calls: Arc<Mutex<HashMap<String, u64>>>,
    calls: Arc<AtomicU64>,
}

impl std::fmt::Debug for Desktop {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Desktop")
    }
}

impl Desktop {
    /// Shows a message, which replaces the one with its key. Leaves its buttons out, because any program on the desktop
    /// can click them.
    pub async fn show(&self, message: &Message) -> Result<(), Error> {
        let (message, shown, newest_calls) = (message.clone(), self.shown.clone(), self.newest_calls.clone());
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        lock(&newest_calls).insert(message.key.clone(), number);
        self.call(move || {
            let replaced = lock(&shown).get(&message.key).map(NotificationHandle::id);
            let mut notification = Notification::new();
            notification
                .appname("Adjutant")
                .summary(&escape_invisible::escape_line(&message.title))
                .body(&escape_markup(&message.body))
                .hint(Hint::Category("im.received".to_owned()))
                .timeout(if message.urgent { Timeout::Never } else { Timeout::Default })
                .urgency(if message.urgent { Urgency::Critical } else { Urgency::Normal });
            if let Some(id) = replaced {
                notification.id(id);
            }
            let handle = notification.show().map_err(|error| classify(&error))?;
            let mut newest_calls = lock(&newest_calls);
            if newest_calls.get(&message.key) != Some(&number) {
                drop(newest_calls);
                handle.close();
                return Ok(());
            }
            newest_calls.remove(&message.key);
            let mut shown = lock(&shown);
            if shown.len() < MAX_SHOWN || shown.contains_key(&message.key) {
                shown.insert(message.key, handle);
            }
            Ok(())
        })
        .await
    }

    /// Withdraws the message with this key, if it is shown.
    pub async fn withdraw(&self, key: &str) -> Result<(), Error> {
        lock(&self.newest_calls).remove(key);
        let Some(handle) = lock(&self.shown).remove(key) else { return Ok(()) };
        self.call(move || {
            handle.close();
            Ok(())
        })
        .await
    }

    /// Returns the name and version of the service, as a check that it answers.
    pub async fn name(&self) -> Result<String, Error> {
        self.call(|| {
            let server = notify_rust::get_server_information();
            let server = server.map_err(|error| Error::NoService(error.to_string()))?;
            Ok(escape_invisible::escape_line(&format!("{} {}", server.name, server.version)))
        })
        .await
    }

    /// Makes a call on a new thread and waits for its end or the timeout.
    async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        if self.pending_calls.fetch_add(1, Ordering::SeqCst) >= MAX_PENDING_CALLS {
            self.pending_calls.fetch_sub(1, Ordering::SeqCst);
            return Err(Error::Busy);
        }
        let (send, done) = oneshot::channel();
        let pending = PendingCall(self.pending_calls.clone());
        std::thread::spawn(move || {
            let result = call();
            drop(pending);
            let _ = send.send(result);
        });
        match tokio::time::timeout(DBUS_TIMEOUT, done).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Error::NoService("the call failed without a result".to_owned())),
            Err(_) => Err(Error::TimedOut),
        }
    }
}

/// Returns [`Error::NoService`] if no service answers, else [`Error::Rejected`].
fn classify(error: &notify_rust::error::Error) -> Error {
    match notify_rust::get_server_information() {
        Ok(_) => Error::Rejected(error.to_string()),
        Err(_) => Error::NoService(error.to_string()),
    }
}

/// Counts a call as pending until it is dropped, also by a panic.
struct PendingCall(Arc<AtomicUsize>);

impl Drop for PendingCall {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Escapes a body, which services render as markup.
fn escape_markup(body: &str) -> String {
    let body = escape_invisible::escape(body);
    clip::bytes(&body, MAX_BODY_BYTES).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::escape_markup;

    #[test]
    fn a_body_holds_no_markup_and_no_invisible_characters() {
        assert_eq!(escape_markup("<a href=x>\u{202e}&"), "&lt;a href=x&gt;⟨U+202E⟩&amp;");
        assert_eq!(escape_markup(&"é".repeat(300)).chars().count(), 201);
    }
}
