//! Task that keeps the desktop's notice as it should be. It is a separate task, because the notification service may hang.

use tokio::sync::watch;

use adjutant_net::channels::{Desktop, Message};

/// Shows the wanted notice as soon as the service takes it, until the sender is dropped. A notice that was wanted only
/// while the service was busy is never shown.
pub(super) async fn show(desktop: Desktop, mut wanted_changes: watch::Receiver<Option<Message>>) {
    let mut shown_key: Option<String> = None;
    // A machine without a desktop is logged once; later faults are logged at debug level.
    let mut has_warned = false;
    while wanted_changes.changed().await.is_ok() {
        let wanted = wanted_changes.borrow_and_update().clone();
        let done = match (wanted, shown_key.take()) {
            (Some(notice), _) => {
                let done = desktop.show(&notice).await;
                shown_key = Some(notice.key);
                done
            }
            (None, Some(key)) => desktop.withdraw(&key).await,
            (None, None) => Ok(()),
        };
        match done {
            Ok(()) => {}
            Err(error) if has_warned => tracing::debug!(%error, "the desktop could not be notified"),
            Err(error) => {
                has_warned = true;
                tracing::info!(%error, "the desktop could not be notified; `[notify] desktop = false` switches this off");
            }
        }
    }
}
