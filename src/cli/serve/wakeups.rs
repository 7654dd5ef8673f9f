//! Wake-ups between hubs that share a database, over NATS.
//!
//! A wake-up says that something changed, and nothing else: each hub reads the database, which it also does at an interval. So
//! a wake-up may be lost, come twice, or be sent by anybody.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;

use adjutant_app::App;
use adjutant_workers::{Login, connect};

/// The subject for changes of questions. The ids of machines, which workers' subjects have in this place, are longer.
const SUBJECT: &str = "adj.hubs.questions";
/// Minimum interval between two wake-ups, so that many changes send one.
const INTERVAL: Duration = Duration::from_millis(20);

/// Wakes the other hubs of a shared database when this one changes a question, and is woken by them, until shutdown. Returns at
/// once where the database is not shared or no NATS server is configured.
pub(super) async fn exchange(app: Arc<App>) {
    let workers = &app.config.workers;
    let Some(url) = workers.nats.as_ref().filter(|_| !app.machine().is_empty()) else { return };
    let connected =
        async { connect(url, Login::of_hub(workers, &app.config.home)?, "adjutant hub, wake-ups").await };
    let client = match connected.await {
        Ok(client) => client,
        Err(reason) => return tracing::error!(reason, "other hubs are not woken"),
    };
    let mut wakeups = match client.subscribe(SUBJECT).await {
        Ok(wakeups) => wakeups,
        Err(error) => return tracing::error!(%error, "other hubs do not wake this one"),
    };
    let machine = app.machine().to_owned();
    let wake = async |from: &str| {
        if let Err(error) = client.publish(SUBJECT, from.to_owned().into()).await {
            tracing::warn!(%error, "other hubs notice a change later");
        }
    };
    // It comes back when the server has the subscription, and nothing that changed before that is missed.
    wake("").await;
    let send = async {
        loop {
            app.questions.changed_here().await;
            wake(&machine).await;
            tokio::time::sleep(INTERVAL).await;
        }
    };
    let receive = async {
        while let Some(wakeup) = wakeups.next().await {
            if wakeup.payload != machine.as_bytes() {
                app.questions.look_at_other_hubs();
            }
        }
    };
    tokio::select! {
        () = app.shutdown.cancelled() => {}
        () = send => {}
        () = receive => {}
    }
}
