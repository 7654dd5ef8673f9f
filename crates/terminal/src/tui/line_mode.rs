//! The inbox without a screen: questions as lines, answers as lines `ID VALUE`. For pipes, for scripts, and for screen
//! readers; `adjutant inbox --help` describes the form.

mod command;
mod no_echo;

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use super::hub::Hub;
use super::hub_worker;
use super::inbox::{Message, availability_text, ended, ticket};
use super::question_form::ClosedElsewhere;
use super::terminal::Fault;
use crate::socket::control::questions::{Done, QuestionView, Request, Secret, Update};
use adjutant_base::text::escape_invisible;
use adjutant_base::text::timefmt;
use adjutant_questions::{AskerPresence, Availability, Choice, Field, Input as Wanted, Level};
use command::{Known, Read};

pub use no_echo::Hidden;

/// Questions decided here that may be taken back.
const MAX_DECIDED: usize = 16;

/// Lines and updates that wait to be handled.
const MESSAGE_QUEUE_SIZE: usize = 256;

/// Characters of a ticket that are printed; as many of it as make it the only one are taken.
const TICKET_CHARS: usize = 7;

/// What is waited for.
enum LineMessage {
    Hub(Message),
    Line(String),
    /// There are no more lines.
    End,
}

impl From<Message> for LineMessage {
    fn from(input: Message) -> Self {
        Self::Hub(input)
    }
}

/// Whether what is printed is before a person's eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    Person,
    Program,
}

/// What a session over lines knows.
struct Session<'a> {
    out: &'a mut dyn Write,
    acts: SyncSender<Request>,
    reader: Reader,
    questions: Vec<QuestionView>,
    /// What was decided here lately, youngest last.
    decided: Vec<QuestionView>,
    /// Notes that go with what is decided of a question, by its ticket; kept, because it may be taken back or refused.
    notes: HashMap<String, String>,
    /// An answer that lacks the passphrase, which the next line is.
    guarded: Option<(Request, Hidden)>,
    availability: Availability,
    /// Everything that was pending at the start has been printed, so that lines can name it.
    current: bool,
    /// Lines that are not carried out yet, because the questions are not known or an act before them is open.
    waiting: VecDeque<String>,
    /// Updates that came while an act was open; its own result is printed first.
    updates: VecDeque<Update>,
    /// Lets the thread that reads lines send the next one.
    permits: SyncSender<()>,
    open_acts: usize,
    refused: bool,
    over: bool,
}

