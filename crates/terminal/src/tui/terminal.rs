//! The terminal: entering the alternate screen, drawing on it, and restoring it.

use std::io::{self, Stdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Instant, SystemTime};

use crossterm::cursor::Show;
use crossterm::event::{
    self, DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange, Event,
};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use super::hub::Hub;
use super::inbox::{Effect, Inbox, Message, Timestamps};
use super::theme::Theme;
use super::{hub_worker, view};
use crate::socket::control::Error;
use crate::socket::control::questions::Request;
use adjutant_base::text::timefmt;

/// Maximum messages in the queue; the threads that send them wait if it is full.
const MESSAGE_QUEUE_SIZE: usize = 256;

/// The terminal in raw mode. Dropping it restores the terminal.
pub(super) struct Screen(pub(super) Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    pub(super) fn take() -> io::Result<Self> {
        enable_raw_mode()?;
        let taken = execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, EnableFocusChange);
        let screen = Terminal::new(CrosstermBackend::new(io::stdout())).map(Self);
        match taken.and(screen) {
            Ok(screen) => Ok(screen),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    let _ = execute!(io::stdout(), DisableFocusChange, DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// The reason why a view ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error(transparent)]
    Hub(#[from] Error),
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Shows the Inbox until the user quits.
pub fn run(hub: &Hub, theme: Theme) -> Result<(), ViewError> {
    // Connects before the screen changes, so that an error is printed on the normal screen.
    let client = hub.connect(hub.start)?;
    let (send, inputs) = sync_channel(MESSAGE_QUEUE_SIZE);
    let requests = hub_worker::send_requests(hub.clone(), send.clone());
    hub_worker::follow(hub.clone(), client, Request::Follow, send.clone());
    let mut screen = Screen::take()?;
    keys(send, Message::from_event, Message::InputClosed);
    run_loop(&mut screen, &inputs, &requests, theme).map_err(ViewError::Terminal)
}

/// Sends keys until the receiver is dropped. Sends `closed` at the end of the input.
pub(super) fn keys<I: Send + 'static>(inputs: SyncSender<I>, from_event: fn(Event) -> I, closed: I) {
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if inputs.send(from_event(event)).is_err() {
                return;
            }
        }
        let _ = inputs.send(closed);
    });
}

impl Message {
    fn from_event(event: Event) -> Self {
        match event {
            Event::Key(key) => Self::Key(key),
            Event::Paste(text) => Self::Paste(text),
            Event::FocusGained => Self::Focus(true),
            Event::FocusLost => Self::Focus(false),
            Event::Resize(..) | Event::Mouse(_) => Self::Tick,
        }
    }
}

fn run_loop(
    screen: &mut Screen,
    inputs: &Receiver<Message>,
    requests: &SyncSender<Request>,
    theme: Theme,
) -> io::Result<()> {
    let mut inbox = Inbox::default();
    loop {
        let now = now();
        screen.0.draw(|frame| view::draw(frame, &inbox, theme, now))?;
        let first = match inputs.recv_timeout(inbox.next_change(now)) {
            Ok(input) => input,
            Err(RecvTimeoutError::Timeout) => Message::Tick,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        // Messages that are queued together are drawn once.
        for input in std::iter::once(first).chain(inputs.try_iter().take(MESSAGE_QUEUE_SIZE)) {
            for effect in inbox.update(input, self::now()) {
                match effect {
                    Effect::Quit => return Ok(()),
                    Effect::Redraw => screen.0.clear()?,
                    Effect::Send(request) => {
                        if let Err(TrySendError::Full(request) | TrySendError::Disconnected(request)) =
                            requests.try_send(request)
                        {
                            let busy = Err("the hub does not keep up; try again".to_owned());
                            inbox.update(Message::Done(request, busy), self::now());
                        }
                    }
                }
            }
        }
    }
}

/// Reads both clocks.
fn now() -> Timestamps {
    Timestamps { at: Instant::now(), millis: timefmt::millis(SystemTime::now()) }
}
