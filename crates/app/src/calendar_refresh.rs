//! Calendars on servers, which the hub reads again at their intervals.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use adjutant_assistant::Calendar;
use adjutant_assistant::event::{CalendarSource, Refresh, StoredLogin};
use adjutant_host::file_catalogue::read_text;
use adjutant_net::http_client::Login;

use super::App;
use super::calendar_sync::{CalendarAddress, Error, pull};

/// Longest time between two searches for calendars that are due: another process may have imported one.
const MAX_LOOK_INTERVAL: Duration = Duration::from_secs(30);
/// Longest wait after failures, if the interval of the calendar is not longer.
const MAX_BACKOFF: SignedDuration = SignedDuration::from_hours(24);
/// Maximum bytes of the file of a password.
const MAX_PASSWORD_BYTES: usize = 16 * 1024;
/// In the audit, the actor of what a refresh removes.
const ACTOR: &str = "hub";

impl App {
    /// Reads calendars on servers when they are due, one after the other, until shutdown.
    pub async fn refresh_calendars(self: Arc<Self>) {
        loop {
            let mut wait = MAX_LOOK_INTERVAL;
            match self.assistant.refreshed_calendars().await {
                Ok(calendars) => {
                    for calendar in calendars {
                        let Some(refresh) = calendar.refresh.clone() else { continue };
                        let next_at = if refresh.next_at <= Timestamp::now() {
                            let refreshed =
                                self.shutdown.run_until_cancelled(self.refresh(&calendar, refresh));
                            let Some(next_at) = refreshed.await else { return };
                            next_at
                        } else {
                            refresh.next_at
                        };
                        wait = wait.min(
                            Duration::try_from(next_at.duration_since(Timestamp::now())).unwrap_or_default(),
                        );
                    }
                }
                Err(error) => tracing::warn!(error = %error, "the calendars cannot be listed"),
            }
            if self.shutdown.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return;
            }
        }
    }

    /// Reads a calendar again, and returns when it is due next.
    async fn refresh(&self, calendar: &Calendar, refresh: Refresh) -> Timestamp {
        let every = SignedDuration::from_secs(refresh.every_seconds.max(1));
        let later = |wait: SignedDuration| Timestamp::now().saturating_add(wait).unwrap_or(Timestamp::MAX);
        // Recorded before the request, so that another hub of the database leaves the calendar alone.
        let mut next = Refresh { next_at: later(every), failures: 0, failure: None, ..refresh.clone() };
        let claimed = Refresh { failures: refresh.failures, failure: refresh.failure, ..next.clone() };
        self.record_refresh(calendar, &claimed).await;
        if let Err((why, retry_after)) = self.read_again(calendar, next.login.as_ref()).await {
            next.failures = refresh.failures.saturating_add(1);
            let backoff = every.checked_mul(1 << next.failures.min(16)).unwrap_or(MAX_BACKOFF);
            let asked = retry_after.and_then(|wait| SignedDuration::try_from(wait).ok()).unwrap_or_default();
            next.next_at = later(backoff.min(MAX_BACKOFF.max(every)).max(asked));
            tracing::warn!(calendar.name = %calendar.name, error = %why, "a calendar cannot be read again");
            next.failure = Some(why);
        }
        self.record_refresh(calendar, &next).await;
        next.next_at
    }

    /// Reads a calendar again; the error has the wait that the server asks for.
    async fn read_again(
        &self,
        calendar: &Calendar,
        login: Option<&StoredLogin>,
    ) -> Result<(), (String, Option<Duration>)> {
        let login = stored_login(login).map_err(|why| (why, None))?;
        let caldav = calendar.source == CalendarSource::CalDav;
        let place = CalendarAddress { url: calendar.place.clone(), caldav, login };
        let user = self.assistant.user(&calendar.user).await.map_err(|error| (error.to_string(), None))?;
        match pull(&self.assistant, &user, &place, ACTOR, Timestamp::now()).await {
            Ok(_) => Ok(()),
            Err(Error::Refused { status, login, retry_after }) => {
                Err((Error::Refused { status, login, retry_after }.to_string(), retry_after))
            }
            Err(error) => Err((error.to_string(), None)),
        }
    }

    async fn record_refresh(&self, calendar: &Calendar, refresh: &Refresh) {
        // The user may have removed the calendar meanwhile.
        let refreshed = self.assistant.refreshed_calendars().await;
        let recorded = match refreshed {
            Ok(known) if known.iter().all(|one| one.id != calendar.id) => Ok(()),
            Ok(_) => self.assistant.set_refresh(calendar, Some(refresh)).await,
            Err(error) => Err(error),
        };
        if let Err(error) = recorded {
            tracing::warn!(error = %error, "the refresh of a calendar cannot be recorded");
        }
    }
}

/// Reads the password of a login.
pub(crate) fn stored_login(login: Option<&StoredLogin>) -> Result<Option<Login>, String> {
    let Some(StoredLogin { name, password_file }) = login else { return Ok(None) };
    let text = read_text(password_file, MAX_PASSWORD_BYTES);
    let text = text.map_err(|error| format!("{}: {error}", password_file.display()))?;
    Ok(Some(Login { name: name.clone(), password: text.lines().next().unwrap_or_default().to_owned() }))
}
