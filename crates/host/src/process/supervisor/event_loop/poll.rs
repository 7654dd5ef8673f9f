//! The pipes and connections of a run: everything that the poll loop waits for.

use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::super::protocol::Event;
use super::super::hub_connection::Link;
use super::Run;

/// How long the pipes are read when all is over: until nothing comes, and at most.
const QUIET: Duration = Duration::from_millis(500);
const DRAINING: Duration = Duration::from_secs(2);
/// How long a hub that reads nothing is waited for at the end; the outcome is on disk for it.
const UNREAD: Duration = Duration::from_mins(1);
/// Most connections at once.
const LINKS: usize = 4;

/// What a poll can wake us for.
#[derive(Clone, Copy)]
enum Source {
    Leader,
    Input,
    Output(usize),
    Control,
    Requests,
    Room,
}

impl Run {
    /// Sleeps until something happens, at most for `timeout`, and takes what came.
    pub(super) fn wait(&mut self, timeout: Duration) {
        let ready = {
            let mut sources = Vec::new();
            let mut polled = Vec::new();
            let mut add = |source, fd, flags| {
                sources.push(source);
                polled.push(PollFd::from_borrowed_fd(fd, flags));
            };
            if let Some(handle) = self.handle.as_ref().filter(|_| self.exit.is_none()) {
                add(Source::Leader, handle.as_fd(), PollFlags::IN);
            }
            if let Some(pipe) = &self.input.pipe {
                add(Source::Input, pipe.as_fd(), PollFlags::OUT);
            }
            for (at, output) in self.outputs.iter().enumerate() {
                if let Some(pipe) = &output.pipe {
                    add(Source::Output(at), pipe.as_fd(), PollFlags::IN);
                }
            }
            for link in &self.links {
                if let Some(reader) = &link.reader {
                    add(Source::Requests, reader.as_fd(), PollFlags::IN);
                }
                if let Some(writer) = link.writer.as_ref().filter(|_| link.waits()) {
                    add(Source::Room, writer.as_fd(), PollFlags::OUT);
                }
            }
            if let Some(control) = self.control.as_ref().filter(|_| self.links.len() < LINKS) {
                add(Source::Control, control.as_fd(), PollFlags::IN);
            }
            sleep(&mut polled, timeout);
            let hits = polled.iter().map(|fd| !fd.revents().is_empty());
            sources
                .into_iter()
                .zip(hits)
                .filter_map(|(source, hit)| hit.then_some(source))
                .collect::<Vec<_>>()
        };
        for source in ready {
            match source {
                // The next step looks after the leader, and every pump after the room.
                Source::Leader | Source::Room => {}
                Source::Input => self.input.give(),
                Source::Output(at) => {
                    if self.outputs[at].take(&mut self.buffer) {
                        self.last_output = Instant::now();
                    }
                }
                Source::Control => {
                    if let Some(Ok((stream, _))) = self.control.as_ref().map(UnixListener::accept) {
                        self.links.extend(Link::attached(stream));
                    }
                }
                Source::Requests => self.hear(),
            }
        }
    }

    /// Takes the requests of all links.
    pub(super) fn hear(&mut self) {
        let now = Instant::now();
        let mut requests = Vec::new();
        let mut hub_is_gone = false;
        for link in &mut self.links {
            requests.extend(link.requests());
            hub_is_gone |= link.reader.is_none() && std::mem::take(&mut link.lifeline);
        }
        for request in requests {
            self.requested(request, now);
        }
        if hub_is_gone {
            self.hub_is_gone(now);
        }
    }

    pub(super) fn pump(&mut self) {
        for link in &mut self.links {
            link.pump(&self.outputs[0].spool, false);
        }
        self.links.retain(|link| link.reader.is_some() || link.writer.is_some());
    }

    /// Reads what is left in the pipes. Who still holds their other end is none of ours.
    pub(super) fn drain(&mut self) {
        self.input.pipe = None;
        let start = Instant::now();
        self.last_output = start;
        loop {
            let now = Instant::now();
            let end = (start + DRAINING).min(self.last_output + QUIET);
            if now >= end || self.outputs.iter().all(|output| output.pipe.is_none()) {
                return;
            }
            self.pump();
            self.wait(end - now);
        }
    }

    /// Sends the rest of the lines and the end to whoever reads.
    pub(super) fn flush_and_finish(&mut self, end: &Event) {
        let mut moved_at = Instant::now();
        loop {
            let mut moved = false;
            for link in &mut self.links {
                moved |= link.finish(&self.outputs[0].spool, end);
            }
            self.links.retain(|link| !link.is_finished());
            if moved {
                moved_at = Instant::now();
            }
            if self.links.is_empty() || moved_at.elapsed() >= UNREAD {
                return;
            }
            let mut polled: Vec<PollFd<'_>> = Vec::new();
            for link in &self.links {
                polled.extend(link.writer.iter().map(|writer| PollFd::new(writer, PollFlags::OUT)));
            }
            sleep(&mut polled, UNREAD);
        }
    }
}

/// Waits for one of `polled`. A poll that fails must not end the loop that ends the processes.
fn sleep(polled: &mut [PollFd<'_>], timeout: Duration) {
    let limit = Timespec::try_from(timeout).ok();
    match poll(polled, limit.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(_) => std::thread::park_timeout(timeout.min(Duration::from_millis(10))),
    }
}
