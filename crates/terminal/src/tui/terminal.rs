//! The terminal: taken over, drawn on, given back.

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

use super::inbox::{Inbox, Input, Now, Wish};
use super::theme::Theme;
use super::{Hub, reach, view};
use crate::socket::person::Error;
use crate::socket::person::popups::Act;

/// What may wait to be drawn; the threads behind it wait then.
const INPUTS: usize = 256;

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
pub(crate) enum Fault {
    #[error(transparent)]
    Hub(#[from] Error),
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Shows the inbox until the person quits.
pub(crate) fn run(hub: &Hub, theme: Theme) -> Result<(), Fault> {
    // Before the screen is taken: a refusal is read on the person's own.
    let person = hub.connect(hub.start)?;
    let (send, inputs) = sync_channel(INPUTS);
    let acts = reach::act(hub.clone(), send.clone());
    reach::follow(hub.clone(), person, send.clone());
    let mut screen = Screen::take()?;
    keys(send, Input::of, Input::Gone);
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

impl Input {
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
    inputs: &Receiver<Input>,
    acts: &SyncSender<Act>,
    theme: Theme,
) -> io::Result<()> {
    let mut inbox = Inbox::default();
    loop {
        let now = now();
        screen.0.draw(|frame| view::draw(frame, &inbox, theme, now))?;
        let first = match inputs.recv_timeout(inbox.next_change(now)) {
            Ok(input) => input,
            Err(RecvTimeoutError::Timeout) => Input::Tick,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        // What came in together is drawn once.
        for input in std::iter::once(first).chain(inputs.try_iter().take(INPUTS)) {
            for wish in inbox.on(input, self::now()) {
                match wish {
                    Wish::Quit => return Ok(()),
                    Wish::Act(act) => {
                        if let Err(TrySendError::Full(act) | TrySendError::Disconnected(act)) =
                            acts.try_send(act)
                        {
                            let busy = Err("the hub does not keep up; try again".to_owned());
                            inbox.on(Input::Done(act, busy), self::now());
                        }
                    }
                }
            }
        }
    }
}

/// Reads both clocks.
fn now() -> Now {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Now { at: Instant::now(), millis: i64::try_from(since.as_millis()).unwrap_or(i64::MAX) }
}
