//! A pseudo-terminal with a program in it, and the content of its screen.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::{DEADLINE, Home};

/// The screen, and a signal at each change.
type SharedScreen = Arc<(Mutex<vt100::Parser>, Condvar)>;

/// A terminal; its program is killed when the value is dropped.
pub(crate) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    shown: SharedScreen,
    written: Arc<Mutex<Vec<u8>>>,
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
        let shown: SharedScreen =
            Arc::new((Mutex::new(vt100::Parser::new(cells(rows), cells(columns), 0)), Condvar::new()));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let drawn = shown.clone();
        let written: Arc<Mutex<Vec<u8>>> = Arc::default();
        let kept = written.clone();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut part) {
                kept.lock().unwrap().extend_from_slice(&part[..read]);
                drawn.0.lock().unwrap().process(&part[..read]);
                drawn.1.notify_all();
            }
            drawn.1.notify_all();
        });
        let writer = pair.master.take_writer().unwrap();
        Self { master: pair.master, child, writer, shown, written }
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

    /// Waits until the screen matches and returns it.
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

    /// The program's output so far.
    pub(crate) fn written(&self) -> Vec<u8> {
        self.written.lock().unwrap().clone()
    }

    /// What is on the screen now.
    pub(crate) fn screen(&self) -> vt100::Screen {
        self.shown.0.lock().unwrap().screen().clone()
    }

    /// Waits until the program has restored the screen; its last bytes may arrive after its exit.
    pub(crate) fn wait_until_restored(&self) {
        let end = Instant::now() + DEADLINE;
        let mut parser = self.shown.0.lock().unwrap();
        while parser.screen().alternate_screen() {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the terminal is not given back:\n{}", text(parser.screen()));
            parser = self.shown.1.wait_timeout(parser, left).unwrap().0;
        }
    }

    /// Waits for the program's end and returns its exit code.
    pub(crate) fn exit_code(&mut self) -> u32 {
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

/// A screen as text, without trailing blanks.
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

/// The width and the height of a cell in a picture, and the space around a screen.
const CELL: (f32, f32) = (8.4, 18.0);
const MARGIN: f32 = 12.0;

/// The font of a picture.
const FONT: &str =
    "font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"14\"";

/// Draws a screen as SVG, for a page with a terminal's picture; `label` describes it.
pub(crate) fn svg(screen: &vt100::Screen, label: &str, replaced: &[(&str, &str)]) -> String {
    let (width, height) = picture_size(screen);
    let drawn = draw(screen, replaced);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"{label}\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181d\"/>\n\
         <g {FONT}>\n{drawn}</g>\n</svg>\n"
    )
}

/// The look of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Dark,
    Light,
}

/// The colours of a dark picture, each with that of a light one.
const LIGHT: [(&str, &str); 16] = [
    ("#16181d", "#ffffff"),
    ("#f07178", "#c4314b"),
    ("#7fd88f", "#1a7f37"),
    ("#6ac8d8", "#0f6f80"),
    ("#8b919c", "#6a707a"),
    ("#4f9cff", "#0b5cc4"),
    ("#3fb9b0", "#0b7a72"),
    ("#8fae3c", "#4f6b0a"),
    ("#a98be0", "#6a47b0"),
    ("#c98a4a", "#8a4f0f"),
    ("#d070c0", "#a03490"),
    ("#e8884a", "#b0480a"),
    ("#4fb05a", "#1a6f24"),
    ("#6f8fe0", "#3a55b0"),
    ("#c8a83a", "#7a5f00"),
    ("#dfe3ea", "#1f2328"),
];

/// Draws a screen like [`svg`], as a terminal with this look shows it.
pub(crate) fn svg_as(look: Look, screen: &vt100::Screen, label: &str, replaced: &[(&str, &str)]) -> String {
    let dark = svg(screen, label, replaced);
    match look {
        Look::Dark => dark,
        Look::Light => LIGHT.iter().fold(dark, |svg, (dark, light)| svg.replace(dark, light)),
    }
}

/// A moment of an animated picture: a screen for each of its terminals.
pub(crate) struct Moment {
    pub(crate) screens: Vec<vt100::Screen>,
    pub(crate) seconds: f32,
}

