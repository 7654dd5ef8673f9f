//! Why nobody can claim a queued task now.

use super::agents::Agents;
use super::error::Error;
use super::executor::context::now;
use super::executor::{queue, rows};
use super::lane;
use super::worker_registry::{ListedWorker, WorkerState};
use adjutant_store::{machines, tasks};

impl Agents {
    /// Returns in a clause why nobody can claim a queued task now; `None` where it only waits for its turn.
    pub(crate) async fn waiting_reason(&self, row: &tasks::Task) -> Result<Option<String>, Error> {
        let context = &*self.context;
        if row.machine != context.store.machine() {
            let seen = machines::seen_at(&context.store, &row.machine).await?.unwrap_or_default();
            let name = rows::machine(row).map(|machine| machine.to_string()).unwrap_or_default();
            return Ok((now() - seen > machines::ALIVE_TIMEOUT)
                .then(|| format!("its folder is on the machine {name}, on which no hub runs now")));
        }
        let (runner, label) = lane::parts(&row.runner);
        // A hub claims from the lanes that have the name of a runner.
        if row.runner != runner {
            return Ok(no_worker_reason(&self.workers().await?, runner, label));
        }
        if queue::slots_of(context, runner) > 0 {
            return Ok(None);
        }
        let lacks = if !rows::options(row).is_ok_and(|options| options.worktree) {
            "only a task with `isolation: worktree` goes to a worker"
        } else if context.serves_workers.get().is_none() {
            "it has no NATS server for workers (`nats` in `[workers]`)"
        } else {
            return Ok(no_worker_reason(&self.workers().await?, runner, None));
        };
        Ok(Some(format!("this hub runs no task on `{runner}` (`per_runner` in `[tasks]`), and {lacks}")))
    }
}

/// Returns in a clause why none of the workers can claim a task for a runner and a label; `None` if one can.
fn no_worker_reason(workers: &[ListedWorker], runner: &str, label: Option<&str>) -> Option<String> {
    let has = |list: &[String], word: &str| list.iter().any(|one| one == word);
    let suits = |worker: &&ListedWorker| {
        has(&worker.runners, runner) && label.is_none_or(|label| has(&worker.labels, label))
    };
    let named = |state: WorkerState| -> Vec<&ListedWorker> {
        workers.iter().filter(suits).filter(|worker| worker.state == state).collect()
    };
    let is_full =
        |worker: &&ListedWorker| i64::try_from(worker.tasks.len()).is_ok_and(|held| held >= worker.max_tasks);
    let connected = named(WorkerState::Connected);
    if !connected.iter().all(is_full) {
        return None;
    }
    let wanted = match label {
        Some(label) => format!("runs `{runner}` and has the label `{label}`"),
        None => format!("runs `{runner}`"),
    };
    if !connected.is_empty() {
        return Some(format!("each connected worker that {wanted} has its maximum of tasks"));
    }
    let others = [(WorkerState::Draining, "is draining"), (WorkerState::Away, "is away")];
    let hints = others.iter().flat_map(|(state, clause)| {
        named(*state).into_iter().map(move |worker| format!("; {} {clause}", worker.name))
    });
    Some(format!("no connected worker {wanted}") + &hints.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker_registry::HeldTask;

    fn worker(name: &str, state: WorkerState, labels: &[&str], held: usize) -> ListedWorker {
        let task = HeldTask { task_id: "t".to_owned(), agent: "maker".to_owned() };
        ListedWorker {
            id: name.to_owned(),
            name: name.to_owned(),
            state,
            version: String::new(),
            is_other_version: false,
            runners: vec!["codex".to_owned()],
            labels: labels.iter().map(ToString::to_string).collect(),
            max_tasks: 1,
            tasks: vec![task; held],
            joined_at: None,
            expires_at: None,
            seen_at: 0,
        }
    }

    #[test]
    fn a_task_waits_for_its_turn_only_where_a_worker_that_suits_it_has_room() {
        let reason = |workers: &[ListedWorker]| no_worker_reason(workers, "codex", Some("gpu"));
        let none = "no connected worker runs `codex` and has the label `gpu`";
        let plain = worker("plain", WorkerState::Connected, &[], 0);
        assert_eq!(reason(&[]).as_deref(), Some(none));
        assert_eq!(reason(std::slice::from_ref(&plain)).as_deref(), Some(none));
        assert_eq!(no_worker_reason(std::slice::from_ref(&plain), "codex", None), None);
        let runs = no_worker_reason(&[plain], "copilot", None);
        assert_eq!(runs.as_deref(), Some("no connected worker runs `copilot`"));

        let full = worker("full", WorkerState::Connected, &["gpu"], 1);
        let free = worker("free", WorkerState::Connected, &["gpu"], 0);
        let expected =
            "each connected worker that runs `codex` and has the label `gpu` has its maximum of tasks";
        assert_eq!(reason(std::slice::from_ref(&full)).as_deref(), Some(expected));
        assert_eq!(reason(&[full, free]), None);

        let others = [
            worker("fox", WorkerState::Away, &["gpu"], 0),
            worker("hen", WorkerState::Draining, &["gpu"], 0),
            worker("old", WorkerState::Revoked, &["gpu"], 0),
        ];
        assert_eq!(reason(&others), Some(format!("{none}; hen is draining; fox is away")));
    }
}
