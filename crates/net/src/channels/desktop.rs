//! The desktop's own notifications (`org.freedesktop.Notifications`, or what the system has in its place).
//!
//! The call goes to another program and may never come back: a service that hangs is a known fault on more than one
//! system. So each call has a thread of its own that is left behind when it takes too long, and while some are left
//! behind no more are made.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify_rust::{Hint, Notification, NotificationHandle, Timeout, Urgency};
use tokio::sync::oneshot;

use super::{Error, Notice};
use adjutant_base::text::escape_invisible;

/// How long a call is waited for.
const DBUS_TIMEOUT: Duration = Duration::from_secs(3);

/// Calls that may hang at once. The service is not bothered again before one of them comes back.
const HANGING: usize = 2;

/// Notices that are kept for being replaced or withdrawn.
const SHOWN: usize = 32;

/// Bytes of a body; services cut it where they like.
const BODY: usize = 400;

/// The desktop's notifications. Cheap to clone.
#[derive(Clone, Default)]
pub struct Desktop {
    hanging: Arc<AtomicUsize>,
    shown: Arc<Mutex<HashMap<String, NotificationHandle>>>,
    /// The newest call on its way for each key: one that hung may come back when its notice is no longer wanted.
    on_the_way: Arc<Mutex<HashMap<String, u64>>>,
    calls: Arc<AtomicU64>,
}

impl std::fmt::Debug for Desktop {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Desktop")
    }
}

impl Desktop {
    /// Shows a notice, in the place of the one with its key. Its buttons are left out: a notification can be clicked by
    /// whatever runs on the desktop.
    pub async fn show(&self, notice: &Notice) -> Result<(), Error> {
        let (notice, shown, on_the_way) = (notice.clone(), self.shown.clone(), self.on_the_way.clone());
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        lock(&on_the_way).insert(notice.key.clone(), number);
        self.call(move || {
            let before = lock(&shown).get(&notice.key).map(NotificationHandle::id);
            let mut notification = Notification::new();
            notification
                .appname("Adjutant")
                .summary(&escape_invisible::line(&notice.title))
                .body(&inert(&notice.body))
                .hint(Hint::Category("im.received".to_owned()))
                .timeout(if notice.urgent { Timeout::Never } else { Timeout::Default })
                .urgency(if notice.urgent { Urgency::Critical } else { Urgency::Normal });
            if let Some(id) = before {
                notification.id(id);
            }
            let handle = notification.show().map_err(|error| why(&error))?;
            let mut on_the_way = lock(&on_the_way);
            if on_the_way.get(&notice.key) != Some(&number) {
                drop(on_the_way);
                handle.close();
                return Ok(());
            }
            on_the_way.remove(&notice.key);
            let mut shown = lock(&shown);
            if shown.len() < SHOWN || shown.contains_key(&notice.key) {
                shown.insert(notice.key, handle);
            }
            Ok(())
        })
        .await
    }

    /// Takes the notice with this key away, if it is still there.
    pub async fn withdraw(&self, key: &str) -> Result<(), Error> {
        lock(&self.on_the_way).remove(key);
        let Some(handle) = lock(&self.shown).remove(key) else { return Ok(()) };
        self.call(move || {
            handle.close();
            Ok(())
        })
        .await
    }

    /// Asks the service for its name and version, which says that it answers.
    pub async fn name(&self) -> Result<String, Error> {
        self.call(|| {
            let told = notify_rust::get_server_information();
            let told = told.map_err(|error| Error::NoService(error.to_string()))?;
            Ok(escape_invisible::line(&format!("{} {}", told.name, told.version)))
        })
        .await
    }

    /// Makes a call on a thread of its own and waits for it, within bounds.
    async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        if self.hanging.fetch_add(1, Ordering::SeqCst) >= HANGING {
            self.hanging.fetch_sub(1, Ordering::SeqCst);
            return Err(Error::Stuck);
        }
        let (send, done) = oneshot::channel();
        let back = Back(self.hanging.clone());
        std::thread::spawn(move || {
            let result = call();
            drop(back);
            let _ = send.send(result);
        });
        match tokio::time::timeout(DBUS_TIMEOUT, done).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Error::NoService("the call came to no end".to_owned())),
            Err(_) => Err(Error::Slow),
        }
    }
}

/// Whether a notice was not shown because nobody is there, or by somebody who may take the next one.
fn why(error: &notify_rust::error::Error) -> Error {
    match notify_rust::get_server_information() {
        Ok(_) => Error::NotTaken(error.to_string()),
        Err(_) => Error::NoService(error.to_string()),
    }
}

/// Counts a call as come back, also one that panics.
struct Back(Arc<AtomicUsize>);

impl Drop for Back {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Services read a body as markup; strangers' text is none.
fn inert(body: &str) -> String {
    let body = escape_invisible::plain(body);
    let cut = body.char_indices().map(|(at, _)| at).take_while(|at| *at <= BODY).last().unwrap_or(0);
    let (kept, rest) = if body.len() > BODY { body.split_at(cut) } else { (body.as_ref(), "") };
    let kept = kept.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if rest.is_empty() { kept } else { kept + "…" }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::inert;

    #[test]
    fn a_body_holds_no_markup_and_no_steering() {
        assert_eq!(inert("<a href=x>\u{202e}&"), "&lt;a href=x&gt;⟨U+202E⟩&amp;");
        assert_eq!(inert(&"é".repeat(300)).chars().count(), 201);
    }
}
