//! The terminal: entering the alternate screen, drawing on it, and restoring it.

use std::io::{self, Stdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Instant, SystemTime};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange, Event,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::hub::Hub;
use super::inbox::{Effect, Inbox, Message, Timestamps};
use super::theme::Theme;
use super::{hub_worker, view};
use crate::socket::control::Error;
use crate::socket::control::questions::Request;

/// What may wait to be drawn; the threads behind it wait then.
const MESSAGE_QUEUE_SIZE: usize = 256;

/// The terminal while it is ours. Whatever happens, it is given back as it was.
pub(super) struct Screen(pub(super) Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    pub(super) fn take() -> io::Result<Self> {
        enable_raw_mode()?;
        let taken = execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, EnableFocusChange);
        let screen = Terminal::new(CrosstermBackend::new(io::stdout())).map(Self);
        match taken.and(screen) {
            Ok(screen) => Ok(screen),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    let _ = execute!(io::stdout(), DisableFocusChange, DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Why the inbox ended.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error(transparent)]
    Hub(#[from] Error),
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Shows the inbox until the person quits.
pub fn run(hub: &Hub, theme: Theme) -> Result<(), Fault> {
    // Before the screen is taken: a refusal is read on the person's own.
    let client = hub.connect(hub.start)?;
    let (send, inputs) = sync_channel(MESSAGE_QUEUE_SIZE);
    let acts = hub_worker::act(hub.clone(), send.clone());
    hub_worker::follow(hub.clone(), client, send.clone());
    let mut screen = Screen::take()?;
    keys(send, Message::of, Message::InputClosed);
    live(&mut screen, &inputs, &acts, theme).map_err(Fault::Terminal)
}

/// Waits for keys, until nobody wants them any more; `gone` is told when nothing can be read any more.
pub(super) fn keys<I: Send + 'static>(inputs: SyncSender<I>, of: fn(Event) -> I, gone: I) {
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if inputs.send(of(event)).is_err() {
                return;
            }
        }
        let _ = inputs.send(gone);
    });
}

impl Message {
    fn of(event: Event) -> Self {
        match event {
            Event::Key(key) => Self::Key(key),
            Event::Paste(text) => Self::Paste(text),
            Event::FocusGained => Self::Focus(true),
            Event::FocusLost => Self::Focus(false),
            Event::Resize(..) | Event::Mouse(_) => Self::Tick,
        }
    }
}

fn live(
    screen: &mut Screen,
    inputs: &Receiver<Message>,
    acts: &SyncSender<Request>,
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
        // What came in together is drawn once.
        for input in std::iter::once(first).chain(inputs.try_iter().take(MESSAGE_QUEUE_SIZE)) {
            for effect in inbox.update(input, self::now()) {
                match effect {
                    Effect::Quit => return Ok(()),
                    Effect::Send(act) => {
                        if let Err(TrySendError::Full(act) | TrySendError::Disconnected(act)) =
                            acts.try_send(act)
                        {
                            let busy = Err("the hub does not keep up; try again".to_owned());
                            inbox.update(Message::Done(act, busy), self::now());
                        }
                    }
                }
            }
        }
    }
}

/// Reads both clocks.
fn now() -> Timestamps {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamps { at: Instant::now(), millis: i64::try_from(since.as_millis()).unwrap_or(i64::MAX) }
}
