//! A run from its start to the end of its last process.

mod poll;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, kill_process_group, waitid,
    waitpid,
};

use super::super::descendants;
use super::super::supervised_run::{Cause, Exit, Limit, OnHubExit, Outcome};
use super::super::supervisor_protocol::{CONTROL, Event, NOT_STARTED, OUTCOME, Request, SpawnRequest};
use super::hub_connection::HubConnection;
use super::pipes::{self, Input, Output};
use super::{RunFolder, write_file};

/// Time between SIGTERM and SIGKILL for processes that outlive the runner.
const LEFTOVER_GRACE: Duration = Duration::from_millis(250);

pub(super) struct Run {
    folder: PathBuf,
    /// Released last, when the outcome is on disk.
    lock: File,
    control: Option<UnixListener>,
    pub(super) connections: Vec<HubConnection>,
    wall: Option<Duration>,
    idle: Option<Duration>,
    first_output: Option<Duration>,
    grace: Duration,
    on_hub_exit: OnHubExit,
    is_wrapped: bool,

    leader: Pid,
    /// A handle that becomes readable when the leader ends; `None` if the system has none.
    handle: Option<OwnedFd>,
    input: Input,
    outputs: [Output; 2],
    buffer: Vec<u8>,

    phase: Phase,
    exit: Option<Exit>,
    cause: Cause,
    started: Instant,
    last_output: Instant,
    peak: u64,
    next_check: Instant,
    pause: Duration,
    survivors: u32,
}

/// The phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// The runner got SIGINT. It gets SIGTERM in the middle of the grace time.
    Stopping {
        again: Option<Instant>,
        kill: Instant,
    },
    /// The runner's process has ended; its remaining descendants got SIGTERM.
    Leftover {
        kill: Instant,
    },
    Killing {
        deadline: Instant,
    },
    Over,
}

impl Run {
    pub(super) fn new(
        request: &SpawnRequest,
        run_folder: RunFolder,
        started: Instant,
        mut child: Child,
        input: Option<Vec<u8>>,
    ) -> io::Result<Self> {
        let leader = Pid::from_child(&child);
        let (input, outputs) = pipes::take(&mut child, run_folder.stdout, run_folder.stderr, input)?;
        let now = Instant::now();
        Ok(Self {
            folder: run_folder.folder,
            lock: run_folder.lock,
            control: run_folder.control,
            connections: Vec::new(),
            wall: request.wall_ms.map(Duration::from_millis),
            idle: request.idle_ms.map(Duration::from_millis),
            first_output: request.first_output_ms.map(Duration::from_millis),
            grace: Duration::from_millis(request.grace_ms),
            on_hub_exit: request.on_hub_exit,
            is_wrapped: request.is_wrapped,
            leader,
            #[cfg(target_os = "linux")]
            handle: rustix::process::pidfd_open(leader, rustix::process::PidfdFlags::empty()).ok(),
            #[cfg(not(target_os = "linux"))]
            handle: None,
            input,
            outputs,
            buffer: Vec::new(),
            phase: Phase::Running,
            exit: None,
            cause: Cause::Exited,
            started,
            last_output: now,
            peak: 0,
            next_check: now,
            pause: Duration::from_millis(4),
            survivors: 0,
        })
    }

    /// Sends the event that the runner has started.
    pub(super) fn send_started(&mut self) {
        let event = Event::Started { runner: self.leader.as_raw_nonzero().get() };
        for connection in &mut self.connections {
            connection.send(&event);
        }
    }

    /// Runs until the last process has ended, then records and sends the outcome.
    pub(super) fn run(mut self) -> io::Result<()> {
        // A cancel request may have come with the spawn request.
        self.read_requests();
        while self.phase != Phase::Over {
            self.pump();
            let now = Instant::now();
            let wake = self.wake(now);
            self.poll(wake.saturating_duration_since(now));
            self.step(Instant::now());
        }
        let wall = self.started.elapsed();
        self.drain();
        let outcome = self.outcome(wall);
        let recorded = serde_json::to_vec(&outcome)
            .map_err(io::Error::from)
            .and_then(|json| write_file(&self.folder.join(OUTCOME), &json));
        self.control = None;
        let _ = std::fs::remove_file(self.folder.join(CONTROL));
        self.flush_and_finish(&Event::Ended { outcome });
        drop(self.lock);
        recorded
    }

    /// Returns the time of the next step without an event.
    fn wake(&self, now: Instant) -> Instant {
        let soon = now + Duration::from_millis(5);
        let next = match self.phase {
            Phase::Running => {
                let limits = self.limits();
                limits.map(|(_, at)| at).into_iter().flatten().min().unwrap_or(self.next_check)
            }
            Phase::Stopping { again, kill } => again.unwrap_or(kill),
            Phase::Leftover { kill } => kill.min(soon),
            Phase::Killing { .. } | Phase::Over => soon,
        };
        let next = if self.handle.is_none() { next.min(now + Duration::from_millis(20)) } else { next };
        next.min(self.next_check)
    }

    /// Returns the limits with the times at which they are reached.
    fn limits(&self) -> [(Limit, Option<Instant>); 3] {
        let silent = self.outputs[0].spool.seen() == 0;
        [
            (Limit::Wall, self.wall.map(|limit| self.started + limit)),
            (Limit::FirstOutput, self.first_output.filter(|_| silent).map(|limit| self.started + limit)),
            (Limit::Idle, self.idle.map(|limit| self.last_output + limit)),
        ]
    }

