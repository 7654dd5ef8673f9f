//! `adjutant supervise --guard SPOOL`: the process above a supervisor. When the supervisor is killed, the kernel gives
//! its processes to the guard, also those that dropped the mark, and the guard ends and counts them.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Signal, setsid};

use super::super::child;
use super::super::descendants;
use super::super::reexec::current_image;
use super::super::supervised_run::Outcome;
use super::super::supervisor_protocol::{OUTCOME, RECORD};
use super::{GUARDED, write_file};

/// Time for which SIGKILL is repeated before surviving processes are reported.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs the supervisor of the run with this spool folder, on this process's stdin and stdout.
pub fn guard(spool: &Path) -> io::Result<()> {
    let started = Instant::now();
    // A signal of the hub's terminal must not end it. It fails for a session leader.
    let _ = setsid();
    descendants::become_subreaper();
    let mut supervisor = child(current_image()?).arg("supervise").arg(GUARDED).spawn()?;
    // stdout stays open, so that the hub waits for this process after the end of the supervisor.
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    supervisor.wait()?;
    let processes_left = end_descendants();
    let has_run = spool.join(RECORD).exists() && !spool.join(OUTCOME).exists();
    if has_run {
        let (wall, cpu) = (started.elapsed(), descendants::children_cpu());
        let outcome = Outcome { processes_left, is_counted: true, wall, cpu, ..Outcome::unobserved(spool) };
        write_file(&spool.join(OUTCOME), &serde_json::to_vec(&outcome)?)?;
    }
    Ok(())
}

/// Kills what the supervisor left. Returns the number of survivors; 0 is confirmed by the kernel.
fn end_descendants() -> u32 {
    let deadline = Instant::now() + KILL_TIMEOUT;
    while !descendants::has_no_children() {
        let living = descendants::signal_descendants(Signal::KILL);
        if Instant::now() >= deadline {
            return u32::try_from(living.max(1)).unwrap_or(u32::MAX);
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    0
}
