//! Whether a question can ring on a desktop. Where it cannot, it waits in the console and in `adjutant inbox`.

use std::sync::Arc;

use super::Patient;
use super::check::Found;
use crate::app::health;
use crate::config::env;

/// Looks whether there is a screen here.
pub(super) fn display() -> Found {
    match env::display() {
        Some(display) => Found::ok(format!("{display}, where this command runs")),
        None => Found::skipped("there is none here; questions wait in the console and in `adjutant inbox`"),
    }
}

/// Looks whether the desktop's notifications answer.
pub(super) async fn notifications(patient: Arc<Patient>) -> Found {
    if !patient.config.channels.desktop {
        return Found::skipped("they are switched off: `desktop` below [notify] in config.toml");
    }
    match (health::notification_service().await, env::display()) {
        (Ok(name), _) => Found::ok(format!("{name} shows them")),
        (Err(_), None) => Found::skipped("there is no desktop here to show them"),
        (Err(error), Some(_)) => Found::warn(
            format!("{error}, so no question rings"),
            "install a notification service (such as dunst or mako), or say where DBUS_SESSION_BUS_ADDRESS is",
        ),
    }
}
