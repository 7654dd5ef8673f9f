//! The state of the inbox: the list, the open question, and updates of the hub. [`Inbox::update`] alone changes it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::pending_approvals::{ApprovalsKey, PendingApprovals};
use super::question_form::{KeyResult, QuestionForm};
use crate::socket::control::questions::{ClosedElsewhere, Done, Request, Update};
use adjutant_base::text::escape_invisible;
use adjutant_base::text::timefmt;
use adjutant_host::git::Facts;
use adjutant_questions::{Availability, Channel, DecidedBy, Level, OutcomeKind, Question, Ticket};

/// Interval at which the hub learns that a question is still on the screen.
const SEEN_INTERVAL: Duration = Duration::from_secs(5);

/// Duration of the key's away time, in milliseconds.
const AWAY_MILLIS: i64 = 3_600_000;

/// Duration of a notice.
const NOTICE_DURATION: Duration = Duration::from_secs(8);

/// A message that changes the state.
#[derive(Debug)]
pub(super) enum Message {
    Key(KeyEvent),
    Paste(String),
    /// The terminal's window got or lost the focus.
    Focus(bool),
    /// The window has another size, or time has passed.
    Tick,
    Update(Update),
    /// The result of a request; the error is a sentence.
    Done(Request, Result<Done, String>),
    /// Whether the hub can be reached.
    Hub(Result<(), String>),
    /// The keyboard is closed.
    InputClosed,
}

/// Something to do outside of the state.
#[derive(Debug, PartialEq)]
pub(super) enum Effect {
    Send(Request),
    /// Draws the whole screen again, because another program wrote on it.
    Redraw,
    Quit,
}

/// The current instant, on both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamps {
    pub(super) at: Instant,
    /// Milliseconds since 1970.
    pub(super) millis: i64,
}

/// A decision that can still be undone.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    pub(super) ticket: Ticket,
    pub(super) notice: String,
    /// Milliseconds since 1970.
    pub(super) until: i64,
    /// The filled form, to continue with.
    form: Box<QuestionForm>,
}

/// What the list waits for with its next key, whichever that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListLayer {
    /// A digit sets the availability; any other key sets nothing.
    Availability,
    /// The keys of the list are shown; any key closes them.
    Help,
}

/// Everything that is drawn.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// Pending questions, the oldest first, and snoozed questions last.
    pub(super) questions: Vec<Question>,
    /// The number of all questions, also of those that the hub does not send.
    pub(super) total: u64,
    /// Whether agents may ask now.
    pub(super) availability: Availability,
    /// What the next key in the list is for, if it has not its usual meaning.
    pub(super) layer: Option<ListLayer>,
    /// The hub has sent everything once.
    pub(super) current: bool,
    pub(super) selected: usize,
    pub(super) form: Option<QuestionForm>,
    /// The approvals that are looked over together.
    pub(super) approvals: Option<PendingApprovals>,
    pub(super) facts: HashMap<String, Result<Facts, String>>,
    pub(super) undo: Option<Undo>,
    /// Decisions of other channels that can still be undone. Their questions stay in the list meanwhile.
    pub(super) held: HashMap<Ticket, ClosedElsewhere>,
    /// The latest notice, and the time until which it is shown.
    pub(super) notice: Option<(String, Instant)>,
    /// The proof that an answer of this terminal lacks, until one is accepted.
    pub(super) unproven: Option<String>,
    /// The command that sets the approval passphrase, while none is set.
    pub(super) set_passphrase_with: Option<String>,
    /// Why the hub cannot be reached.
    pub(super) disconnected: Option<String>,
    /// The window has lost the focus, by the terminal's report.
    unfocused: bool,
    seen: Option<(Ticket, Instant)>,
}

