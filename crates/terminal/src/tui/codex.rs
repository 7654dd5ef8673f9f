//! `adjutant codex` in a terminal: the list of threads, one open thread, its pending approval and an input box.
//!
//! As in the Inbox, threads of this process wait for keys and talk to the hub. They send [`messages::Message`]s, and only
//! these change the state. Drawing only reads it.

mod approval;
mod clipboard;
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
use super::terminal::Screen;
use super::terminal::ViewError;
use super::theme::Theme;
use adjutant_codex::thread_options::ThreadOptions;
use hub_worker::{HubStream, HubThread};
use messages::{Effect, Message};
use state::ViewState;

/// Maximum messages in the queue; the threads that send them wait if it is full.
const MESSAGE_QUEUE_SIZE: usize = 1024;
/// Interval at which expired notices are removed.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// The start of the view.
#[derive(Debug)]
pub struct Opening {
    /// The thread to show.
    pub thread: Option<String>,
    /// Options of new threads. The prompt is sent at once if it is not empty.
    pub start: ThreadOptions,
}

/// Shows Codex until the user leaves. Returns the thread that was open then.
pub fn run(hub: &Hub, theme: Theme, opening: Opening) -> Result<Option<String>, ViewError> {
    // Connects before the screen changes, so that an error is printed on the normal screen.
    drop(hub.connect(hub.start)?);
    let (send, inputs) = sync_channel(MESSAGE_QUEUE_SIZE);
    let mut state = ViewState::new(opening.start);
    let mut driver = Driver {
        hub: hub.clone(),
        hub_thread: HubThread::start(hub.clone(), send.clone()),
        send: send.clone(),
        watched: Some(hub_worker::watch(hub.clone(), String::new(), 0, send.clone())),
        followed: None,
    };
    let first = state.open_with(opening.thread);
    let mut screen = Screen::take()?;
    terminal::keys(send, Message::from_event, Message::InputClosed);
    driver.perform(&mut screen, &mut state, first)?;
    run_loop(&mut screen, &inputs, &mut driver, &mut state, theme).map_err(ViewError::Terminal)?;
    drop(screen);
    driver.hub_thread.finish();
    Ok(state.thread().map(ToOwned::to_owned))
}

/// Performs the effects of the view: on the hub, and on the terminal's clipboard.
struct Driver {
    hub: Hub,
    hub_thread: HubThread,
    send: SyncSender<Message>,
    /// The stream of the list of threads, and the stream of the open thread.
    watched: Option<HubStream>,
    followed: Option<HubStream>,
}

impl Driver {
    /// Performs effects. Returns false if the user leaves.
    fn perform(
        &mut self,
        screen: &mut Screen,
        state: &mut ViewState,
        effects: Vec<Effect>,
    ) -> io::Result<bool> {
        for effect in effects {
            match effect {
                Effect::Quit => return Ok(false),
                Effect::Run(action) => {
                    if let Err(input) = self.hub_thread.run(action) {
                        state.update(input, Instant::now());
                    }
                }
                Effect::Open { thread, number } => {
                    let stream = hub_worker::follow(self.hub.clone(), thread, number, self.send.clone());
                    self.followed = Some(stream);
                }
                Effect::Watch { text, number } => {
                    self.watched = Some(hub_worker::watch(self.hub.clone(), text, number, self.send.clone()));
                }
                Effect::Copy(text) => {
                    let mut out = io::stdout();
                    out.write_all(clipboard::sequence(&text).as_bytes())?;
                    out.flush()?;
                }
                Effect::Redraw => screen.0.clear()?,
            }
        }
        Ok(true)
    }
}

fn run_loop(
    screen: &mut Screen,
    inputs: &Receiver<Message>,
    driver: &mut Driver,
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
        // Messages that are queued together are drawn once.
        for input in std::iter::once(first).chain(inputs.try_iter().take(MESSAGE_QUEUE_SIZE)) {
            let effects = state.update(input, Instant::now());
            if !driver.perform(screen, state, effects)? {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
