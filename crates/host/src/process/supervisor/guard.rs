//! `adjutant supervise --guard SPOOL`: the process above a supervisor. When the supervisor is killed, the kernel gives
//! its processes to the guard, also those that dropped the mark, and the guard ends and counts them.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::Instant;

use rustix::process::{getpid, setsid};

use super::super::child;
use super::super::descendants;
use super::super::reexec::current_image;
use super::super::supervised_run::Outcome;
use super::super::supervisor_protocol::{LOCK, OUTCOME};
use super::{GUARDED, write_file};

/// Runs the supervisor of the run with this spool folder, on this process's stdin and stdout.
pub fn guard(spool: &Path) -> io::Result<()> {
    let started = Instant::now();
    // A signal of the hub's terminal must not end it. It fails for a session leader.
    let _ = setsid();
    descendants::become_subreaper();
    let mut supervisor =
        child(current_image()?).arg("supervise").arg(GUARDED).arg(getpid().to_string()).spawn()?;
    // stdout stays open, so that the hub waits for this process after the end of the supervisor.
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    supervisor.wait()?;
    let processes_left = descendants::end_all();
    // The supervisor may have started the runner without being able to record it.
    let has_run = spool.join(LOCK).exists() && !spool.join(OUTCOME).exists();
    if has_run {
        let (wall, cpu) = (started.elapsed(), descendants::children_cpu());
        let outcome = Outcome { processes_left, is_counted: true, wall, cpu, ..Outcome::unobserved(spool) };
        write_file(&spool.join(OUTCOME), &serde_json::to_vec(&outcome)?)?;
    }
    Ok(())
}