impl Inbox {
    /// Applies a message, and returns the effects.
    pub(super) fn update(&mut self, message: Message, now: Timestamps) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.undo.as_ref().is_some_and(|undo| undo.until <= now.millis) {
            self.undo = None;
        }
        let is_over = |how: &ClosedElsewhere| how.until.is_none_or(|until| until <= now.millis);
        let over: Vec<Ticket> =
            self.held.extract_if(|_, how| is_over(how)).map(|(ticket, _)| ticket).collect();
        for ticket in over {
            self.remove(&ticket);
        }
        if self.notice.as_ref().is_some_and(|(_, until)| *until <= now.at) {
            self.notice = None;
        }
        match message {
            Message::Key(key) if key.kind == KeyEventKind::Release => {}
            Message::Key(key) if self.form.is_none() && self.approvals.is_some() => {
                effects.extend(self.on_batch_key(key, now));
            }
            Message::Key(key) => effects.extend(self.on_key(key, now)),
            Message::Paste(text) => {
                if let Some(form) = &mut self.form {
                    form.paste(&text);
                }
            }
            Message::Focus(focused) => self.unfocused = !focused,
            Message::Tick => {}
            Message::InputClosed => effects.push(Effect::Quit),
            Message::Update(update) => self.on_update(update, now),
            Message::Done(request, done) => self.on_done(&request, done, now),
            Message::Hub(reached) => {
                self.disconnected = reached.err();
                if self.disconnected.is_none() {
                    // The next hub sends everything again.
                    self.questions.clear();
                    self.held.clear();
                    self.unproven = None;
                    self.current = false;
                }
            }
        }
        effects.extend(self.report_seen(now));
        effects
    }

    /// Returns the time until the screen changes without a message.
    pub(super) fn next_change(&self, now: Timestamps) -> Duration {
        let every = if self.undo.is_some() || !self.held.is_empty() { 100 } else { 1000 };
        let cooling = self.form.as_ref().is_some_and(|form| form.is_cooling_down(now.at));
        Duration::from_millis(if cooling { 50 } else { every })
    }

    fn on_key(&mut self, key: KeyEvent, now: Timestamps) -> Option<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return Some(Effect::Quit);
        }
        if control && key.code == KeyCode::Char('l') {
            return Some(Effect::Redraw);
        }
        if self.form.is_none()
            && let Some(layer) = self.layer.take()
        {
            let until = Some(now.millis + AWAY_MILLIS);
            let availability = match (layer, key.code) {
                (ListLayer::Availability, KeyCode::Char('1')) => Availability::Here,
                (ListLayer::Availability, KeyCode::Char('2')) => Availability::DoNotDisturb { until },
                (ListLayer::Availability, KeyCode::Char('3')) => Availability::Away { until },
                (ListLayer::Availability, KeyCode::Char('4')) => Availability::Away { until: None },
                (ListLayer::Availability | ListLayer::Help, _) => return None,
            };
            return Some(Effect::Send(Request::Availability(availability)));
        }
        let text = self.form.as_ref().is_some_and(QuestionForm::takes_text);
        let is_undo = control && key.code == KeyCode::Char('z') || !text && key.code == KeyCode::Char('u');
        let own = self.undo.as_ref().map(|undo| undo.ticket.clone());
        if is_undo && let Some(ticket) = own.or_else(|| self.held_here()) {
            return Some(Effect::Send(Request::Undo { ticket }));
        }
        if let Some(form) = &mut self.form {
            let no_passphrase = no_passphrase(&form.question, self.set_passphrase_with.as_deref());
            return match form.on(key, no_passphrase, now.at) {
                KeyResult::Stay => None,
                KeyResult::Close => {
                    self.form = None;
                    None
                }
                KeyResult::Send(request) => Some(Effect::Send(request)),
            };
        }
        let last = self.questions.len().saturating_sub(1);
        match key.code {
            KeyCode::Char('a') => self.layer = Some(ListLayer::Availability),
            KeyCode::Char('b') => self.approvals = PendingApprovals::open(self.pending_approvals(), now.at),
            KeyCode::Char('q') => return Some(Effect::Quit),
            KeyCode::F(1) | KeyCode::Char('?') => self.layer = Some(ListLayer::Help),
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(8),
            KeyCode::PageDown => self.selected = (self.selected + 8).min(last),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = last,
            KeyCode::Enter => self.open(self.selected, now),
            KeyCode::Char(digit @ '1'..='9') => {
                if let Some(at) = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()) {
                    self.open(at - 1, now);
                }
            }
            _ => {}
        }
        None
    }

    fn on_batch_key(&mut self, key: KeyEvent, now: Timestamps) -> Vec<Effect> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => vec![Effect::Quit],
                KeyCode::Char('l') => vec![Effect::Redraw],
                _ => Vec::new(),
            };
        }
        let requests = match self.approvals.as_mut().map(|approvals| approvals.on(key, now.at)) {
            Some(ApprovalsKey::Send(requests)) => requests,
            Some(ApprovalsKey::Close) => Vec::new(),
            Some(ApprovalsKey::Stay) | None => return Vec::new(),
        };
        self.approvals = None;
        requests.into_iter().map(Effect::Send).collect()
    }

    /// Returns the approvals that can be answered together.
    pub(super) fn pending_approvals(&self) -> impl Iterator<Item = &Question> {
        let open = |question: &&Question| {
            question.snoozed_until.is_none() && !self.held.contains_key(&question.ticket)
        };
        self.questions.iter().filter(open).filter(|question| question.approval_answer(true).is_some())
    }

    fn open(&mut self, at: usize, now: Timestamps) {
        if let Some(question) = self.questions.get(at) {
            self.selected = at;
            let mut form = QuestionForm::open(question.clone(), now.at);
            form.closed = self.held.get(&question.ticket).copied();
            self.form = Some(form);
        }
    }

    /// Returns the open or selected question, if its decision in another channel can be undone.
    pub(super) fn held_here(&self) -> Option<Ticket> {
        let open = self.form.as_ref().map(|form| form.question.ticket.clone());
        open.or_else(|| self.selected_ticket()).filter(|ticket| self.held.contains_key(ticket))
    }

    fn on_update(&mut self, update: Update, now: Timestamps) {
        match update {
            Update::Question(question) => {
                if let Some(form) = self.form.as_mut().filter(|form| form.question.ticket == question.ticket)
                {
                    form.refresh(&question, now.at);
                }
                if let Some(approvals) = &mut self.approvals {
                    approvals.refresh(&question, now.at);
                }
                let chosen = self.selected_ticket();
                self.held.remove(&question.ticket);
                self.questions.retain(|known| known.ticket != question.ticket);
                let key = |known: &Question| {
                    (known.snoozed_until.is_some_and(|until| until > now.millis), known.asked_at)
                };
                let at = self.questions.partition_point(|known| key(known) <= key(&question));
                self.questions.insert(at, *question);
                self.select(chosen.as_ref());
            }
            Update::Closed { ticket, how } => {
                let is_own = self.undo.as_ref().is_some_and(|undo| undo.ticket == ticket);
                let open = self.form.as_mut().filter(|form| form.question.ticket == ticket);
                // The answer to the request of this terminal reports it.
                let is_own = is_own || open.as_ref().is_some_and(|form| form.sending);
                let is_open = open.is_some();
                if let Some(form) = open.filter(|_| !is_own) {
                    form.closed = Some(how);
                    form.layer = None;
                }
                let is_held = how.until.is_some() && !is_own;
                if is_held && self.questions.iter().any(|known| known.ticket == ticket) {
                    self.held.insert(ticket, how);
                } else if let Some(title) = self.remove(&ticket)
                    && !is_own
                    && !is_open
                {
                    self.notify(format!("“{title}” {}", closed_text(how, now.millis)), now);
                }
            }
            // The form asks for the passphrase.
            Update::Unproven { missing, needs_passphrase } => {
                self.unproven = Some(missing).filter(|_| !needs_passphrase);
            }
            Update::NoPassphrase { set_with } => self.set_passphrase_with = set_with,
            Update::Facts { workspace, facts } => {
                self.facts.insert(workspace, facts);
            }
            Update::Current { total, availability } => {
                self.total = total;
                self.availability = availability;
                self.current = true;
            }
        }
    }

    fn on_done(&mut self, request: &Request, done: Result<Done, String>, now: Timestamps) {
        if let Request::Seen { .. } = request {
            // The next interval sends it again.
            return;
        }
        let ticket = request.ticket();
        let open = self.form.as_mut().filter(|form| Some(&form.question.ticket) == ticket);
        match (done, open) {
            (Ok(Done::Decided { kind, denied, until }), form) => {
                self.unproven = None;
                let listed = self.questions.iter().find(|known| Some(&known.ticket) == ticket);
                let title = form.as_ref().map(|form| &form.question).or(listed);
                let title =
                    title.map_or_else(String::new, |known| escape_invisible::escape_line(&known.title));
                let notice = format!("{}: “{title}”", kind.word(denied));
                let form = self.form.take_if(|form| Some(&form.question.ticket) == ticket);
                if let Some(ticket) = ticket {
                    self.remove(ticket);
                }
                match (until, form, ticket) {
                    (Some(until), Some(mut form), Some(ticket)) => {
                        form.sending = false;
                        form.layer = None;
                        let ticket = ticket.clone();
                        self.undo = Some(Undo { ticket, notice, until, form: Box::new(form) });
                    }
                    _ => self.notify(notice, now),
                }
            }
            (Ok(Done::Snoozed { .. }), form) => {
                let minutes = if let Request::Snooze { minutes, .. } = request { *minutes } else { 0 };
                if form.is_some() {
                    self.form = None;
                }
                self.notify(format!("snoozed for {minutes} min"), now);
            }
            (Ok(Done::Available(availability)), _) => {
                self.availability = availability;
                self.notify(availability_text(availability, now.millis), now);
            }
            (Ok(Done::Noted), _) => {
                // The decision was undone: the question opens again with its values.
                if let Some(undo) = self.undo.take() {
                    self.notify("undone; nothing was sent".to_owned(), now);
                    if self.form.is_none() {
                        self.form = Some(undo.form.reopen(now.at));
                    }
                }
            }
            (Ok(Done::Before(how)), Some(form)) => {
                form.sending = false;
                form.layer = None;
                form.closed = Some(how);
            }
            (Ok(Done::Before(how)), None) => self.notify(closed_text(how, now.millis), now),
            (Ok(Done::Unfit { reason, .. }) | Err(reason), Some(form)) => form.on_rejection(reason),
            (Ok(Done::Passphrase { reason, is_set: true }), Some(form)) => form.wants_passphrase(reason),
            (Ok(Done::Passphrase { reason, is_set: false }), Some(form)) => {
                // There is nothing to type until a passphrase is set.
                form.layer = None;
                form.on_rejection(reason);
            }
            (Ok(Done::Unfit { reason, .. } | Done::Passphrase { reason, .. }) | Err(reason), None) => {
                self.notify(reason, now);
            }
        }
    }

    /// Reports to the hub that the open question is visible, once in an interval.
    fn report_seen(&mut self, now: Timestamps) -> Option<Effect> {
        let form = self
            .form
            .as_ref()
            .filter(|form| form.closed.is_none() && !self.unfocused && self.disconnected.is_none());
        let Some(form) = form else {
            self.seen = None;
            return None;
        };
        let ticket = &form.question.ticket;
        let is_recent =
            self.seen.as_ref().is_some_and(|(seen, at)| seen == ticket && now.at < *at + SEEN_INTERVAL);
        (!is_recent).then(|| {
            self.seen = Some((ticket.clone(), now.at));
            Effect::Send(Request::Seen { ticket: ticket.clone() })
        })
    }

    /// Removes a question from the list and returns its title.
    fn remove(&mut self, ticket: &Ticket) -> Option<String> {
        let at = self.questions.iter().position(|question| question.ticket == *ticket)?;
        let chosen = self.selected_ticket();
        let question = self.questions.remove(at);
        self.total = self.total.saturating_sub(1);
        self.select(chosen.as_ref());
        Some(escape_invisible::escape_line(&question.title))
    }

    fn selected_ticket(&self) -> Option<Ticket> {
        self.questions.get(self.selected).map(|question| question.ticket.clone())
    }

    /// Restores the selection after a change of the list.
    fn select(&mut self, ticket: Option<&Ticket>) {
        let at = self.questions.iter().position(|question| Some(&question.ticket) == ticket);
        self.selected = at.unwrap_or(self.selected).min(self.questions.len().saturating_sub(1));
    }

    fn notify(&mut self, sentence: String, now: Timestamps) {
        self.notice = Some((sentence, now.at + NOTICE_DURATION));
    }
}

