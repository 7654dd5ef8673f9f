//! The inbox without a screen: questions as lines, answers as lines `ID VALUE`. For pipes, for scripts, and for screen
//! readers; `adjutant inbox --help` describes the form.

mod command;
mod no_echo;
mod question_lines;

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::SystemTime;

use super::answer_file;
use super::hub::Hub;
use super::hub_worker;
use super::inbox::{Message, availability_text, closed_text, no_passphrase, unproven_text};
use super::terminal::ViewError;
use crate::socket::control::questions::{Done, Request, Secret, Update};
use adjutant_base::text::escape_invisible;
use adjutant_base::text::timefmt;
use adjutant_questions::{Availability, Field, MAX_FILES, NewFile, Question, Ticket};
use command::{Context, ParsedLine};
use question_lines::{presence_line, question_lines, requests_line, short};

pub use no_echo::Hidden;

/// Recently decided questions whose decision may be undone.
const MAX_DECIDED: usize = 16;

/// The first line in a terminal. A screen reader says it, and nothing else says what can be entered.
const ANNOUNCEMENT: &str = "LINES for a screen reader: `NUMBER VALUE` or `ID VALUE` answers a question; `adjutant inbox --help` lists the others";

/// Lines and updates that wait to be handled.
const MESSAGE_QUEUE_SIZE: usize = 256;

/// A message that the session handles.
enum LineMessage {
    Hub(Message),
    Line(String),
    /// The end of the lines.
    End,
}

impl From<Message> for LineMessage {
    fn from(input: Message) -> Self {
        Self::Hub(input)
    }
}

/// The reader of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    User,
    Program,
}

/// A value that is typed without echo.
enum HiddenValue {
    Passphrase,
    Secret(Field),
}

/// The state of a session over lines.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the input or the hub")]
struct Session<'a> {
    out: &'a mut dyn Write,
    requests: SyncSender<Request>,
    reader: Reader,
    questions: Vec<Question>,
    /// Questions that were decided lately, youngest last.
    decided: Vec<Question>,
    /// Notes for the next decision of a question, by its ticket. A note is kept, because the decision may be undone or
    /// rejected.
    notes: HashMap<Ticket, String>,
    /// Files for the next answer to a question, kept as its note is.
    files: HashMap<Ticket, Vec<NewFile>>,
    /// The numbers with which the questions were printed in a terminal. A number is not given again.
    numbers: HashMap<Ticket, u64>,
    last_number: u64,
    /// An answer that lacks a value, which the next line is.
    needs_hidden: Option<(Request, HiddenValue, Hidden)>,
    /// Lines are typed in a terminal, which shows them.
    is_typed: bool,
    availability: Availability,
    /// The command that sets the approval passphrase, while none is set.
    set_passphrase_with: Option<String>,
    /// Everything that was pending at the start has been printed, so that lines can name it.
    current: bool,
    /// Lines that are not carried out yet, because the questions are not known or a request before them is open.
    waiting: VecDeque<String>,
    /// Updates that came while a request was open; its own result is printed first.
    updates: VecDeque<Update>,
    /// Lets the thread that reads lines send the next one.
    permits: SyncSender<()>,
    open_requests: usize,
    /// Questions that were printed and that the hub does not know to be shown. The first one is being reported: one at a
    /// time, so that many do not fill the queue of requests.
    seen: VecDeque<Ticket>,
    rejected: bool,
    at_end: bool,
}

/// Prints questions and takes answers until `lines` end and all their results are printed. Returns whether every line
/// was carried out.
pub fn run(
    hub: &Hub,
    lines: impl BufRead + Send + 'static,
    out: &mut dyn Write,
    reader: Reader,
) -> Result<bool, ViewError> {
    let client = hub.connect(hub.start)?;
    let (send, message) = sync_channel::<LineMessage>(MESSAGE_QUEUE_SIZE);
    let requests = hub_worker::send_requests(hub.clone(), send.clone());
    hub_worker::follow(hub.clone(), client, Request::FollowAll, send.clone());
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
        requests,
        reader,
        questions: Vec::new(),
        decided: Vec::new(),
        notes: HashMap::new(),
        files: HashMap::new(),
        numbers: HashMap::new(),
        last_number: 0,
        needs_hidden: None,
        is_typed: io::stdin().is_terminal(),
        availability: Availability::Here,
        set_passphrase_with: None,
        current: false,
        waiting: VecDeque::new(),
        updates: VecDeque::new(),
        permits,
        open_requests: 0,
        seen: VecDeque::new(),
        rejected: false,
        at_end: false,
    };
    session.run_loop(&message).map_err(ViewError::Terminal)
}

