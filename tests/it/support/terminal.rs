//! A pseudo-terminal with a program in it, and what is on its screen.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::{DEADLINE, Home};

/// What the screen shows, and a word whenever it changed.
type Shown = Arc<(Mutex<vt100::Parser>, Condvar)>;

/// A terminal; the program in it is killed when the value goes.
pub(crate) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    shown: Shown,
}

fn cells(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

impl Terminal {
    /// Starts `adjutant` with `arguments` in a terminal of that size, with the variables that a login over SSH has.
    pub(crate) fn start(
        home: &Home,
        arguments: &[&str],
        columns: u16,
        rows: u16,
        env: &[(&str, &str)],
    ) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_adjutant"));
        command.args(arguments);
        command.env_clear();
        command.env("HOME", home.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("LANG", "C.UTF-8");
        command.env("TERM", "xterm-256color");
        command.env("XDG_RUNTIME_DIR", home.path());
        for (name, value) in env {
            command.env(name, value);
        }
        command.cwd(home.path());
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let shown: Shown =
            Arc::new((Mutex::new(vt100::Parser::new(cells(rows), cells(columns), 0)), Condvar::new()));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let drawn = shown.clone();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut part) {
                drawn.0.lock().unwrap().process(&part[..read]);
                drawn.1.notify_all();
            }
            drawn.1.notify_all();
        });
        let writer = pair.master.take_writer().unwrap();
        Self { master: pair.master, child, writer, shown }
    }

    /// Types.
    pub(crate) fn send(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Gives the window another size.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.shown.0.lock().unwrap().set_size(cells(rows), cells(columns));
        self.master.resize(size(columns, rows)).unwrap();
    }

    /// Waits until the screen is as `wanted` says and returns it.
    pub(crate) fn wait(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + DEADLINE;
        let mut parser = self.shown.0.lock().unwrap();
        loop {
            let screen = text(parser.screen());
            if wanted(&screen) {
                return screen;
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the screen never showed {what}:\n{screen}");
            parser = self.shown.1.wait_timeout(parser, left).unwrap().0;
        }
    }

    /// Waits until the screen holds a text.
    pub(crate) fn shows(&self, wanted: &str) -> String {
        self.wait(wanted, |screen| screen.contains(wanted))
    }

    /// What is on the screen now.
    pub(crate) fn screen(&self) -> vt100::Screen {
        self.shown.0.lock().unwrap().screen().clone()
    }

    /// Waits for the program's end and returns its exit code.
    pub(crate) fn ended(&mut self) -> u32 {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(Instant::now() < end, "it did not end:\n{}", text(&self.screen()));
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
    }
}

/// A screen as text, without what is blank at the ends.
pub(crate) fn text(screen: &vt100::Screen) -> String {
    let contents = screen.contents();
    contents.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