/// Describes how and where a question was closed, and for how long that can be undone.
pub(super) fn closed_text(closed: ClosedElsewhere, now: i64) -> String {
    let place = match closed.through {
        Channel::Browser => " in the browser",
        Channel::Terminal => " in another terminal",
        Channel::Notification => " through a notification",
        Channel::Phone => " on the phone",
        Channel::Client => " in the agent itself",
        Channel::None => "",
    };
    let text = match (closed.kind, closed.by) {
        (OutcomeKind::Answered, DecidedBy::Default) => "expired and was answered by its default".to_owned(),
        (OutcomeKind::Answered | OutcomeKind::Declined | OutcomeKind::Dismissed, _) => {
            format!("was {}{place}", closed.kind.word(closed.denied))
        }
        (OutcomeKind::TimedOut, _) => "expired without an answer".to_owned(),
        (OutcomeKind::Cancelled, _) => "was cancelled by the agent".to_owned(),
        (OutcomeKind::ClientGone, _) => "ended, because the client disconnected".to_owned(),
    };
    match closed.until.filter(|until| *until > now) {
        Some(until) => format!("{text}, {} s to undo", timefmt::seconds_left(until, now)),
        None => text,
    }
}

/// Returns the sentence that an answer needs a proof.
pub(super) fn unproven_text(missing: &str) -> String {
    format!("an answer from here needs a proof: {missing}")
}

/// Returns the sentence that nobody can answer a question, because no approval passphrase is set and its level takes it.
/// `set_with` is the command that sets one, while none is set.
pub(super) fn no_passphrase(question: &Question, set_with: Option<&str>) -> Option<String> {
    let command = set_with.filter(|_| question.level == Level::High)?;
    Some(format!(
        "no approval passphrase is set, and nobody can answer this question without one; set it in another terminal, \
         best while no agent is connected, with `{command}`"
    ))
}

/// Describes the availability and its remaining time.
pub(super) fn availability_text(availability: Availability, now: i64) -> String {
    let state = match availability {
        Availability::Here => return "you accept questions".to_owned(),
        Availability::DoNotDisturb { .. } => "not to be disturbed",
        Availability::Away { .. } => "away",
    };
    match availability.until() {
        Some(until) => {
            format!("{state}, {} left", timefmt::span_millis(until - now))
        }
        None => format!("{state}, until you return to here"),
    }
}
