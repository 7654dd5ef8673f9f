//! The person's side of the door. It blocks: a terminal program with a runtime asks on a thread of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Act, Error, Line};
use crate::socket::{self, Hello, Start};

/// Bytes of one line of an answer; an outcome with its patch is some megabytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// A connection to the hub on which a person acts, one act at a time.
#[derive(Debug)]
pub(crate) struct Person {
    input: BufReader<UnixStream>,
    line: Vec<u8>,
}

impl Person {
    /// Connects to the hub of `home`, which is started when there is none and `start` allows it. `usual` is where the
    /// hub listens unless it was told otherwise; the agents of `workspace` come first for what is delegated here.
    pub(crate) fn reach(
        home: &Path,
        usual: Option<&Path>,
        workspace: Option<&Path>,
        start: Start,
    ) -> Result<Self, Error> {
        let connection = socket::reach(home, usual, &Hello::person(workspace), start)?;
        Ok(Self { input: connection.input, line: Vec::new() })
    }

    /// Returns what ends this connection from another thread.
    pub(crate) fn hang_up(&self) -> Result<HangUp, Error> {
        let stream = self.input.get_ref().try_clone();
        stream.map(HangUp).map_err(|_| Error::Hub(socket::Error::Gone))
    }

    /// Does an act that has one answer.
    pub(super) fn ask<T: DeserializeOwned>(&mut self, act: &Act) -> Result<T, Error> {
        self.follow(act, |_: Value| {})
    }

    /// Does an act, gives each part of its answer to `part`, and returns the last.
    pub(super) fn follow<P: DeserializeOwned, T: DeserializeOwned>(
        &mut self,
        act: &Act,
        mut part: impl FnMut(P),
    ) -> Result<T, Error> {
        let mut bytes = serde_json::to_vec(act).map_err(|error| garbled(&error))?;
        bytes.push(b'\n');
        let gone = |_| Error::Hub(socket::Error::Gone);
        // A hub that refuses the act may hang up before it has read all of it; its answer is there all the same.
        let _ = self.input.get_mut().write_all(&bytes);
        loop {
            self.line.clear();
            (&mut self.input).take(LONGEST).read_until(b'\n', &mut self.line).map_err(gone)?;
            if self.line.last() != Some(&b'\n') {
                return Err(socket::Error::Gone.into());
            }
            match serde_json::from_slice(&self.line).map_err(|error| garbled(&error))? {
                Line::Part(value) => part(serde_json::from_value(value).map_err(|error| garbled(&error))?),
                Line::Last(value) => return serde_json::from_value(value).map_err(|error| garbled(&error)),
                Line::Refused(refusal) => return Err(Error::Refused(refusal)),
            }
        }
    }
}

/// Ends a connection that somebody else reads from.
#[derive(Debug)]
pub(crate) struct HangUp(UnixStream);

impl HangUp {
    pub(crate) fn now(&self) {
        // It may have ended by itself.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

fn garbled(error: &serde_json::Error) -> Error {
    socket::Error::Garbled { reason: error.to_string() }.into()
}
