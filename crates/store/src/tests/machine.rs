//! Any sequence of verbs keeps the rules of the state machine.

use std::collections::HashMap;

use proptest::prelude::*;

use super::{ROOMY, claim_of, new_task};
use crate::Store;
use crate::tasks::{self, Ending, Filter, Lease, NewEvent, NewTask, State, Task};
use adjutant_base::config::Database;

#[derive(Clone, Debug)]
enum Act {
    Enqueue { caller: u8, priority: i64 },
    Claim { hub: u8, total: u32, at_most: u32 },
    Extend { lease: usize },
    Append { lease: usize },
    Move { lease: usize },
    Finish { lease: usize, ending: Ending },
    Cancel { task: usize },
    TakeOver { lease: usize, hub: u8 },
}

fn act() -> impl Strategy<Value = Act> {
    let ending = prop_oneof![
        Just(Ending::Succeeded),
        Just(Ending::Failed),
        Just(Ending::Cancelled),
        Just(Ending::Lost)
    ];
    let any = any::<usize>();
    prop_oneof![
        3 => (0u8..3, -1i64..2).prop_map(|(caller, priority)| Act::Enqueue { caller, priority }),
        3 => (0u8..2, 0u32..4, 1u32..3).prop_map(|(hub, total, at_most)| Act::Claim { hub, total, at_most }),
        1 => any.prop_map(|lease| Act::Extend { lease }),
        1 => any.prop_map(|lease| Act::Append { lease }),
        1 => any.prop_map(|lease| Act::Move { lease }),
        2 => (any, ending).prop_map(|(lease, ending)| Act::Finish { lease, ending }),
        1 => any.prop_map(|task| Act::Cancel { task }),
        1 => (any, 0u8..2).prop_map(|(lease, hub)| Act::TakeOver { lease, hub }),
    ]
}

/// The state that follows from the answers alone.
#[derive(Default)]
struct World {
    entered: Vec<String>,
    /// Every lease so far, old ones too.
    leases: Vec<Lease>,
    seen: HashMap<String, Task>,
}

impl World {
    /// Returns a lease of this run, and whether it is still valid.
    fn lease(&self, index: usize) -> Option<(Lease, bool)> {
        let lease = self.leases.get(index.checked_rem(self.leases.len())?)?;
        let row = &self.seen[&lease.task];
        Some((lease.clone(), row.state == State::Running && row.fence == lease.fence))
    }

    async fn act(&mut self, store: &Store, act: Act) {
        match act {
            Act::Enqueue { caller, priority } => {
                let id = format!("task-{}", self.entered.len());
                let new = NewTask { priority, ..new_task(&id, &format!("caller-{caller}")) };
                tasks::enqueue(store, new, ROOMY).await.unwrap();
                self.entered.push(id);
            }
            Act::Claim { hub, total, at_most } => self.claim(store, hub, total, at_most).await,
            Act::Extend { lease } => {
                let Some((lease, holds)) = self.lease(lease) else { return };
                assert_eq!(tasks::extend(store, &lease, 9_000, None).await.unwrap().is_some(), holds);
            }
            Act::Append { lease } => {
                let Some((lease, holds)) = self.lease(lease) else { return };
                let event = NewEvent { at: 1, kind: "said".to_owned(), data: "{}".to_owned() };
                let appended = tasks::append_events(store, &lease, vec![event]).await.unwrap();
                assert_eq!(appended.is_some(), holds);
            }
            Act::Move { lease } => {
                let Some((lease, holds)) = self.lease(lease) else { return };
                assert_eq!(tasks::move_to_runner(store, &lease, "codex").await.unwrap(), holds);
            }
            Act::Finish { lease, ending } => {
                let Some((lease, holds)) = self.lease(lease) else { return };
                assert_eq!(tasks::finish(store, &lease, ending, None, "{}", 5).await.unwrap(), holds);
            }
            Act::Cancel { task } => {
                let Some(index) = task.checked_rem(self.entered.len()) else { return };
                let id = &self.entered[index];
                let became = tasks::cancel(store, id, "{}", 5).await.unwrap();
                let wanted = match self.seen[id].state {
                    State::Queued => tasks::Cancelled::Waiting,
                    State::Running => tasks::Cancelled::Asked,
                    ended @ State::Ended(_) => tasks::Cancelled::Not(Some(ended)),
                };
                assert_eq!(became, wanted);
            }
            Act::TakeOver { lease, hub } => {
                let Some((lease, holds)) = self.lease(lease) else { return };
                let taken = tasks::take_over(store, &lease, &format!("hub-{hub}"), 9_000).await.unwrap();
                assert_eq!(taken.is_some(), holds);
                self.leases.extend(taken.map(|task| task.lease()));
            }
        }
    }

