//! Parser of a notification's id on the command line.

use adjutant_assistant::NotificationId;

/// Parses the id of a notification.
pub(super) fn id(text: &str) -> Result<NotificationId, String> {
    NotificationId::parse(text).ok_or_else(|| "an id has 1 to 200 bytes and no control characters".to_owned())
}
