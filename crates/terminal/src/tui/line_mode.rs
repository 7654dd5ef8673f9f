//! The inbox without a screen: questions as lines, answers as lines `ID VALUE`. For pipes, for scripts, and for screen
//! readers; `adjutant inbox --help` describes the form.

mod answer;
mod secret;

use std::collections::HashMap;
use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use super::inbox::{Input, ended, presence, ticket};
use super::screen::Fault;
use super::sheet::Gone;
use super::{Hub, reach};
use crate::clock;
use crate::popups::{Availability, Choice, Field, Input as Wanted, Level, Waits};
use crate::socket::person::popups::{Act, Done, Secret, Shown, Update};
use crate::visible;
use answer::{Known, Read};

pub(crate) use secret::Hidden;

/// Questions decided here that may be taken back.
const DECIDED: usize = 16;

/// Lines and updates that wait to be handled.
const WAITING: usize = 256;

/// Characters of a ticket that are printed; as many of it as make it the only one are taken.
const PRINTED: usize = 7;

/// What is waited for.
enum Heard {
    Hub(Input),
    Line(String),
    /// There are no more lines.
    End,
}

impl From<Input> for Heard {
    fn from(input: Input) -> Self {
        Self::Hub(input)
    }
}

/// Whether what is printed is before a person's eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    Person,
    Program,
}

/// What a session over lines knows.
struct Session<'a> {
    out: &'a mut dyn Write,
    acts: SyncSender<Act>,
    reader: Reader,
    questions: Vec<Shown>,
    /// What was decided here lately, youngest last.
    decided: Vec<Shown>,
    /// Notes that go with what is decided of a question, by its ticket; kept, because it may be taken back or refused.
    notes: HashMap<String, String>,
    /// An answer that lacks the passphrase, which the next line is.
    guarded: Option<(Act, Hidden)>,
    availability: Availability,
    /// Everything that was pending at the start has been printed, so that lines can name it.
    current: bool,
    /// Lines that came before.
    early: Vec<String>,
    open_acts: usize,
    refused: bool,
    over: bool,
}

/// Prints questions and takes answers until `lines` end and all that came of them is printed. Returns whether every
/// line was followed.
pub(crate) fn run(
    hub: &Hub,
    lines: impl BufRead + Send + 'static,
    out: &mut dyn Write,
    reader: Reader,
) -> Result<bool, Fault> {
    let person = hub.connect(hub.start)?;
    let (send, heard) = sync_channel::<Heard>(WAITING);
    let acts = reach::act(hub.clone(), send.clone());
    reach::follow(hub.clone(), person, send.clone());
    std::thread::spawn(move || {
        for line in lines.lines().map_while(Result::ok) {
            if send.send(Heard::Line(line)).is_err() {
                return;
            }
        }
        let _ = send.send(Heard::End);
    });
    let session = Session {
        out,
        acts,
        reader,
        questions: Vec::new(),
        decided: Vec::new(),
        notes: HashMap::new(),
        guarded: None,
        availability: Availability::Here,
        current: false,
        early: Vec::new(),
        open_acts: 0,
        refused: false,
        over: false,
    };
    session.live(&heard).map_err(Fault::Terminal)
}

