//! Tasks that workers hold.

use super::{ROOMY, file_store, new_task};
use crate::tasks::{self, Ending, Lease, State};

#[tokio::test]
async fn a_task_of_a_lost_worker_is_queued_again_unless_its_agent_was_started() {
    let (_folder, store) = file_store();
    for id in ["idle", "started"] {
        tasks::enqueue(&store, new_task(id, "a"), ROOMY).await.unwrap();
    }
    let ticket = |task: &str, fence| Lease { task: task.to_owned(), fence };
    let claim = |task: &str, fence| {
        let (store, ticket) = (store.clone(), ticket(task, fence));
        async move { tasks::claim_for_worker(&store, &ticket, "w", 2_000, 3_000).await.unwrap() }
    };
    let idle = claim("idle", 0).await.unwrap();
    let started = claim("started", 0).await.unwrap();
    assert_eq!(claim("idle", 0).await, None, "a second ticket is refused by its fence");
    assert_eq!(started.hub.as_deref(), Some(&*tasks::holder("w")));
    assert_eq!(tasks::running(&store, "hub", i64::MAX).await.unwrap(), [], "no hub adopts them");
    tasks::extend(&store, &started.lease(), 3_500, Some("/spool")).await.unwrap();

    assert_eq!(tasks::expired(&store, 3_000).await.unwrap(), []);
    let expired = tasks::expired(&store, 4_000).await.unwrap();
    assert_eq!(expired.iter().map(|task| &*task.id).collect::<Vec<_>>(), ["idle", "started"]);
    assert!(tasks::release(&store, &idle.lease()).await.unwrap());
    assert!(!tasks::release(&store, &started.lease()).await.unwrap());

    let late = tasks::finish(&store, &idle.lease(), Ending::Succeeded, None, "{}", 5_000).await.unwrap();
    assert!(!late, "the result of the lost worker does not count");
    let offered = tasks::offered(&store, 9).await.unwrap();
    assert_eq!((offered.len(), offered[0].state, offered[0].attempt), (1, State::Queued, 0));
    assert!(claim("idle", offered[0].fence).await.is_some());
    let counts =
        [&store.timings().claims, &store.timings().waits].map(|found| found.counts().iter().sum::<u64>());
    assert_eq!(counts, [3; 2], "claims of workers are measured, and a refused one is none");
}