    async fn claim(&mut self, store: &Store, hub: u8, total: u32, at_most: u32) {
        let hub = format!("hub-{hub}");
        let running = |task: &&Task| task.state == State::Running && task.hub.as_deref() == Some(&hub);
        let free = (total as usize).saturating_sub(self.seen.values().filter(running).count());
        let queued = self.seen.values().filter(|task| task.state == State::Queued).count();
        let claimed = tasks::claim(store, tasks::Claim { total, ..claim_of(&hub, at_most) }).await.unwrap();
        assert_eq!(
            claimed.len(),
            free.min(at_most as usize).min(queued),
            "no more than allowed, and no fewer"
        );
        for task in claimed {
            assert_eq!(self.seen[&task.id].state, State::Queued, "{} was claimed twice", task.id);
            self.leases.push(task.lease());
        }
    }

    /// Reads every row and compares it with its previous state.
    async fn look(&mut self, store: &Store) {
        let rows = tasks::list(store, &Filter::default(), None, 1_000).await.unwrap();
        assert_eq!(rows.len(), self.entered.len(), "every accepted task has a row");
        for row in rows {
            if let Some(before) = self.seen.get(&row.id) {
                let possible = match (before.state, row.state) {
                    (State::Queued, State::Queued | State::Ended(Ending::Cancelled))
                    | (State::Queued | State::Running, State::Running)
                    | (State::Running, State::Ended(_)) => true,
                    (State::Ended(_), _) => *before == row,
                    (State::Queued | State::Running, _) => false,
                };
                assert!(possible, "from {before:?}\nto {row:?}");
                assert!(row.fence >= before.fence);
            }
            let has_outcome = tasks::outcome(store, &row.id).await.unwrap().is_some();
            assert_eq!(has_outcome, row.state.is_ended(), "an outcome comes with the end: {row:?}");
            self.seen.insert(row.id.clone(), row);
        }
    }

    /// Lets hubs take over, claim and end every task.
    async fn settle(&mut self, store: &Store) {
        let lost = tasks::running(store, "hub-new", i64::MAX).await.unwrap();
        for task in lost {
            let taken = tasks::take_over(store, &task.lease(), "hub-new", 9_000).await.unwrap().unwrap();
            assert!(tasks::finish(store, &taken.lease(), Ending::Lost, None, "{}", 9).await.unwrap());
        }
        self.look(store).await;
        let claimed = tasks::claim(store, claim_of("hub-new", 1_000)).await.unwrap();
        self.look(store).await;
        for task in claimed {
            assert!(tasks::finish(store, &task.lease(), Ending::Succeeded, None, "{}", 9).await.unwrap());
        }
        self.look(store).await;
        assert!(self.seen.values().all(|task| task.state.is_ended()), "every accepted task ends");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_verbs_keeps_the_rules(acts in prop::collection::vec(act(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Store::new(Database::Memory);
            let mut world = World::default();
            for act in acts {
                world.act(&store, act).await;
                world.look(&store).await;
            }
            world.settle(&store).await;
            store.close().await;
        });
    }
}
