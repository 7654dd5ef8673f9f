//! `adjutant codex` in a terminal: the threads, one of them as it goes on, what Codex waits for, and a line to type on.
//!
//! As in the inbox, threads of this process wait for keys and talk with the hub, what they learn comes as
//! [`console::Input`]s, which alone change the state, and drawing only reads it.

mod approval;
mod console;
mod copy;
mod form;
mod lines;
mod reach;
mod transcript;
mod view;

use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::screen::{self, Screen};
use super::theme::Theme;
use super::{Fault, Hub};
use crate::codex::settings::Start;
use console::{Console, Input, Wish};
use reach::{Acts, Line};

/// What may wait to be drawn; the threads behind it wait then.
const INPUTS: usize = 1024;
/// How often a sentence that has stood long enough is looked for.
const TICK: Duration = Duration::from_secs(1);

/// What the view begins with.
#[derive(Debug)]
pub(crate) struct Opening {
    /// The thread to show.
    pub(crate) thread: Option<String>,
    /// How threads begin that are begun here; its prompt is sent at once where it is not empty.
    pub(crate) start: Start,
}

/// Shows Codex until the person leaves; returns the thread that was open then.
pub(crate) fn run(hub: &Hub, theme: Theme, opening: Opening) -> Result<Option<String>, Fault> {
    // Before the screen is taken: a refusal is read on the person's own.
    drop(hub.connect(hub.start)?);
    let (send, inputs) = sync_channel(INPUTS);
    let mut console = Console::new(opening.start);
    let mut outside = Outside {
        hub: hub.clone(),
        acts: Acts::start(hub.clone(), send.clone()),
        send: send.clone(),
        watched: Some(reach::watch(hub.clone(), String::new(), 0, send.clone())),
        followed: None,
    };
    let first = console.open_with(opening.thread);
    let mut screen = Screen::take()?;
    screen::keys(send, Input::of, Input::Gone);
    outside.grant(&mut console, first)?;
    live(&mut screen, &inputs, &mut outside, &mut console, theme).map_err(Fault::Terminal)?;
    drop(screen);
    outside.acts.finish();
    Ok(console.thread().map(ToOwned::to_owned))
}

/// What the view reaches: the hub, and the terminal's clipboard.
struct Outside {
    hub: Hub,
    acts: Acts,
    send: SyncSender<Input>,
    /// The line on which the list of threads is told, and the one for the open thread.
    watched: Option<Line>,
    followed: Option<Line>,
}

impl Outside {
    /// Does what is wished; false when the person leaves.
    fn grant(&mut self, console: &mut Console, wishes: Vec<Wish>) -> io::Result<bool> {
        for wish in wishes {
            match wish {
                Wish::Quit => return Ok(false),
                Wish::Act(act) => {
                    if let Err(input) = self.acts.ask(act) {
                        console.on(input, Instant::now());
                    }
                }
                Wish::Open { thread, number } => {
                    let line = reach::follow(self.hub.clone(), thread, number, self.send.clone());
                    self.followed = Some(line);
                }
                Wish::Watch { text, number } => {
                    self.watched = Some(reach::watch(self.hub.clone(), text, number, self.send.clone()));
                }
                Wish::Copy(text) => {
                    let mut out = io::stdout();
                    out.write_all(copy::sequence(&text).as_bytes())?;
                    out.flush()?;
                }
            }
        }
        Ok(true)
    }
}

fn live(
    screen: &mut Screen,
    inputs: &Receiver<Input>,
    outside: &mut Outside,
    console: &mut Console,
    theme: Theme,
) -> io::Result<()> {
    loop {
        let size = screen.0.size()?;
        console.lay_out(size.width, size.height, theme);
        screen.0.draw(|frame| view::draw(frame, console, theme))?;
        let first = match inputs.recv_timeout(TICK) {
            Ok(input) => input,
            Err(RecvTimeoutError::Timeout) => Input::Tick,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        // What came in together is drawn once.
        for input in std::iter::once(first).chain(inputs.try_iter().take(INPUTS)) {
            let wishes = console.on(input, Instant::now());
            if !outside.grant(console, wishes)? {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
