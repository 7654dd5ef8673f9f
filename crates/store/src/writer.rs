//! The single writer: verbs that arrive at the same time share one transaction, and so one wait for the disk.
//!
//! Each caller is answered after the commit. When a verb of a batch fails, the batch is rolled back and each of its
//! verbs is carried out alone, so that one caller's error does not fail the others.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use sqlx::{AnyConnection, AnyPool, Connection as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Error;
use super::pool_connection::{MAX_CUTS, acquire, is_cut};
use adjutant_base::metrics::Histogram;

/// Verbs in one transaction at most; bounds how long one verb waits for the others.
const BATCH_SIZE: usize = 128;
/// Verbs in the queue at most; the caller of the next one waits for a place.
const MAX_QUEUED: usize = 1024;
/// Attempts at a verb that loses races against other hubs, before its caller gets the error.
const MAX_TRIES: usize = 5;

/// Pause between two queries of the status of a transaction that the server has not ended yet.
const STATUS_INTERVAL: Duration = Duration::from_millis(5);

/// Makes hubs that share a PostgreSQL write one after the other, as processes that share an SQLite file do. This rules
/// out deadlocks and duplicate numbers; batches are short. The number identifies this lock alone.
const BEGIN_ALONE: &str = "BEGIN; SELECT pg_advisory_xact_lock(7437)";

/// A change of rows; it may run again if it was rolled back.
pub(super) type Verb<A, T> =
    for<'a> fn(&'a mut AnyConnection, &'a A) -> BoxFuture<'a, Result<T, sqlx::Error>>;

type Step =
    Box<dyn for<'c> Fn(&'c mut AnyConnection) -> BoxFuture<'c, Result<(), sqlx::Error>> + Send + Sync>;

/// The order of a verb and the verbs of other hubs, where hubs share the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// No other verb of this order runs at the same time.
    Alone,
    /// It runs while others do. Two hubs that wait for each other's rows are rare; the database ends one of the
    /// transactions, and it is tried again.
    Concurrent,
}

struct Job {
    order: Order,
    step: Step,
    answer: oneshot::Sender<Result<(), Error>>,
}

/// The database engine, for the few statements that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    Sqlite,
    Postgres,
}

/// The handle of the writing task, and its owner.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
    /// Verbs that were answered since the start, failed ones too.
    done: AtomicU64,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the task, which ends with [`Writer::close`], or when the writer is dropped.
    pub(super) fn start(pool: AnyPool, engine: Engine) -> Self {
        let (jobs, queue) = mpsc::channel(MAX_QUEUED);
        let stop = CancellationToken::new();
        let task = tokio::spawn(run(pool, engine, queue, stop.clone()));
        Self { jobs, done: AtomicU64::new(0), stop, task: Mutex::new(Some(task)) }
    }

    /// Carries out `verb` and returns its result, once the change is on disk. Its duration counts in `timings`.
    pub(super) async fn write<A, T>(
        &self,
        order: Order,
        timings: &Histogram,
        arguments: A,
        verb: Verb<A, T>,
    ) -> Result<T, Error>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let began = Instant::now();
        let given = Arc::new(Mutex::new(None));
        let (slot, arguments) = (given.clone(), Arc::new(arguments));
        let step: Step = Box::new(move |connection| {
            let (slot, arguments) = (slot.clone(), arguments.clone());
            Box::pin(async move {
                let value = verb(connection, &arguments).await?;
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
                Ok(())
            })
        });
        let (answer, answered) = oneshot::channel();
        self.jobs.send(Job { order, step, answer }).await.map_err(|_| Error::Closed)?;
        let answered = answered.await;
        self.done.fetch_add(1, Ordering::Release);
        timings.observe(began.elapsed());
        answered.map_err(|_| Error::Closed)??;
        given.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or(Error::Closed)
    }

    /// Returns how many verbs were answered so far.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    /// Accepts no more verbs, carries out those in the queue, and ends.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            // A task that panicked has ended too.
            drop(task.await);
        }
    }
}

async fn run(pool: AnyPool, engine: Engine, mut queue: mpsc::Receiver<Job>, stop: CancellationToken) {
    let mut batch = Vec::with_capacity(BATCH_SIZE);
    loop {
        tokio::select! {
            () = stop.cancelled(), if !queue.is_closed() => queue.close(),
            taken = queue.recv_many(&mut batch, BATCH_SIZE) => if taken == 0 { break },
        }
        // A verb is skipped when its caller has gone before it began.
        batch.retain(|job| !job.answer.is_closed());
        if batch.is_empty() {
            continue;
        }
        // When the database was unreachable for one verb, the rest of the batch fails without another wait.
        let mut unreachable = None;
        if batch.len() > 1 {
            match carry_out(&pool, engine, &batch).await {
                Ok(()) => {
                    for job in batch.drain(..) {
                        // The caller may be gone; the change stays.
                        drop(job.answer.send(Ok(())));
                    }
                }
                Err(error @ Error::Unreachable(_)) => unreachable = Some(error),
                Err(_) => {}
            }
        }
        for job in batch.drain(..) {
            let answer = match &unreachable {
                Some(error) => Err(Error::clone(error)),
                None => alone(&pool, engine, &job).await,
            };
            if let Err(error @ Error::Unreachable(_)) = &answer {
                unreachable = Some(error.clone());
            }
            drop(job.answer.send(answer));
        }
    }
    pool.close().await;
}

