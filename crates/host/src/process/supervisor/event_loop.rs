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
use super::super::protocol::{CONTROL, Event, NOT_STARTED, OUTCOME, Order, Request};
use super::super::run::{Cause, Exit, Limit, OnHubExit, Outcome};
use super::hub_connection::Link;
use super::pipes::{self, Input, Output};
use super::{Place, write_file};

/// What a runner leaves has this long between SIGTERM and SIGKILL.
const LEFTOVER_GRACE: Duration = Duration::from_millis(250);
/// How long SIGKILL is repeated before what still lives is reported instead.
const KILLING: Duration = Duration::from_secs(10);

pub(super) struct Run {
    folder: PathBuf,
    /// Released last, when the outcome is on disk.
    lock: File,
    control: Option<UnixListener>,
    pub(super) links: Vec<Link>,
    wall: Option<Duration>,
    idle: Option<Duration>,
    first_output: Option<Duration>,
    grace: Duration,
    on_hub_exit: OnHubExit,

    leader: Pid,
    /// Becomes readable when the leader ends; `None` where there is no such thing.
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
    next_look: Instant,
    pause: Duration,
    left: u32,
}

/// What is being done about the run's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// The runner was asked with SIGINT, and is asked again with SIGTERM half-way to the kill.
    Asked {
        again: Option<Instant>,
        kill: Instant,
    },
    /// The runner's own process has ended; what it left was asked with SIGTERM.
    Leftover {
        kill: Instant,
    },
    Killing {
        give_up: Instant,
    },
    Over,
}

impl Run {
    pub(super) fn new(
        order: &Order,
        place: Place,
        started: Instant,
        mut child: Child,
        input: Option<Vec<u8>>,
    ) -> io::Result<Self> {
        let leader = Pid::from_child(&child);
        let (input, outputs) = pipes::take(&mut child, place.stdout, place.stderr, input)?;
        let now = Instant::now();
        Ok(Self {
            folder: place.folder,
            lock: place.lock,
            control: place.control,
            links: Vec::new(),
            wall: order.wall_ms.map(Duration::from_millis),
            idle: order.idle_ms.map(Duration::from_millis),
            first_output: order.first_output_ms.map(Duration::from_millis),
            grace: Duration::from_millis(order.grace_ms),
            on_hub_exit: order.on_hub_exit,
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
            next_look: now,
            pause: Duration::from_millis(4),
            left: 0,
        })
    }

    /// Tells the hub that the runner's process exists.
    pub(super) fn tell_started(&mut self) {
        let event = Event::Started { runner: self.leader.as_raw_nonzero().get() };
        for link in &mut self.links {
            link.tell(&event);
        }
    }

    /// Lives until nothing of the run is left, then tells how it ended.
    pub(super) fn live(mut self) -> io::Result<()> {
        // A request may have come with the order.
        self.hear();
        while self.phase != Phase::Over {
            self.pump();
            let now = Instant::now();
            let wake = self.wake(now);
            self.wait(wake.saturating_duration_since(now));
            self.step(Instant::now());
        }
        let wall = self.started.elapsed();
        self.drain();
        let outcome = self.outcome(wall);
        let said = serde_json::to_vec(&outcome)
            .map_err(io::Error::from)
            .and_then(|json| write_file(&self.folder.join(OUTCOME), &json));
        self.control = None;
        let _ = std::fs::remove_file(self.folder.join(CONTROL));
        self.flush_and_finish(&Event::Ended { outcome });
        drop(self.lock);
        said
    }

    /// Returns when something has to be done at the latest.
    fn wake(&self, now: Instant) -> Instant {
        let soon = now + Duration::from_millis(5);
        let next = match self.phase {
            Phase::Running => {
                let limits = self.limits();
                limits.map(|(_, at)| at).into_iter().flatten().min().unwrap_or(self.next_look)
            }
            Phase::Asked { again, kill } => again.unwrap_or(kill),
            Phase::Leftover { kill } => kill.min(soon),
            Phase::Killing { .. } | Phase::Over => soon,
        };
        let next = if self.handle.is_none() { next.min(now + Duration::from_millis(20)) } else { next };
        next.min(self.next_look)
    }

    /// The limits, and when they are reached as things stand.
    fn limits(&self) -> [(Limit, Option<Instant>); 3] {
        let silent = self.outputs[0].spool.seen() == 0;
        [
            (Limit::Wall, self.wall.map(|limit| self.started + limit)),
            (Limit::FirstOutput, self.first_output.filter(|_| silent).map(|limit| self.started + limit)),
            (Limit::Idle, self.idle.map(|limit| self.last_output + limit)),
        ]
    }

