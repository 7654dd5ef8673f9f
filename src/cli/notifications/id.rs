//! Reader of a notification's id on the command line.

use adjutant_assistant::NotificationId;

/// Reads a notification's id.
///
/// # Errors
/// Fails where no notification can have that id.
pub(super) fn id(text: &str) -> Result<NotificationId, String> {
    NotificationId::parse(text).ok_or_else(|| "an id has 1 to 200 bytes and no control characters".to_owned())
}
