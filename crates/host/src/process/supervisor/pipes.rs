//! Pipes to the stdin, stdout and stderr of a runner.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;

use rustix::io::{Errno, ioctl_fionbio, read, write};

use super::super::spool::Spool;

/// Bytes of one read, which is the capacity of a pipe on Linux.
const CHUNK_BYTES: usize = 64 << 10;

/// An output stream of the runner.
pub(super) struct Output {
    /// `None` after its end.
    pub(super) pipe: Option<OwnedFd>,
    pub(super) spool: Spool,
}

impl Output {
    /// Reads once without blocking. Returns whether there were bytes, or the end.
    pub(super) fn take(&mut self, buffer: &mut Vec<u8>) -> bool {
        buffer.resize(CHUNK_BYTES, 0);
        let Some(pipe) = &self.pipe else { return false };
        match read(pipe, &mut buffer[..]) {
            Ok(0) => self.pipe = None,
            Ok(length) => self.spool.write(&buffer[..length]),
            Err(Errno::AGAIN | Errno::INTR) => return false,
            Err(_) => self.pipe = None,
        }
        true
    }
}

/// Input of the runner that is not written yet.
pub(super) struct Input {
    /// `None` after everything was written, or the runner closed its stdin.
    pub(super) pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    written: usize,
}

impl Input {
    /// Writes without blocking; closes the pipe after the last byte.
    pub(super) fn write(&mut self) {
        while let Some(pipe) = &self.pipe {
            match write(pipe, &self.bytes[self.written..]) {
                Ok(written) => self.written += written,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => continue,
                // The runner closed its stdin.
                Err(_) => self.written = self.bytes.len(),
            }
            if self.written == self.bytes.len() {
                self.pipe = None;
                self.bytes = Vec::new();
            }
        }
    }
}

/// Takes the pipes of the runner and makes them non-blocking.
pub(super) fn take(
    child: &mut Child,
    stdout: Spool,
    stderr: Spool,
    input: Option<Vec<u8>>,
) -> io::Result<(Input, [Output; 2])> {
    let ready = |pipe: Option<OwnedFd>| match pipe {
        Some(pipe) => ioctl_fionbio(&pipe, true).map(|()| Some(pipe)),
        None => Ok(None),
    };
    let mut to_runner = Input {
        pipe: ready(child.stdin.take().map(OwnedFd::from))?,
        bytes: input.unwrap_or_default(),
        written: 0,
    };
    if to_runner.bytes.is_empty() {
        to_runner.pipe = None;
    }
    let outputs = [
        Output { pipe: ready(child.stdout.take().map(OwnedFd::from))?, spool: stdout },
        Output { pipe: ready(child.stderr.take().map(OwnedFd::from))?, spool: stderr },
    ];
    Ok((to_runner, outputs))
}