/// Carries out one verb alone, and retries it when another hub was in its way.
async fn alone(pool: &AnyPool, engine: Engine, job: &Job) -> Result<(), Error> {
    let mut tries = 1;
    loop {
        match carry_out(pool, engine, std::slice::from_ref(job)).await {
            Err(Error::Failed(error)) if tries < MAX_TRIES && is_passing(&error) => tries += 1,
            done => return done,
        }
    }
}

/// Carries out verbs in one transaction, all or none. When the connection to a server breaks, they are carried out again,
/// unless the server says that it has committed them.
async fn carry_out(pool: &AnyPool, engine: Engine, jobs: &[Job]) -> Result<(), Error> {
    let mut cuts = 0;
    loop {
        let mut connection = acquire(pool).await.map_err(|error| Error::Unreachable(Arc::new(error)))?;
        match transact(&mut connection, engine, jobs).await {
            // SQLite has rolled back a transaction by itself, because the disk was full. The driver does not notice
            // that, and refuses every further transaction of the connection.
            Err(Failure::RolledBack(sqlx::Error::InvalidSavePointStatement)) => connection.close_on_drop(),
            Err(Failure::RolledBack(error)) if cuts < MAX_CUTS && is_cut(&error) => cuts += 1,
            Err(Failure::RolledBack(error)) => return Err(error.into()),
            Err(Failure::Unconfirmed { transaction, error }) => {
                drop(connection);
                match is_committed(pool, transaction).await {
                    Ok(true) => return Ok(()),
                    Ok(false) if cuts < MAX_CUTS => cuts += 1,
                    Ok(false) => return Err(error.into()),
                    Err(_) => return Err(Error::Unconfirmed(Arc::new(error))),
                }
            }
            Ok(()) => return Ok(()),
        }
    }
}

/// The failure of a transaction.
enum Failure {
    /// Nothing of it was stored.
    RolledBack(sqlx::Error),
    /// The connection broke after the commit was sent. The server knows by the number whether it was stored.
    Unconfirmed { transaction: i64, error: sqlx::Error },
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::RolledBack(error)
    }
}

async fn transact(connection: &mut AnyConnection, engine: Engine, jobs: &[Job]) -> Result<(), Failure> {
    let order =
        if jobs.iter().all(|job| job.order == Order::Concurrent) { Order::Concurrent } else { Order::Alone };
    // The write lock is taken first, because SQLite cannot wait for another process when a reader becomes a writer.
    let mut transaction = match engine {
        Engine::Sqlite => connection.begin_with("BEGIN IMMEDIATE").await?,
        Engine::Postgres if order == Order::Concurrent => connection.begin().await?,
        Engine::Postgres => connection.begin_with(BEGIN_ALONE).await?,
    };
    let number: Option<i64> = match engine {
        Engine::Sqlite => None,
        Engine::Postgres => {
            Some(sqlx::query_scalar("SELECT txid_current()").fetch_one(&mut *transaction).await?)
        }
    };
    for job in jobs {
        (job.step)(&mut transaction).await?;
    }
    transaction.commit().await.map_err(|error| match number {
        Some(transaction) if is_cut(&error) => Failure::Unconfirmed { transaction, error },
        _ => Failure::RolledBack(error),
    })
}

/// Asks the server whether it has committed the transaction of a broken connection.
async fn is_committed(pool: &AnyPool, transaction: i64) -> Result<bool, sqlx::Error> {
    let mut cuts = 0;
    loop {
        let mut connection = acquire(pool).await?;
        let status = sqlx::query_scalar::<_, Option<String>>("SELECT txid_status($1)").bind(transaction);
        match status.fetch_one(&mut *connection).await {
            // The process of the broken connection has not ended yet.
            Ok(status) if status.as_deref() == Some("in progress") => {
                tokio::time::sleep(STATUS_INTERVAL).await;
            }
            Ok(status) => return Ok(status.as_deref() == Some("committed")),
            Err(error) if cuts < MAX_CUTS && is_cut(&error) => cuts += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Returns whether a retry may succeed: after a deadlock, a serialization failure, a file that another process held.
fn is_passing(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    matches!(code.as_deref(), Some("40001" | "40P01" | "5" | "261" | "517"))
}
