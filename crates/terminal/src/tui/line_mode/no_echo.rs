//! Reads a line without echo: the approval passphrase, for a question marked `high`.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The terminal's echo is off while this lives. Whatever happens, it is on again afterwards: a terminal that stays
/// silent is worse.
pub struct Hidden(Termios);

impl Hidden {
    /// Switches the echo of the terminal on stdin off.
    pub fn new() -> io::Result<Self> {
        let shown = tcgetattr(io::stdin())?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        // What was typed before was not meant to be hidden, nor to be a passphrase.
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self(shown))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
