//! The desktop's notice, kept as it is wanted: on a task of its own, for the service behind it may hang.

use tokio::sync::watch;

use crate::channels::{Desktop, Notice};

/// Shows what is wanted, as soon as the service takes it, until nobody wants anything any more. What was wanted while it
/// was busy and is not wanted now is never shown.
pub(super) async fn show(desktop: Desktop, mut wishes: watch::Receiver<Option<Notice>>) {
    let mut shown: Option<String> = None;
    // A machine without a desktop is told once; later faults are for patient readers of the log only.
    let mut complained = false;
    while wishes.changed().await.is_ok() {
        let wanted = wishes.borrow_and_update().clone();
        let done = match (wanted, shown.take()) {
            (Some(notice), _) => {
                let done = desktop.show(&notice).await;
                shown = Some(notice.key);
                done
            }
            (None, Some(key)) => desktop.withdraw(&key).await,
            (None, None) => Ok(()),
        };
        match done {
            Ok(()) => {}
            Err(error) if complained => tracing::debug!(%error, "the desktop was not told"),
            Err(error) => {
                complained = true;
                tracing::info!(%error, "the desktop was not told; `[notify] desktop = false` switches this off");
            }
        }
    }
}
