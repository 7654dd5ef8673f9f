//! `adjutant codex` in a terminal: the list of threads, one open thread, its pending approval and an input box.
//!
//! As in the inbox, threads of this process wait for keys and talk with the hub. They send [`messages::Message`]s,
//! which alone change the state, and drawing only reads it.

mod approval;
mod clipboard;
mod form;
mod hub_worker;
mod input_box;
mod item_lines;
mod messages;
mod state;
mod transcript;
mod view;

use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::hub::Hub;
use super::terminal;
use super::terminal::Fault;
use super::terminal::Screen;
use super::theme::Theme;
use adjutant_codex::thread_options::ThreadOptions;
use hub_worker::{HubStream, HubThread};
use messages::{Effect, Message};
use state::ViewState;

/// What may wait to be drawn; the threads behind it wait then.
const MESSAGE_QUEUE_SIZE: usize = 1024;
/// How often a sentence that has stood long enough is looked for.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// What the view begins with.
#[derive(Debug)]
pub struct Opening {
    /// The thread to show.
    pub thread: Option<String>,
    /// How threads begin that are begun here; its prompt is sent at once where it is not empty.
    pub start: ThreadOptions,
}

/// Shows Codex until the person leaves; returns the thread that was open then.
pub fn run(hub: &Hub, theme: Theme, opening: Opening) -> Result<Option<String>, Fault> {
    // Before the screen is taken: a refusal is read on the person's own.
    drop(hub.connect(hub.start)?);
    let (send, inputs) = sync_channel(MESSAGE_QUEUE_SIZE);
    let mut state = ViewState::new(opening.start);
    let mut outside = Outside {
        hub: hub.clone(),
        hub_thread: HubThread::start(hub.clone(), send.clone()),
        send: send.clone(),
        watched: Some(hub_worker::watch(hub.clone(), String::new(), 0, send.clone())),
        followed: None,
    };
    let first = state.open_with(opening.thread);
    let mut screen = Screen::take()?;
    terminal::keys(send, Message::of, Message::InputClosed);
    outside.grant(&mut state, first)?;
    live(&mut screen, &inputs, &mut outside, &mut state, theme).map_err(Fault::Terminal)?;
    drop(screen);
    outside.hub_thread.finish();
    Ok(state.thread().map(ToOwned::to_owned))
}

/// What the view reaches: the hub, and the terminal's clipboard.
struct Outside {
    hub: Hub,
    hub_thread: HubThread,
    send: SyncSender<Message>,
    /// The line on which the list of threads is told, and the one for the open thread.
    watched: Option<HubStream>,
    followed: Option<HubStream>,
}

impl Outside {
    /// Does what is wished; false when the person leaves.
    fn grant(&mut self, state: &mut ViewState, effects: Vec<Effect>) -> io::Result<bool> {
        for effect in effects {
            match effect {
                Effect::Quit => return Ok(false),
                Effect::Run(act) => {
                    if let Err(input) = self.hub_thread.ask(act) {
                        state.update(input, Instant::now());
                    }
                }
                Effect::Open { thread, number } => {
                    let line = hub_worker::follow(self.hub.clone(), thread, number, self.send.clone());
                    self.followed = Some(line);
                }
                Effect::Watch { text, number } => {
                    self.watched = Some(hub_worker::watch(self.hub.clone(), text, number, self.send.clone()));
                }
                Effect::Copy(text) => {
                    let mut out = io::stdout();
                    out.write_all(clipboard::sequence(&text).as_bytes())?;
                    out.flush()?;
                }
            }
        }
        Ok(true)
    }
}

fn live(
    screen: &mut Screen,
    inputs: &Receiver<Message>,
    outside: &mut Outside,
    state: &mut ViewState,
    theme: Theme,
) -> io::Result<()> {
    loop {
        let size = screen.0.size()?;
        state.lay_out(size.width, size.height, theme);
        screen.0.draw(|frame| view::draw(frame, state, theme))?;
        let first = match inputs.recv_timeout(TICK_INTERVAL) {
            Ok(input) => input,
            Err(RecvTimeoutError::Timeout) => Message::Tick,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        // What came in together is drawn once.
        for input in std::iter::once(first).chain(inputs.try_iter().take(MESSAGE_QUEUE_SIZE)) {
            let effects = state.update(input, Instant::now());
            if !outside.grant(state, effects)? {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
