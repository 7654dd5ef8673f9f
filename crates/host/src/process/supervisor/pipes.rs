//! The runner's three pipes.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;

use rustix::io::{Errno, ioctl_fionbio, read, write};

use super::super::spool::Spool;

/// Bytes read at once; a Linux pipe holds as many.
const CHUNK: usize = 64 << 10;

/// What the runner writes to one stream.
pub(super) struct Output {
    /// `None` after its end.
    pub(super) pipe: Option<OwnedFd>,
    pub(super) spool: Spool,
}

impl Output {
    /// Takes what is there now. Returns whether there was anything, or the end.
    pub(super) fn take(&mut self, buffer: &mut Vec<u8>) -> bool {
        buffer.resize(CHUNK, 0);
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

/// What the runner is still to be given.
pub(super) struct Input {
    /// `None` when all was written, or the runner does not want it.
    pub(super) pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    written: usize,
}

impl Input {
    /// Writes as much as fits; the pipe is closed after the last byte.
    pub(super) fn give(&mut self) {
        while let Some(pipe) = &self.pipe {
            match write(pipe, &self.bytes[self.written..]) {
                Ok(written) => self.written += written,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => continue,
                // The runner closed its end: it knows enough.
                Err(_) => self.written = self.bytes.len(),
            }
            if self.written == self.bytes.len() {
                self.pipe = None;
                self.bytes = Vec::new();
            }
        }
    }
}

/// Takes the pipes of the runner, so that no read or write on them ever waits.
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