/// Prints questions and takes answers until `lines` end and all that came of them is printed. Returns whether every
/// line was followed.
pub fn run(
    hub: &Hub,
    lines: impl BufRead + Send + 'static,
    out: &mut dyn Write,
    reader: Reader,
) -> Result<bool, Fault> {
    let client = hub.connect(hub.start)?;
    let (send, heard) = sync_channel::<LineMessage>(MESSAGE_QUEUE_SIZE);
    let acts = hub_worker::act(hub.clone(), send.clone());
    hub_worker::follow(hub.clone(), client, send.clone());
    let (permits, permitted) = sync_channel(MESSAGE_QUEUE_SIZE);
    std::thread::spawn(move || {
        for line in lines.lines().map_while(Result::ok) {
            if permitted.recv().is_err() || send.send(LineMessage::Line(line)).is_err() {
                return;
            }
        }
        let _ = send.send(LineMessage::End);
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
        waiting: VecDeque::new(),
        updates: VecDeque::new(),
        permits,
        open_acts: 0,
        refused: false,
        over: false,
    };
    session.live(&heard).map_err(Fault::Terminal)
}

impl Session<'_> {
    fn live(mut self, heard: &Receiver<LineMessage>) -> io::Result<bool> {
        for _ in 0..MESSAGE_QUEUE_SIZE {
            self.permit_line();
        }
        while let Ok(heard) = heard.recv() {
            match heard {
                LineMessage::Hub(Message::Told(update)) => self.updates.push_back(update),
                LineMessage::Hub(Message::Done(act, done)) => self.done(&act, done)?,
                LineMessage::Hub(Message::Hub(Ok(()))) => {
                    self.updates.clear();
                    self.questions.clear();
                    self.current = false;
                }
                LineMessage::Hub(Message::Hub(Err(reason))) => {
                    self.print(&format!("LOST {reason}"))?;
                    if self.over {
                        self.refused |= self.open_acts > 0 || !self.waiting.is_empty();
                        return Ok(!self.refused);
                    }
                }
                LineMessage::Hub(_) => {}
                LineMessage::Line(line) => self.waiting.push_back(line),
                LineMessage::End => self.over = true,
            }
            while self.open_acts == 0
                && let Some(update) = self.updates.pop_front()
            {
                self.told(update)?;
            }
            // A line means what is true once the acts of the lines before it are done.
            while self.current
                && self.open_acts == 0
                && let Some(line) = self.waiting.pop_front()
            {
                self.permit_line();
                self.line(&line)?;
            }
            self.out.flush()?;
            if self.over && self.current && self.open_acts == 0 {
                break;
            }
        }
        Ok(!self.refused)
    }

    /// Lets one more line come. There are as many permits as lines may wait.
    fn permit_line(&self) {
        // Without a thread that reads, nothing comes.
        let _ = self.permits.try_send(());
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
                    self.send(Request::Seen { ticket: question.ticket.clone() })?;
                }
                self.questions.push(*question);
            }
            Update::Closed { ticket, kind, by, through } => {
                if let Some(at) = self.questions.iter().position(|question| question.ticket == ticket) {
                    self.questions.remove(at);
                    let sentence = ended(ClosedElsewhere { kind, by, through });
                    self.print(&format!("CLOSED {} {sentence}", short(&ticket)))?;
                }
            }
            Update::Facts { .. } => {}
            Update::Current { availability, .. } => {
                self.current = true;
                if availability != self.availability {
                    self.availability = availability;
                    self.print(&format!("INBOX {}", availability_text(availability, now())))?;
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
        match command::read(line, &known) {
            Ok(Read::Request(act)) => self.decide(act),
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

    fn decide(&mut self, mut act: Request) -> io::Result<()> {
        if let Request::Answer { ticket, note, .. }
        | Request::Decline { ticket, note }
        | Request::Dismiss { ticket, note } = &mut act
            && note.is_none()
        {
            *note = self.notes.get(ticket).cloned();
        }
        // What becomes of it is told by its own answer, not as something that happened elsewhere.
        if let Some(ticket) = command::decides(&act)
            && let Some(at) = self.questions.iter().position(|question| question.ticket == ticket)
        {
            let question = self.questions.remove(at);
            self.decided.retain(|known| known.ticket != question.ticket);
            if self.decided.len() >= MAX_DECIDED {
                self.decided.remove(0);
            }
            self.decided.push(question);
        }
        self.open_acts += 1;
        self.send(act)
    }

    /// Sends an answer again, with the passphrase; an empty line gives it up.
    fn proven(&mut self, act: Request, line: &str) -> io::Result<()> {
        let Request::Answer { ticket, answer, note, .. } = act else { return Ok(()) };
        if line.is_empty() {
            self.refused = true;
            self.again(&ticket);
            return self.print(&format!("REFUSED {} nothing was sent", short(&ticket)));
        }
        let passphrase = Some(Secret(line.to_owned()));
        self.decide(Request::Answer { ticket, answer, note, passphrase })
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

    fn send(&mut self, act: Request) -> io::Result<()> {
        self.acts.send(act).map_err(|_| io::Error::other("the hub's thread has ended"))
    }

    fn done(&mut self, act: &Request, done: Result<Done, String>) -> io::Result<()> {
        if matches!(act, Request::Seen { .. }) {
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
                format!("DONE {}", availability_text(availability, now()))
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
            Ok(Done::Snoozed { .. }) => format!("DONE {ticket} snoozed"),
            Ok(Done::Noted) => format!("DONE {ticket} taken back"),
            Ok(Done::Before { kind, by, through }) => {
                self.refused = true;
                format!("REFUSED {ticket} it {}", ended(ClosedElsewhere { kind, by, through }))
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

    fn print_question(&mut self, question: &QuestionView) -> io::Result<()> {
        let agent = escape_invisible::escape_line(question.asker());
        let place = escape_invisible::escape_line(&question.workspace);
        let place = if place.is_empty() { String::new() } else { format!(" in {place}") };
        let high = if question.level == Level::High { "HIGH " } else { "" };
        let left =
            timefmt::span(Duration::from_millis(u64::try_from(question.deadline - now()).unwrap_or(0)));
        self.print(&format!("QUESTION {} {high}from {agent}{place}, {left} left", short(&question.ticket)))?;
        self.print(&format!("  {}", escape_invisible::escape_line(&question.title)))?;
        for line in question.message.trim_end().lines() {
            self.print(&format!("  | {}", escape_invisible::escape(line)))?;
        }
        for field in &question.fields {
            self.print_field(field, question.fields.len() > 1)?;
        }
        if question.waits != AskerPresence::Connected {
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
        let name =
            if several { format!("{}: ", escape_invisible::escape_line(&field.name)) } else { String::new() };
        let label = escape_invisible::escape_line(&field.label);
        let may = if field.required { "" } else { ", may be left out" };
        self.print(&format!("  {name}{label}{}({kind}{may})", if label.is_empty() { "" } else { " " }))?;
        if let Wanted::Choice { options, other, .. } = &field.input {
            for (at, Choice { label, value }) in options.iter().enumerate() {
                self.print(&format!(
                    "  {}  {}  {}",
                    at + 1,
                    escape_invisible::escape_line(value),
                    escape_invisible::escape_line(label)
                ))?;
            }
            if *other {
                self.print("  or =YOUR OWN WORDS")?;
            }
        }
        Ok(())
    }

    fn print(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{}", escape_invisible::escape(line).replace('\t', "    "))
    }
}

/// Says whether somebody is there for the answer.
fn waits(question: &QuestionView) -> String {
    let who = match question.waits.absence_reason() {
        None => "its client".to_owned(),
        Some(why) => format!("nobody: {why}; an answer is kept"),
    };
    format!("WAITS {} {who}", short(&question.ticket))
}

fn short(ticket: &str) -> String {
    ticket.chars().take(TICKET_CHARS).collect()
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
