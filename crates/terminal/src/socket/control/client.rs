//! The client of the control API. It blocks: a program with a runtime calls it on a thread of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Request;
use super::protocol::{Error, Reply};
use crate::socket::{self, Hello, Start};

/// Bytes of one line of an answer; an outcome with its patch is some megabytes.
const MAX_REPLY_BYTES: u64 = 64 * 1024 * 1024;

/// A connection to the control API, which carries one request at a time.
#[derive(Debug)]
pub struct ControlClient {
    input: BufReader<UnixStream>,
    line: Vec<u8>,
}

impl ControlClient {
    /// Connects to the hub of `home`, which is started when there is none and `start` allows it. `default_socket` is
    /// the configured path; the agents of `workspace` take precedence for delegated tasks.
    pub fn connect(
        home: &Path,
        default_socket: Option<&Path>,
        workspace: Option<&Path>,
        start: Start,
    ) -> Result<Self, Error> {
        let connection = socket::connect_or_start(home, default_socket, &Hello::user(workspace), start)?;
        Ok(Self { input: connection.input, line: Vec::new() })
    }

    /// Returns a handle that ends this connection from another thread.
    pub fn hang_up(&self) -> Result<HangUp, Error> {
        let stream = self.input.get_ref().try_clone();
        stream.map(HangUp).map_err(|_| Error::Hub(socket::Error::Gone))
    }

    /// Sends a request that has one answer.
    pub(super) fn ask<T: DeserializeOwned>(&mut self, act: &Request) -> Result<T, Error> {
        self.follow(act, |_: Value| {})
    }

    /// Sends a request, calls `part` with each part of its answer, and returns the last.
    pub(super) fn follow<P: DeserializeOwned, T: DeserializeOwned>(
        &mut self,
        act: &Request,
        mut part: impl FnMut(P),
    ) -> Result<T, Error> {
        let mut bytes = serde_json::to_vec(act).map_err(|error| garbled(&error))?;
        bytes.push(b'\n');
        let gone = |_| Error::Hub(socket::Error::Gone);
        // A hub that refuses the request may hang up before it has read all of it; its answer can still be read.
        let _ = self.input.get_mut().write_all(&bytes);
        loop {
            self.line.clear();
            (&mut self.input).take(MAX_REPLY_BYTES).read_until(b'\n', &mut self.line).map_err(gone)?;
            if self.line.last() != Some(&b'\n') {
                return Err(socket::Error::Gone.into());
            }
            match serde_json::from_slice(&self.line).map_err(|error| garbled(&error))? {
                Reply::Part(value) => part(serde_json::from_value(value).map_err(|error| garbled(&error))?),
                Reply::Last(value) => return serde_json::from_value(value).map_err(|error| garbled(&error)),
                Reply::Refused(refusal) => return Err(Error::Refused(refusal)),
            }
        }
    }
}

/// Ends a connection that another thread reads from.
#[derive(Debug)]
pub struct HangUp(UnixStream);

impl HangUp {
    /// Closes the connection, so that a blocked read ends.
    pub fn now(&self) {
        // It may have ended by itself.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

fn garbled(error: &serde_json::Error) -> Error {
    socket::Error::Garbled { reason: error.to_string() }.into()
}