    /// Does what is due.
    fn step(&mut self, now: Instant) {
        if now >= self.next_look {
            self.bury_orphans();
            self.pause = (self.pause * 2).min(Duration::from_secs(1));
            self.next_look = now + self.pause;
        }
        if self.exit.is_none() && self.leader_has_ended() {
            // A leader may be only a wrapper: what it leaves is asked too, whoever ended the leader.
            let kill = match self.phase {
                Phase::Running => Some(now + LEFTOVER_GRACE),
                Phase::Asked { kill, .. } => Some(kill.min(now + LEFTOVER_GRACE)),
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
                    self.ask(Cause::TimedOut(limit), now);
                }
            }
            Phase::Asked { kill, .. } if now >= kill => self.kill(now),
            Phase::Asked { again: Some(again), kill } if now >= again => {
                self.signal_runner(Signal::TERM);
                self.phase = Phase::Asked { again: None, kill };
            }
            Phase::Leftover { kill } if now >= kill => self.kill(now),
            Phase::Killing { give_up } => {
                let living = descendants::signal_descendants(Signal::KILL);
                if now >= give_up {
                    self.left = u32::try_from(living.max(1)).unwrap_or(u32::MAX);
                    self.phase = Phase::Over;
                }
            }
            Phase::Asked { .. } | Phase::Leftover { .. } | Phase::Over => {}
        }
        if self.exit.is_some() {
            self.is_over();
        }
    }

    /// Asks the runner to end, the polite way first.
    fn ask(&mut self, cause: Cause, now: Instant) {
        self.cause = cause;
        self.signal_runner(Signal::INT);
        self.phase = Phase::Asked { again: Some(now + self.grace / 2), kill: now + self.grace };
    }

    fn kill(&mut self, now: Instant) {
        self.signal_runner(Signal::KILL);
        descendants::signal_descendants(Signal::KILL);
        self.phase = Phase::Killing { give_up: now + KILLING };
    }

    fn signal_runner(&self, signal: Signal) {
        // Before the stage has made its group there is only the process. Nobody buried it, so the number is its own.
        if self.exit.is_none() && kill_process_group(self.leader, signal).is_err() {
            let _ = kill_process(self.leader, signal);
        }
    }

    /// Looks whether the leader has ended, and leaves it unburied: its number stays its own until all is over.
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
        // Where descendants cannot be found the group is all there is to end, while its number is sure.
        #[cfg(not(target_os = "linux"))]
        if self.exit.is_some() {
            let _ = kill_process_group(self.leader, Signal::KILL);
        }
        self.exit.is_some()
    }

    /// After the leader's end: buries what is dead, and looks whether anything is left. The last word has the
    /// kernel.
    fn is_over(&mut self) -> bool {
        if self.phase == Phase::Over {
            return true;
        }
        let over = self.bury_orphans() == 0 && descendants::has_no_children();
        if over {
            self.phase = Phase::Over;
        }
        over
    }

    /// Buries dead descendants that came to us, the leader excepted, and counts the living.
    fn bury_orphans(&mut self) -> usize {
        let mut living = 0;
        let mut resident = 0;
        for process in descendants::descendants(getpid()) {
            if process.lives() {
                living += 1;
                resident += process.resident;
            } else if process.pid != self.leader {
                // A zombie below somebody else is not ours to bury, which the kernel knows.
                let _ = waitpid(Some(process.pid), WaitOptions::NOHANG);
            }
        }
        self.peak = self.peak.max(resident);
        living
    }

    fn hub_is_gone(&mut self, now: Instant) {
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

    fn requested(&mut self, request: Request, now: Instant) {
        match (request, self.phase) {
            (Request::Cancel, Phase::Running) => self.ask(Cause::Cancelled, now),
            (Request::Cancel, Phase::Leftover { .. }) => self.kill(now),
            (Request::Cancel, Phase::Asked { .. } | Phase::Killing { .. } | Phase::Over)
            | (Request::Attach, _) => {}
        }
    }

    fn outcome(&self, wall: Duration) -> Outcome {
        Outcome {
            exit: self.exit.unwrap_or(Exit::Unknown),
            cause: self.cause,
            processes_left: self.left,
            wall,
            cpu: descendants::children_cpu(),
            peak_rss: self.peak,
            stdout: self.outputs[0].spool.spooled(),
            stderr: self.outputs[1].spool.spooled(),
        }
    }
}