impl Session<'_> {
    fn run_loop(mut self, message: &Receiver<LineMessage>) -> io::Result<bool> {
        if self.reader == Reader::User && self.is_typed {
            self.print(ANNOUNCEMENT)?;
            self.out.flush()?;
        }
        for _ in 0..MESSAGE_QUEUE_SIZE {
            self.permit_line();
        }
        let mut lost: Option<String> = None;
        while let Ok(message) = message.recv() {
            match message {
                LineMessage::Hub(Message::Update(update)) => self.updates.push_back(update),
                LineMessage::Hub(Message::Done(request, done)) => self.on_done(&request, done)?,
                LineMessage::Hub(Message::Hub(Ok(()))) => {
                    self.updates.clear();
                    self.questions.clear();
                    self.current = false;
                    lost = None;
                }
                LineMessage::Hub(Message::Hub(Err(reason))) => {
                    // The same reason comes again with each attempt to find a hub.
                    if lost.as_ref() != Some(&reason) {
                        self.print(&format!("LOST {reason}"))?;
                        lost = Some(reason);
                    }
                    if self.at_end {
                        self.rejected |= self.open_requests > 0 || !self.waiting.is_empty();
                        return Ok(!self.rejected);
                    }
                }
                LineMessage::Hub(_) => {}
                LineMessage::Line(line) => self.waiting.push_back(line),
                LineMessage::End => self.at_end = true,
            }
            while self.open_requests == 0
                && let Some(update) = self.updates.pop_front()
            {
                self.on_update(update)?;
            }
            // A line means what is true once the requests of the lines before it are done.
            while self.current
                && self.open_requests == 0
                && let Some(line) = self.waiting.pop_front()
            {
                self.permit_line();
                self.line(&line)?;
            }
            self.out.flush()?;
            if self.at_end && self.current && self.open_requests == 0 {
                break;
            }
        }
        Ok(!self.rejected)
    }

    /// Lets one more line come. There are as many permits as lines may wait.
    fn permit_line(&self) {
        // Without a thread that reads, nothing comes.
        let _ = self.permits.try_send(());
    }

    fn on_update(&mut self, update: Update) -> io::Result<()> {
        match update {
            Update::Question(question) => {
                let known = self.questions.iter().position(|known| known.ticket == question.ticket);
                if let Some(at) = known {
                    let question = Question { message: String::new(), ..*question };
                    let before = std::mem::replace(&mut self.questions[at], question);
                    let now = &self.questions[at];
                    let mut line = (before.presence != now.presence).then(|| presence_line(now));
                    if before.deliveries < now.deliveries {
                        line = requests_line(now).or(line);
                    }
                    return line.map_or(Ok(()), |line| self.print(&line));
                }
                self.print_question(&question)?;
                if self.reader == Reader::User {
                    self.seen.push_back(question.ticket.clone());
                    if self.seen.len() == 1 {
                        self.report_seen()?;
                    }
                }
                // It is printed, and of many questions the texts would fill the memory.
                self.questions.push(Question { message: String::new(), ..*question });
            }
            Update::Closed { ticket, how } => {
                if self.take(&ticket) {
                    self.print(&format!("CLOSED {} {}", short(&ticket), closed_text(how, now())))?;
                }
            }
            // A user is asked for the passphrase with the first answer.
            Update::Unproven { needs_passphrase: true, .. } if self.reader == Reader::User => {}
            Update::Unproven { missing, .. } => self.print(&format!("INBOX {}", unproven_text(&missing)))?,
            Update::NoPassphrase { set_with } => self.set_passphrase_with = set_with,
            Update::Facts { .. } => {}
            Update::Current { availability, .. } => {
                self.current = true;
                // The next hub sends its questions again, so a number is kept until they all have come.
                let (questions, decided) = (&self.questions, &self.decided);
                self.numbers.retain(|id, _| questions.iter().chain(decided).any(|known| known.ticket == *id));
                if availability != self.availability {
                    self.availability = availability;
                    self.print(&format!("INBOX {}", availability_text(availability, now())))?;
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        if let Some((request, value, hidden)) = self.needs_hidden.take() {
            drop(hidden);
            return self.send_with_hidden(request, value, line);
        }
        if line.trim().is_empty() {
            return Ok(());
        }
        let (questions, decided, numbers) = (&self.questions, &self.decided, &self.numbers);
        let is_typed = self.is_typed;
        match command::parse(line, &Context { questions, decided, numbers, is_typed, now: now() }) {
            Ok(ParsedLine::Request(request)) => self.complete(request),
            Ok(ParsedLine::Note { ticket, note }) => {
                self.print(&format!("NOTED {} it is sent with your decision", short(&ticket)))?;
                self.forget_unknown();
                self.notes.insert(ticket, note);
                Ok(())
            }
            Ok(ParsedLine::File { ticket, path }) => self.add_file(ticket, &path),
            Err(reason) => {
                self.rejected = true;
                self.print(&format!("REFUSED {reason}"))
            }
        }
    }

    /// Removes the notes and files of questions that are no longer known.
    fn forget_unknown(&mut self) {
        let (questions, decided) = (&self.questions, &self.decided);
        let known = |id: &Ticket| questions.iter().chain(decided).any(|known| known.ticket == *id);
        self.notes.retain(|id, _| known(id));
        self.files.retain(|id, _| known(id));
    }

    fn add_file(&mut self, ticket: Ticket, path: &str) -> io::Result<()> {
        let count = self.files.get(&ticket).map_or(0, Vec::len);
        let file = match answer_file::read(path) {
            _ if count >= MAX_FILES => Err(format!("an answer takes at most {MAX_FILES} files")),
            read => read,
        };
        match file {
            Ok(file) => {
                let name = escape_invisible::escape_line(&file.name);
                self.print(&format!("NOTED {} {name} is sent with your answer", short(&ticket)))?;
                self.forget_unknown();
                self.files.entry(ticket).or_default().push(file);
                Ok(())
            }
            Err(reason) => {
                self.rejected = true;
                self.print(&format!("REFUSED {} {reason}", short(&ticket)))
            }
        }
    }

    /// Carries a request out, after the secret values that a typed answer lacks.
    fn complete(&mut self, request: Request) -> io::Result<()> {
        let Request::Answer { ticket, answer, .. } = &request else { return self.decide(request) };
        let mut known = self.questions.iter().chain(&self.decided);
        let question = known.find(|known| known.ticket == *ticket);
        // Nobody types a secret for an answer that the hub rejects.
        let set_with = self.set_passphrase_with.as_deref();
        if let Some(reason) = question.and_then(|question| no_passphrase(question, set_with)) {
            self.rejected = true;
            return self.print(&format!("REFUSED {} {reason}", short(ticket)));
        }
        let fields = question.map(|question| question.fields.iter());
        let is_missing = |field: &&Field| field.secret && answer.get(&field.name).is_none();
        let missing = fields.into_iter().flatten().find(is_missing).filter(|_| self.is_typed).cloned();
        let Some(field) = missing else { return self.decide(request) };
        let label = escape_invisible::escape_line(&field.label);
        let line = format!("SECRET {} {label}; type it, it is not shown, or an empty line", short(ticket));
        self.needs_hidden = Some((request, HiddenValue::Secret(field), Hidden::new()?));
        self.print(&line)
    }

    fn decide(&mut self, mut request: Request) -> io::Result<()> {
        if let Request::Answer { ticket, note, .. }
        | Request::Decline { ticket, note }
        | Request::Dismiss { ticket, note } = &mut request
            && note.is_none()
        {
            *note = self.notes.get(ticket).cloned();
        }
        if let Request::Answer { ticket, files, .. } = &mut request {
            files.clone_from(self.files.get(ticket).unwrap_or(&Vec::new()));
        }
        // The answer to this request reports what becomes of it, so it is not reported as something that happened elsewhere.
        if let Request::Answer { ticket, .. }
        | Request::Decline { ticket, .. }
        | Request::Dismiss { ticket, .. }
        | Request::Redirect { ticket, .. } = &request
        {
            self.take(ticket);
        }
        self.open_requests += 1;
        self.send(request)
    }

    /// Takes a question from the pending to the decided ones; false if it is not pending.
    fn take(&mut self, ticket: &Ticket) -> bool {
        let Some(at) = self.questions.iter().position(|question| question.ticket == *ticket) else {
            return false;
        };
        let question = self.questions.remove(at);
        self.decided.retain(|known| known.ticket != question.ticket);
        if self.decided.len() >= MAX_DECIDED {
            self.decided.remove(0);
        }
        self.decided.push(question);
        true
    }

    /// Sends an answer with what was typed without echo; an empty line gives it up.
    fn send_with_hidden(&mut self, request: Request, value: HiddenValue, line: &str) -> io::Result<()> {
        let Request::Answer { ticket, shown, mut answer, note, mut passphrase, files } = request else {
            return Ok(());
        };
        let refused = match value {
            _ if line.is_empty() => Some("nothing was sent"),
            HiddenValue::Passphrase => {
                passphrase = Some(Secret(line.to_owned()));
                None
            }
            HiddenValue::Secret(field) => match command::secret(line, &field) {
                Some(given) => {
                    answer.0.push((field.name, given));
                    None
                }
                None => Some("it is not one of the options"),
            },
        };
        if let Some(reason) = refused {
            self.rejected = true;
            self.restore(&ticket);
            return self.print(&format!("REFUSED {} {reason}", short(&ticket)));
        }
        self.complete(Request::Answer { ticket, shown, answer, note, passphrase, files })
    }

    /// Makes a question pending again that was not decided after all.
    fn restore(&mut self, ticket: &Ticket) {
        if let Some(at) = self.decided.iter().position(|question| question.ticket == *ticket) {
            let question = self.decided.remove(at);
            if self.questions.iter().all(|known| known.ticket != question.ticket) {
                self.questions.push(question);
            }
        }
    }

    fn send(&mut self, request: Request) -> io::Result<()> {
        self.requests.send(request).map_err(|_| io::Error::other("the hub's thread has ended"))
    }

    fn report_seen(&mut self) -> io::Result<()> {
        let first = self.seen.front().cloned();
        first.map_or(Ok(()), |ticket| self.send(Request::Seen { ticket }))
    }

    fn on_done(&mut self, request: &Request, done: Result<Done, String>) -> io::Result<()> {
        if matches!(request, Request::Seen { .. }) {
            self.seen.pop_front();
            return self.report_seen();
        }
        self.open_requests = self.open_requests.saturating_sub(1);
        let ticket = request.ticket().map(short).unwrap_or_default();
        if let Some(ticket) = request.ticket()
            && matches!(done, Ok(Done::Unfit { .. } | Done::Passphrase { .. }) | Err(_))
        {
            self.restore(ticket);
        }
        let line = match done {
            Ok(Done::Decided { kind, denied, until: Some(until) }) => {
                let left = timefmt::seconds_left(until, now());
                format!("DONE {ticket} {}; {ticket} /undo undoes it for {left} s", kind.word(denied))
            }
            Ok(Done::Decided { kind, denied, until: None }) => format!("DONE {ticket} {}", kind.word(denied)),
            Ok(Done::Available(availability)) => {
                self.availability = availability;
                format!("DONE {}", availability_text(availability, now()))
            }
            // A passphrase that came through a pipe would be in some script.
            Ok(Done::Passphrase { reason, is_set: true }) if self.reader == Reader::User && self.is_typed => {
                // The echo is switched off before the passphrase is asked for, so that an early key is not shown.
                self.needs_hidden = Some((request.clone(), HiddenValue::Passphrase, Hidden::new()?));
                return self.print(&format!(
                    "PASSPHRASE {ticket} {reason}; type it, it is not shown, or an empty line"
                ));
            }
            Ok(Done::Snoozed { until }) => {
                let end = timefmt::stamp(timefmt::instant(until));
                format!("DONE {ticket} snoozed for {}, until {end}", timefmt::span_millis(until - now()))
            }
            Ok(Done::Noted) => format!("DONE {ticket} undone"),
            Ok(Done::Before(how)) => {
                self.rejected = true;
                format!("REFUSED {ticket} it {}", closed_text(how, now()))
            }
            Ok(Done::Unfit { field, reason }) => {
                self.rejected = true;
                format!("REFUSED {ticket} {field}: {reason}")
            }
            Ok(Done::Passphrase { reason, is_set: true }) => {
                self.rejected = true;
                format!("REFUSED {ticket} {reason}; answer it with `adjutant inbox` in a terminal")
            }
            Ok(Done::Passphrase { reason, is_set: false }) | Err(reason) => {
                self.rejected = true;
                format!("REFUSED {ticket} {reason}")
            }
        };
        self.print(&line)
    }

    fn print_question(&mut self, question: &Question) -> io::Result<()> {
        // A script may write a line before it has read the list, so only a terminal has numbers.
        let number = self.is_typed.then(|| {
            *self.numbers.entry(question.ticket.clone()).or_insert_with(|| {
                self.last_number += 1;
                self.last_number
            })
        });
        let mut lines = question_lines(question, number, now());
        lines.extend(
            no_passphrase(question, self.set_passphrase_with.as_deref()).map(|text| format!("  {text}")),
        );
        lines.iter().try_for_each(|line| self.print(line))
    }

    fn print(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{}", escape_invisible::escape(line).replace('\t', "    "))
    }
}

fn now() -> i64 {
    timefmt::millis(SystemTime::now())
}
