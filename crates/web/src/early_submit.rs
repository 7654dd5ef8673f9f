//! Rejection of forms that are sent too soon after their page appeared, because the click was meant for something else.
//!
//! A form contains the time at which its page was rendered. A form that comes back sooner than a user can read is shown
//! again. With script, each new part of an open page has its own time (`static/app.js`).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A user needs at least this long to read a form. The script's `CALM` is the same.
const COOLDOWN: Duration = Duration::from_millis(600);

/// The message for a form that was sent too soon.
pub(super) const TOO_EARLY: &str =
    "The form was sent right after the page opened and was ignored. Send it again to confirm.";

/// Returns the value of a form's field `made`: milliseconds since 1970.
pub(super) fn render_time(now: SystemTime) -> String {
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis().to_string()
}

/// Returns whether a form with this `made` was sent before a user could have read its page.
pub(super) fn is_too_early(made: &str) -> bool {
    let made = UNIX_EPOCH + Duration::from_millis(made.parse().unwrap_or(0));
    SystemTime::now().duration_since(made).unwrap_or_default() < COOLDOWN
}
