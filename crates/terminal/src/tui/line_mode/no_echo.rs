//! Input without echo, for the approval passphrase.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// A guard that switches the terminal's echo off. Dropping it restores the echo.
pub struct Hidden(Termios);

impl Hidden {
    /// Switches the echo of the terminal on stdin off.
    pub fn new() -> io::Result<Self> {
        let normal = tcgetattr(io::stdin())?;
        let mut hidden = normal.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        // Drops earlier input, which is not part of the passphrase.
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self(normal))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
