//! Workers that a hub knows: which code let each one join, its reports, and what the user decided about it.

use serde::Serialize;

use super::agents::Agents;
use super::error::Error;
use super::executor::context::now;
use adjutant_base::text::suggest::near_names;
use adjutant_store::{Millis, tasks, workers};

pub use adjutant_store::workers::{Report, Worker};

/// How long a worker without credentials is listed after its last report.
const OPEN_RETENTION: Millis = 24 * 60 * 60 * 1000;
/// How long an ended code and a revoked worker are listed after the end of their credentials.
const ENDED_RETENTION: Millis = 30 * OPEN_RETENTION;
/// The age of a report from which a worker counts as away: it reports every five seconds.
const AWAY_TIMEOUT: Millis = 20_000;

/// A worker as users see it.
#[derive(Clone, Debug, Serialize)]
pub struct ListedWorker {
    pub id: String,
    pub name: String,
    pub state: WorkerState,
    /// Of the program; empty before the first report.
    pub version: String,
    /// Whether it has another version than this program.
    pub is_other_version: bool,
    pub runners: Vec<String>,
    pub labels: Vec<String>,
    pub max_tasks: i64,
    /// The running tasks that it holds, oldest first.
    pub tasks: Vec<HeldTask>,
    /// `None` for a worker without credentials.
    pub joined_at: Option<Millis>,
    pub expires_at: Option<Millis>,
    pub seen_at: Millis,
}

/// A running task that a worker holds.
#[derive(Clone, Debug, Serialize)]
pub struct HeldTask {
    pub task_id: String,
    pub agent: String,
}

adjutant_base::named_enum! {
    /// The state of a worker.
    WorkerState {
        Connected = "connected",
        /// It reports, and claims nothing more.
        Draining = "draining",
        /// It has not reported for a while.
        Away = "away",
        /// Its credentials have ended.
        Expired = "expired",
        Revoked = "revoked",
    }
}

impl Agents {
    /// Stores the invitation code with the public key `id`, which is valid until `expires_at`. Its worker gets the
    /// `labels`.
    pub async fn invite_worker(&self, id: &str, labels: &[String], expires_at: Millis) -> Result<(), Error> {
        let current = now();
        let store = &self.context.store;
        workers::forget(store, current - OPEN_RETENTION, current - ENDED_RETENTION).await?;
        Ok(workers::invite(store, id, &labels.join(" "), current, expires_at).await?)
    }

    /// Uses a code for the worker with the public key `worker`, whose credentials end at `expires_at`, and forgets the
    /// worker `earlier`, which it replaces. Returns its labels; `None` when the code is unknown, expired or used.
    pub async fn join_worker(
        &self,
        code: &str,
        worker: &str,
        name: &str,
        expires_at: Millis,
        earlier: Option<&str>,
    ) -> Result<Option<Vec<String>>, Error> {
        let store = &self.context.store;
        let labels = workers::join(store, code, (worker, name), now(), expires_at, earlier).await?;
        Ok(labels.map(|labels| words(&labels)))
    }

    /// Returns whether a code is in this database, also when it has ended.
    pub async fn knows_code(&self, code: &str) -> Result<bool, Error> {
        Ok(workers::is_invitation(&self.context.store, code).await?)
    }

    /// Records the report of a worker, and returns the worker; `None` if too many workers without credentials are
    /// known.
    pub async fn report_of_worker(&self, mut report: Report) -> Result<Option<Worker>, Error> {
        report.now = now();
        Ok(workers::report(&self.context.store, report).await?)
    }

    /// Records the new end of a worker's credentials. False for a worker that is revoked.
    pub async fn renew_worker(&self, id: &str, expires_at: Millis) -> Result<bool, Error> {
        Ok(workers::renew(&self.context.store, id, expires_at).await?)
    }

    /// Returns a worker by its id.
    pub async fn worker(&self, id: &str) -> Result<Option<Worker>, Error> {
        Ok(workers::get(&self.context.store, id).await?)
    }