    /// Carries out the steps that are due.
    fn step(&mut self, now: Instant) {
        if now >= self.next_check {
            self.reap_orphans();
            self.pause = (self.pause * 2).min(Duration::from_secs(1));
            self.next_check = now + self.pause;
        }
        if self.exit.is_none() && self.leader_has_ended() {
            // A leader may be only a wrapper, so its descendants get SIGTERM first for every end of the leader.
            let kill = match self.phase {
                Phase::Running => Some(now + LEFTOVER_GRACE),
                Phase::Stopping { kill, .. } => Some(kill.min(now + LEFTOVER_GRACE)),
                Phase::Leftover { .. } | Phase::Killing { .. } | Phase::Over => None,
            };
            if let Some(kill) = kill.filter(|_| !self.is_over()) {
                descendants::signal_descendants(Signal::TERM);
                self.phase = Phase::Leftover { kill };
            }
        }
        match self.phase {
            Phase::Running => {
                let reached = self.limits().into_iter().find(|(_, at)| at.is_some_and(|at| now >= at));
                if let Some((limit, _)) = reached {
                    self.stop(Cause::TimedOut(limit), now);
                }
            }
            Phase::Stopping { kill, .. } if now >= kill => self.kill(now),
            Phase::Stopping { again: Some(again), kill } if now >= again => {
                self.signal_runner(Signal::TERM);
                self.phase = Phase::Stopping { again: None, kill };
            }
            Phase::Leftover { kill } if now >= kill => self.kill(now),
            Phase::Killing { deadline } => {
                let living = descendants::signal_descendants(Signal::KILL);
                if now >= deadline {
                    self.survivors = u32::try_from(living.max(1)).unwrap_or(u32::MAX);
                    self.phase = Phase::Over;
                }
            }
            Phase::Stopping { .. } | Phase::Leftover { .. } | Phase::Over => {}
        }
        if self.exit.is_some() {
            self.is_over();
        }
    }

    /// Requests the end of the runner, first with SIGINT.
    fn stop(&mut self, cause: Cause, now: Instant) {
        self.cause = cause;
        self.signal_runner(Signal::INT);
        self.phase = Phase::Stopping { again: Some(now + self.grace / 2), kill: now + self.grace };
    }

    fn kill(&mut self, now: Instant) {
        self.signal_runner(Signal::KILL);
        descendants::signal_descendants(Signal::KILL);
        self.phase = Phase::Killing { deadline: now + descendants::KILL_TIMEOUT };
    }

    fn signal_runner(&self, signal: Signal) {
        if self.is_wrapped && signal != Signal::KILL && descendants::signal_group(self.leader, signal) {
            return;
        }
        // The group may not exist yet. The process was not reaped, so its id is not reused.
        if self.exit.is_none() && kill_process_group(self.leader, signal).is_err() {
            let _ = kill_process(self.leader, signal);
        }
    }

    /// Returns whether the leader has ended. It is not reaped, so that its id is not reused before the end of the run.
    fn leader_has_ended(&mut self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.exit = match waitid(WaitId::Pid(self.leader), options) {
            Ok(None) | Err(rustix::io::Errno::INTR) => None,
            Ok(Some(status)) => Some(match (status.exit_status(), status.terminating_signal()) {
                (Some(_), _) if self.folder.join(NOT_STARTED).exists() => Exit::NotStarted,
                (Some(code), _) => Exit::Code(code),
                (None, Some(signal)) => Exit::Signal(signal),
                (None, None) => Exit::Unknown,
            }),
            Err(_) => Some(Exit::Unknown),
        };
        // Without a table of processes only the group can be killed, as long as its id is not reused.
        #[cfg(not(target_os = "linux"))]
        if self.exit.is_some() {
            let _ = kill_process_group(self.leader, Signal::KILL);
        }
        self.exit.is_some()
    }

    /// Reaps dead processes after the leader's end and checks with the kernel whether any are left.
    fn is_over(&mut self) -> bool {
        if self.phase == Phase::Over {
            return true;
        }
        let over = self.reap_orphans() == 0 && descendants::has_no_children();
        if over {
            self.phase = Phase::Over;
        }
        over
    }

    /// Reaps dead descendants except the leader. Returns the number of living ones.
    fn reap_orphans(&mut self) -> usize {
        let mut living = 0;
        let mut resident = 0;
        for process in descendants::descendants(getpid()) {
            if process.is_alive() {
                living += 1;
                resident += process.resident;
            } else if process.pid != self.leader {
                // It fails for a zombie of another parent.
                let _ = waitpid(Some(process.pid), WaitOptions::NOHANG);
            }
        }
        self.peak = self.peak.max(resident);
        living
    }

    fn lose_hub(&mut self, now: Instant) {
        match (self.on_hub_exit, self.phase) {
            (OnHubExit::Keep, _) | (OnHubExit::Kill, Phase::Over) => {}
            (OnHubExit::Kill, phase) => {
                if phase == Phase::Running {
                    self.cause = Cause::HubGone;
                }
                if !matches!(phase, Phase::Killing { .. }) {
                    self.kill(now);
                }
            }
        }
    }

    fn handle_request(&mut self, request: Request, now: Instant) {
        match (request, self.phase) {
            (Request::Cancel, Phase::Running) => self.stop(Cause::Cancelled, now),
            (Request::Cancel, Phase::Leftover { .. }) => self.kill(now),
            (Request::Cancel, Phase::Stopping { .. } | Phase::Killing { .. } | Phase::Over)
            | (Request::Attach, _) => {}
        }
    }

    fn outcome(&self, wall: Duration) -> Outcome {
        Outcome {
            exit: self.exit.unwrap_or(Exit::Unknown),
            cause: self.cause,
            processes_left: self.survivors,
            is_counted: true,
            wall,
            cpu: descendants::children_cpu(),
            peak_rss: self.peak,
            stdout: self.outputs[0].spool.spooled(),
            stderr: self.outputs[1].spool.spooled(),
        }
    }
}