impl Session<'_> {
    fn live(mut self, heard: &Receiver<Heard>) -> io::Result<bool> {
        while let Ok(heard) = heard.recv() {
            match heard {
                Heard::Hub(Input::Told(update)) => self.told(update)?,
                Heard::Hub(Input::Done(act, done)) => self.done(&act, done)?,
                Heard::Hub(Input::Hub(Ok(()))) => {
                    self.questions.clear();
                    self.current = false;
                }
                Heard::Hub(Input::Hub(Err(reason))) => {
                    self.print(&format!("LOST {reason}"))?;
                    if self.over {
                        self.refused |= self.open_acts > 0 || !self.early.is_empty();
                        return Ok(!self.refused);
                    }
                }
                Heard::Hub(_) => {}
                Heard::Line(line) if self.current => self.line(&line)?,
                Heard::Line(line) => {
                    if self.early.len() < WAITING {
                        self.early.push(line);
                    }
                }
                Heard::End => self.over = true,
            }
            self.out.flush()?;
            if self.over && self.current && self.open_acts == 0 {
                break;
            }
        }
        Ok(!self.refused)
    }

    fn told(&mut self, update: Update) -> io::Result<()> {
        match update {
            Update::Question(question) => {
                let known = self.questions.iter().position(|known| known.ticket == question.ticket);
                if let Some(at) = known {
                    let before = std::mem::replace(&mut self.questions[at], *question);
                    let now = &self.questions[at];
                    return if before.waits == now.waits { Ok(()) } else { self.print(&waits(now)) };
                }
                self.print_question(&question)?;
                if self.reader == Reader::Person {
                    self.send(Act::Seen { ticket: question.ticket.clone() })?;
                }
                self.questions.push(*question);
            }
            Update::Gone { ticket, kind, by, through } => {
                if let Some(at) = self.questions.iter().position(|question| question.ticket == ticket) {
                    self.questions.remove(at);
                    let sentence = ended(Gone { kind, by, through });
                    self.print(&format!("GONE {} {sentence}", short(&ticket)))?;
                }
            }
            Update::Facts { .. } => {}
            Update::Current { availability, .. } => {
                self.current = true;
                if availability != self.availability {
                    self.availability = availability;
                    self.print(&format!("DESK {}", presence(availability, now())))?;
                }
                for line in std::mem::take(&mut self.early) {
                    self.line(&line)?;
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        if let Some((act, hidden)) = self.guarded.take() {
            drop(hidden);
            return self.proven(act, line);
        }
        if line.trim().is_empty() {
            return Ok(());
        }
        let known = Known { questions: &self.questions, decided: &self.decided, now: now() };
        match answer::read(line, &known) {
            Ok(Read::Act(act)) => self.decide(act),
            Ok(Read::Note { ticket, note }) => {
                self.print(&format!("NOTED {} it goes with what you decide", short(&ticket)))?;
                let (questions, decided) = (&self.questions, &self.decided);
                let known = |id: &str| questions.iter().chain(decided).any(|known| known.ticket == id);
                self.notes.retain(|id, _| known(id));
                self.notes.insert(ticket, note);
                Ok(())
            }
            Err(reason) => {
                self.refused = true;
                self.print(&format!("REFUSED {reason}"))
            }
        }
    }

    fn decide(&mut self, mut act: Act) -> io::Result<()> {
        if let Act::Answer { ticket, note, .. }
        | Act::Decline { ticket, note }
        | Act::Dismiss { ticket, note } = &mut act
            && note.is_none()
        {
            *note = self.notes.get(ticket).cloned();
        }
        // What becomes of it is told by its own answer, not as something that happened elsewhere.
        if let Some(ticket) = answer::decides(&act)
            && let Some(at) = self.questions.iter().position(|question| question.ticket == ticket)
        {
            let question = self.questions.remove(at);
            self.decided.retain(|known| known.ticket != question.ticket);
            if self.decided.len() >= DECIDED {
                self.decided.remove(0);
            }
            self.decided.push(question);
        }
        self.open_acts += 1;
        self.send(act)
    }

    /// Sends an answer again, with the passphrase; an empty line gives it up.
    fn proven(&mut self, act: Act, line: &str) -> io::Result<()> {
        let Act::Answer { ticket, answer, note, .. } = act else { return Ok(()) };
        if line.is_empty() {
            self.refused = true;
            self.again(&ticket);
            return self.print(&format!("REFUSED {} nothing was sent", short(&ticket)));
        }
        let passphrase = Some(Secret(line.to_owned()));
        self.decide(Act::Answer { ticket, answer, note, passphrase })
    }

    /// A question that was not decided after all waits again.
    fn again(&mut self, ticket: &str) {
        if let Some(at) = self.decided.iter().position(|question| question.ticket == ticket) {
            let question = self.decided.remove(at);
            if self.questions.iter().all(|known| known.ticket != question.ticket) {
                self.questions.push(question);
            }
        }
    }

    fn send(&mut self, act: Act) -> io::Result<()> {
        self.acts.send(act).map_err(|_| io::Error::other("the hub's thread has ended"))
    }

    fn done(&mut self, act: &Act, done: Result<Done, String>) -> io::Result<()> {
        if matches!(act, Act::Seen { .. }) {
            return Ok(());
        }
        self.open_acts = self.open_acts.saturating_sub(1);
        let whole = ticket(act).unwrap_or_default().to_owned();
        let ticket = short(&whole);
        if matches!(done, Ok(Done::Unfit { .. } | Done::Passphrase { .. }) | Err(_)) {
            self.again(&whole);
        }
        let line = match done {
            Ok(Done::Decided { kind, until: Some(until) }) => {
                let left = u64::try_from(until - now()).unwrap_or_default().div_ceil(1000);
                format!("DONE {ticket} {}; {ticket} /undo takes it back for {left} s", kind.as_str())
            }
            Ok(Done::Decided { kind, until: None }) => format!("DONE {ticket} {}", kind.as_str()),
            Ok(Done::Available(availability)) => {
                self.availability = availability;
                format!("DONE {}", presence(availability, now()))
            }
            // A passphrase that came through a pipe would stand in some script.
            Ok(Done::Passphrase { reason, is_set: true })
                if self.reader == Reader::Person && io::stdin().is_terminal() =>
            {
                // Before it is asked for: a quick hand must not be seen.
                self.guarded = Some((act.clone(), Hidden::new()?));
                return self.print(&format!(
                    "PASSPHRASE {ticket} {reason}; type it, it is not shown, or an empty line"
                ));
            }
            Ok(Done::Snoozed { .. }) => format!("DONE {ticket} put off"),
            Ok(Done::Noted) => format!("DONE {ticket} taken back"),
            Ok(Done::Before { kind, by, through }) => {
                self.refused = true;
                format!("REFUSED {ticket} it {}", ended(Gone { kind, by, through }))
            }
            Ok(Done::Unfit { field, reason }) => {
                self.refused = true;
                format!("REFUSED {ticket} {field}: {reason}")
            }
            Ok(Done::Passphrase { reason, .. }) => {
                self.refused = true;
                format!("REFUSED {ticket} {reason}; answer it with `adjutant inbox` in a terminal")
            }
            Err(reason) => {
                self.refused = true;
                format!("REFUSED {ticket} {reason}")
            }
        };
        self.print(&line)
    }

    fn print_question(&mut self, question: &Shown) -> io::Result<()> {
        let agent = visible::line(question.asker());
        let place = visible::line(&question.workspace);
        let place = if place.is_empty() { String::new() } else { format!(" in {place}") };
        let high = if question.level == Level::High { "HIGH " } else { "" };
        let left = clock::span(Duration::from_millis(u64::try_from(question.deadline - now()).unwrap_or(0)));
        self.print(&format!("QUESTION {} {high}from {agent}{place}, {left} left", short(&question.ticket)))?;
        self.print(&format!("  {}", visible::line(&question.title)))?;
        for line in question.message.trim_end().lines() {
            self.print(&format!("  | {}", visible::plain(line)))?;
        }
        for field in &question.fields {
            self.print_field(field, question.fields.len() > 1)?;
        }
        if question.waits != Waits::Here {
            self.print(&waits(question))?;
        }
        Ok(())
    }

    fn print_field(&mut self, field: &Field, several: bool) -> io::Result<()> {
        let kind = match &field.input {
            Wanted::Choice { max: 1, .. } => "choose one",
            Wanted::Choice { .. } => "choose some, with commas between",
            Wanted::Text { format: Some(format), .. } => format.wanted(),
            Wanted::Text { .. } => "text",
            Wanted::Number { whole: true, .. } => "a whole number",
            Wanted::Number { .. } => "a number",
            Wanted::Date { time: false } => "a date",
            Wanted::Date { time: true } => "an instant",
            Wanted::YesNo => "yes or no",
        };
        let name = if several { format!("{}: ", visible::line(&field.name)) } else { String::new() };
        let label = visible::line(&field.label);
        let may = if field.required { "" } else { ", may be left out" };
        self.print(&format!("  {name}{label}{}({kind}{may})", if label.is_empty() { "" } else { " " }))?;
        if let Wanted::Choice { options, other, .. } = &field.input {
            for (at, Choice { label, value }) in options.iter().enumerate() {
                self.print(&format!("  {}  {}  {}", at + 1, visible::line(value), visible::line(label)))?;
            }
            if *other {
                self.print("  or =YOUR OWN WORDS")?;
            }
        }
        Ok(())
    }

    fn print(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{}", visible::plain(line).replace('\t', "    "))
    }
}

/// Says whether somebody is there for the answer.
fn waits(question: &Shown) -> String {
    let who = match question.waits.why_not() {
        None => "its client".to_owned(),
        Some(why) => format!("nobody: {why}; an answer is kept"),
    };
    format!("WAITS {} {who}", short(&question.ticket))
}

fn short(ticket: &str) -> String {
    ticket.chars().take(PRINTED).collect()
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