    /// Returns all workers, by name.
    pub async fn workers(&self) -> Result<Vec<ListedWorker>, Error> {
        let (rows, held) =
            (workers::list(&self.context.store).await?, workers::held(&self.context.store).await?);
        Ok(listed(rows, &held, now()))
    }

    /// Revokes a worker: no hub answers it from now on. `named` is its id, the beginning of its id, or a name that no
    /// other worker has. Returns the worker as it was before.
    pub async fn revoke_worker(&self, named: &str) -> Result<ListedWorker, Error> {
        let worker = self.find_worker(named).await?;
        workers::revoke(&self.context.store, &worker.id, now()).await?;
        Ok(worker)
    }

    /// Lets a worker claim nothing more, or claim again; `named` as for [`Self::revoke_worker`]. Returns the worker as
    /// it was before.
    pub async fn drain_worker(&self, named: &str, draining: bool) -> Result<ListedWorker, Error> {
        let worker = self.find_worker(named).await?;
        if !workers::drain(&self.context.store, &worker.id, draining).await? {
            return Err(Error::RevokedWorker { name: worker.name });
        }
        Ok(worker)
    }

    async fn find_worker(&self, named: &str) -> Result<ListedWorker, Error> {
        let mut all = self.workers().await?;
        let mut found: Vec<usize> = matches(&all, |worker| worker.id == named);
        if found.is_empty() {
            let ended = [WorkerState::Revoked, WorkerState::Expired];
            found = matches(&all, |worker| worker.name == named && !ended.contains(&worker.state));
        }
        if found.is_empty() {
            found = matches(&all, |worker| worker.name == named && worker.state != WorkerState::Revoked);
        }
        if found.is_empty() && named.len() >= MIN_PREFIX {
            found = matches(&all, |worker| worker.id.starts_with(named));
        }
        match found[..] {
            [only] => Ok(all.swap_remove(only)),
            [] => {
                let near = near_names(named, all.iter().map(|worker| worker.name.as_str()));
                Err(Error::UnknownWorker { name: named.to_owned(), near })
            }
            _ => Err(Error::SeveralWorkers {
                name: named.to_owned(),
                ids: found.iter().map(|place| all[*place].id.clone()).collect(),
            }),
        }
    }
}

/// Minimum characters of the beginning of an id that names a worker.
const MIN_PREFIX: usize = 6;

fn matches(all: &[ListedWorker], is_meant: impl Fn(&ListedWorker) -> bool) -> Vec<usize> {
    all.iter().enumerate().filter(|(_, worker)| is_meant(worker)).map(|(place, _)| place).collect()
}

/// Converts rows into the list that users see. `held` are the running tasks of all workers.
pub fn listed(rows: Vec<Worker>, held: &[workers::HeldTask], now: Millis) -> Vec<ListedWorker> {
    rows.into_iter()
        .map(|row| {
            let holder = tasks::holder(&row.id);
            let own = held.iter().filter(|task| task.hub == holder);
            ListedWorker {
                state: state(&row, now),
                is_other_version: !row.version.is_empty() && row.version != env!("CARGO_PKG_VERSION"),
                runners: words(&row.runners),
                labels: words(&row.labels),
                max_tasks: row.max_tasks,
                tasks: own
                    .map(|task| HeldTask { task_id: task.id.clone(), agent: task.agent.clone() })
                    .collect(),
                joined_at: row.joined_at,
                expires_at: row.expires_at,
                seen_at: row.seen_at,
                version: row.version,
                name: row.name,
                id: row.id,
            }
        })
        .collect()
}

fn state(row: &Worker, now: Millis) -> WorkerState {
    if row.revoked_at.is_some() {
        WorkerState::Revoked
    } else if row.expires_at.is_some_and(|end| end < now) {
        WorkerState::Expired
    } else if now - row.seen_at > AWAY_TIMEOUT || row.version.is_empty() {
        WorkerState::Away
    } else if row.draining != 0 {
        WorkerState::Draining
    } else {
        WorkerState::Connected
    }
}

/// Returns the words of a list in a row.
pub fn words(list: &str) -> Vec<String> {
    list.split_ascii_whitespace().map(ToOwned::to_owned).collect()
}
