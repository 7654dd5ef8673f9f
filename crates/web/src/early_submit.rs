//! Against a slip: what comes the moment something appeared was meant for something else.
//!
//! A form says when its page was made, and one that comes back sooner than anybody could have read it is shown again
//! instead of done. With script, what appears on an open page has its own moment (`static/app.js`).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Nobody reads faster than this. The script's `CALM` is the same.
const COOLDOWN: Duration = Duration::from_millis(600);

/// What is said of a form that came too soon, as a sentence fragment.
pub(super) const TOO_SOON: &str =
    "that came the moment this page opened, so nothing was done; once more, if you meant it";

/// Returns the moment as a form's `made` has it: milliseconds since 1970.
pub(super) fn made(now: SystemTime) -> String {
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis().to_string()
}

/// Whether a form with this `made` came back before anybody could have read its page.
pub(super) fn hurried(made: &str) -> bool {
    let made = UNIX_EPOCH + Duration::from_millis(made.parse().unwrap_or(0));
    SystemTime::now().duration_since(made).unwrap_or_default() < COOLDOWN
}
