//! The poll loop over the pipes and connections of a run.

use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::super::supervisor_protocol::Event;
use super::super::hub_connection::HubConnection;
use super::Run;

/// Timeouts of reading the pipes after the end: without new output, and in all.
const DRAIN_IDLE_TIMEOUT: Duration = Duration::from_millis(500);
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout of a hub that reads nothing at the end; the outcome is on disk.
const UNREAD_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum connections at once.
const MAX_CONNECTIONS: usize = 4;

/// A source of events.
#[derive(Clone, Copy)]
enum Source {
    Leader,
    Input,
    Output(usize),
    Control,
    Requests,
    Writable,
}

impl Run {
    /// Waits for events, at most for `timeout`, and handles them.
    pub(super) fn poll(&mut self, timeout: Duration) {
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
            for connection in &self.connections {
                if let Some(reader) = &connection.reader {
                    add(Source::Requests, reader.as_fd(), PollFlags::IN);
                }
                if let Some(writer) = connection.writer.as_ref().filter(|_| connection.has_output()) {
                    add(Source::Writable, writer.as_fd(), PollFlags::OUT);
                }
            }
            if let Some(control) = self.control.as_ref().filter(|_| self.connections.len() < MAX_CONNECTIONS)
            {
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
                // The next step checks the leader, and every pump writes to the connections.
                Source::Leader | Source::Writable => {}
                Source::Input => self.input.write(),
                Source::Output(at) => {
                    if self.outputs[at].take(&mut self.buffer) {
                        self.last_output = Instant::now();
                    }
                }
                Source::Control => {
                    if let Some(Ok((stream, _))) = self.control.as_ref().map(UnixListener::accept) {
                        self.connections.extend(HubConnection::attached(stream));
                    }
                }
                Source::Requests => self.read_requests(),
            }
        }
    }

    /// Handles the requests of all connections.
    pub(super) fn read_requests(&mut self) {
        let now = Instant::now();
        let mut requests = Vec::new();
        let mut lose_hub = false;
        for connection in &mut self.connections {
            requests.extend(connection.requests());
            lose_hub |= connection.reader.is_none() && std::mem::take(&mut connection.lifeline);
        }
        for request in requests {
            self.handle_request(request, now);
        }
        if lose_hub {
            self.lose_hub(now);
        }
    }

    pub(super) fn pump(&mut self) {
        for connection in &mut self.connections {
            connection.pump(&self.outputs[0].spool, false);
        }
        self.connections.retain(|connection| connection.reader.is_some() || connection.writer.is_some());
    }

    /// Reads the rest of the pipes. A process that still holds the other end is not part of the run.
    pub(super) fn drain(&mut self) {
        self.input.pipe = None;
        let start = Instant::now();
        self.last_output = start;
        loop {
            let now = Instant::now();
            let end = (start + DRAIN_TIMEOUT).min(self.last_output + DRAIN_IDLE_TIMEOUT);
            if now >= end || self.outputs.iter().all(|output| output.pipe.is_none()) {
                return;
            }
            self.pump();
            self.poll(end - now);
        }
    }

    /// Sends the rest of the lines and the end to all connections.
    pub(super) fn flush_and_finish(&mut self, end: &Event) {
        let mut moved_at = Instant::now();
        loop {
            let mut progressed = false;
            for connection in &mut self.connections {
                progressed |= connection.finish(&self.outputs[0].spool, end);
            }
            self.connections.retain(|connection| !connection.is_finished());
            if progressed {
                moved_at = Instant::now();
            }
            if self.connections.is_empty() || moved_at.elapsed() >= UNREAD_TIMEOUT {
                return;
            }
            let mut polled: Vec<PollFd<'_>> = Vec::new();
            for connection in &self.connections {
                polled.extend(connection.writer.iter().map(|writer| PollFd::new(writer, PollFlags::OUT)));
            }
            sleep(&mut polled, UNREAD_TIMEOUT);
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