/// Draws terminals one below the other, each with its title, as an SVG that shows the moments again and again. A reader
/// who wants no motion, and a program that draws no animation, shows the moment `still`.
pub(crate) fn animated_svg(
    titles: &[&str],
    moments: &[Moment],
    still: usize,
    label: &str,
    replaced: &[(&str, &str)],
) -> String {
    const TITLE_HEIGHT: f32 = 30.0;
    const GAP: f32 = 10.0;
    let total: f32 = moments.iter().map(|moment| moment.seconds).sum();
    let (mut styles, mut shown) = (String::new(), String::new());
    let (mut begin, mut width, mut height) = (0.0, 0.0, 0.0);
    // A screen that does not change is drawn once.
    let mut drawings: Vec<String> = Vec::new();
    let mut panes = String::new();
    for (number, moment) in moments.iter().enumerate() {
        let end = begin + moment.seconds / total * 100.0;
        styles += &format!(
            "@keyframes m{number} {{ 0% {{ opacity: 0 }} {begin:.1}% {{ opacity: 1 }} {end:.1}% {{ opacity: 0 }} }}\n"
        );
        begin = end;
        let class = if number == still { "moment still" } else { "moment" };
        shown += &format!("<g class=\"{class}\" style=\"animation-name: m{number}\">\n");
        let mut top = 0.0;
        for (screen, title) in moment.screens.iter().zip(titles) {
            let drawn = draw(screen, replaced);
            let known = drawings.iter().position(|drawing| *drawing == drawn).unwrap_or_else(|| {
                drawings.push(drawn);
                drawings.len() - 1
            });
            let size = picture_size(screen);
            if number == 0 {
                let high = TITLE_HEIGHT + size.1;
                panes += &format!(
                    "<rect y=\"{top:.0}\" width=\"100%\" height=\"{high:.0}\" rx=\"8\" fill=\"#16181d\"/>\n\
                     <text x=\"{MARGIN}\" y=\"{:.0}\" fill=\"#8b919c\">{title}</text>\n",
                    top + 20.0
                );
            }
            shown += &format!("<use href=\"#s{known}\" y=\"{:.0}\"/>\n", top + TITLE_HEIGHT - MARGIN / 2.0);
            top += TITLE_HEIGHT + size.1 + GAP;
            (width, height) = (size.0, top - GAP);
        }
        shown += "</g>\n";
    }
    let mut definitions = String::new();
    for (number, drawn) in drawings.iter().enumerate() {
        definitions += &format!("<g id=\"s{number}\">\n{drawn}</g>\n");
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"{label}\">\n<style>\n.moment {{ opacity: 0; animation: {total}s step-end infinite }}\n\
         .still {{ opacity: 1 }}\n{styles}\
         @media (prefers-reduced-motion: reduce) {{ .moment {{ animation: none }} }}\n</style>\n\
         <g {FONT}>\n<defs>\n{definitions}</defs>\n{panes}{shown}</g>\n</svg>\n"
    )
}

/// The width and height of a screen's picture.
fn picture_size(screen: &vt100::Screen) -> (f32, f32) {
    let (rows, columns) = screen.size();
    let length = |cells: NonZeroU16, cell: f32| f32::from(cells.get()) * cell + 2.0 * MARGIN;
    (length(columns, CELL.0), length(rows, CELL.1))
}

/// Draws the cells of a screen.
fn draw(screen: &vt100::Screen, replaced: &[(&str, &str)]) -> String {
    let (wide, high) = CELL;
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let mut svg = String::new();
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let first = screen.cell(row, column).unwrap();
            let look = |cell: &vt100::Cell| (cell.fgcolor(), cell.bold(), cell.dim(), cell.inverse());
            let start = column;
            let mut run = String::new();
            while let Some(cell) = screen.cell(row, column).filter(|cell| look(cell) == look(first)) {
                run.push_str(if cell.has_contents() { cell.contents() } else { " " });
                column += 1;
            }
            if run.trim().is_empty() && !first.inverse() {
                continue;
            }
            for (real, shown) in replaced {
                run = run.replace(real, shown);
            }
            let (x, y) = (MARGIN + f32::from(start) * wide, MARGIN + f32::from(row) * high);
            let ink = if first.inverse() { "#16181d" } else { colour(first.fgcolor()) };
            if first.inverse() {
                let width = f32::from(column - start) * wide;
                svg += &format!(
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{high}\" fill=\"{}\"/>\n",
                    colour(first.fgcolor())
                );
            }
            let weight = if first.bold() { " font-weight=\"bold\"" } else { "" };
            let text = run.trim_end().replace('&', "&amp;").replace('<', "&lt;").replace(' ', "\u{a0}");
            // In cells, not in the letters of an escape.
            let letters = u16::try_from(run.trim_end().chars().count()).unwrap();
            let length = f32::from(letters) * wide;
            svg += &format!(
                "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{ink}\"{weight} textLength=\"{length:.1}\">{text}</text>\n",
                y + 14.0
            );
        }
    }
    svg
}

/// The colour of a usual terminal.
fn colour(colour: vt100::Color) -> &'static str {
    match colour {
        vt100::Color::Idx(1) => "#f07178",
        vt100::Color::Idx(2) => "#7fd88f",
        vt100::Color::Idx(6) => "#6ac8d8",
        vt100::Color::Idx(244) => "#8b919c",
        vt100::Color::Idx(33) => "#4f9cff",
        vt100::Color::Idx(37) => "#3fb9b0",
        vt100::Color::Idx(64) => "#8fae3c",
        vt100::Color::Idx(97) => "#a98be0",
        vt100::Color::Idx(130) => "#c98a4a",
        vt100::Color::Idx(125 | 133) => "#d070c0",
        vt100::Color::Idx(166) => "#e8884a",
        vt100::Color::Idx(28) => "#4fb05a",
        vt100::Color::Idx(31 | 61) => "#6f8fe0",
        vt100::Color::Idx(136) => "#c8a83a",
        _ => "#dfe3ea",
    }
}
