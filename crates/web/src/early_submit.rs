//! Rejection of forms that are sent too soon after their page appeared, because such a click was meant for something
//! else.
//!
//! A form says when its page was made, and one that comes back sooner than anybody could have read it is shown again
//! instead of done. With script, what appears on an open page has its own moment (`static/app.js`).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Nobody reads faster than this. The script's `CALM` is the same.
const COOLDOWN: Duration = Duration::from_millis(600);

/// The message for a form that was sent too soon, as a sentence fragment.
pub(super) const TOO_EARLY: &str =
    "the form was sent right after the page opened and was ignored; send it again to confirm";

/// Returns the value of a form's field `made`: milliseconds since 1970.
pub(super) fn render_time(now: SystemTime) -> String {
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis().to_string()
}

/// Returns whether a form with this `made` was sent before anybody could have read its page.
pub(super) fn is_too_early(made: &str) -> bool {
    let made = UNIX_EPOCH + Duration::from_millis(made.parse().unwrap_or(0));
    SystemTime::now().duration_since(made).unwrap_or_default() < COOLDOWN
}
