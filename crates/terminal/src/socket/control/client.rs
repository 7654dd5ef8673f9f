//! The client of the control API. It blocks, so a program with a runtime calls it on a thread.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Request;
use super::protocol::{Error, Reply};
use crate::socket::{self, Hello, Start};

/// Maximum bytes of one line of an answer; an outcome with its patch has some megabytes.
const MAX_REPLY_BYTES: u64 = 64 * 1024 * 1024;

/// A connection to the control API, which carries one request at a time.
#[derive(Debug)]
pub struct ControlClient {
    input: BufReader<UnixStream>,
    line: Vec<u8>,
}

impl ControlClient {
    /// Connects to the hub of `home`. Starts a hub if none runs and `start` allows it. `default_socket` is the configured path;
    /// the agents of `workspace` take precedence for delegated tasks.
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
        stream.map(HangUp).map_err(|_| Error::Hub(socket::Error::Stopped))
    }

    /// Sends a request with one answer.
    pub(super) fn ask<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T, Error> {
        self.follow(request, |_: Value| {})
    }

    /// Sends a request, calls `on_part` with each part of its answer, and returns the last.
    pub(super) fn follow<P: DeserializeOwned, T: DeserializeOwned>(
        &mut self,
        request: &Request,
        mut on_part: impl FnMut(P),
    ) -> Result<T, Error> {
        let invalid =
            |error: serde_json::Error| Error::Hub(socket::Error::InvalidAnswer { reason: error.to_string() });
        let mut bytes = serde_json::to_vec(request).map_err(invalid)?;
        bytes.push(b'\n');
        let stopped = |_| Error::Hub(socket::Error::Stopped);
        // A hub that rejects the request may close the connection before it has read all of it, after its answer.
        let _ = self.input.get_mut().write_all(&bytes);
        loop {
            self.line.clear();
            (&mut self.input).take(MAX_REPLY_BYTES).read_until(b'\n', &mut self.line).map_err(stopped)?;
            if self.line.last() != Some(&b'\n') {
                return Err(socket::Error::Stopped.into());
            }
            match serde_json::from_slice(&self.line).map_err(invalid)? {
                Reply::Part(value) => on_part(serde_json::from_value(value).map_err(invalid)?),
                Reply::Last(value) => return serde_json::from_value(value).map_err(invalid),
                Reply::Rejected(rejection) => return Err(Error::Rejected(rejection)),
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
        // It may be closed already.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}
