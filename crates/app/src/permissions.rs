//! Permission requests of agents that run in their own terminals: the rules decide, else the user in the Inbox.
//!
//! A hook of the client asks through the socket, and the decision goes back on its connection, once. Where nothing decides
//! in time, the answer holds no decision, and the client asks by itself.

mod call;
mod question;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use call::{PermissionAnswer, ToolCall, request};

use super::App;
use adjutant_base::config::permissions::{ApprovalRule, PermissionsConfig};
use adjutant_base::mutex::lock;
use adjutant_base::text::{clip, timefmt};
use adjutant_host::recorder::redact;
use adjutant_permissions::{Decision, Request, Rule, Rules, Verdict};
use adjutant_questions::{Asker, DecidedBy, Draft, Outcome, OutcomeKind, Route, State, Ticket};
use adjutant_store::Store;
use adjutant_store::questions::{set_setting, setting, settings};
use call::resolve;

/// How the keys of permission requests begin.
pub(crate) const ASKER_PREFIX: &str = "permission:";

/// Why an answer of the last hub had no effect.
pub(crate) const HUB_ENDED: &str = "the hub ended before the client got the answer";

/// The name under which the store has the rules of the Inbox.
const STORED_RULES: &str = "approval_rules";

/// Rules of the Inbox; the oldest that does not deny is dropped first.
const MAX_STORED_RULES: usize = 10_000;

/// Decisions that are kept; the oldest is dropped first.
const MAX_RECORDS: usize = 2_000;

/// Returns the prefix of the names under which the store has the decisions of this machine. A new decision replaces the
/// oldest one.
fn stored_records(store: &Store) -> String {
    format!("permission:{}:", store.machine())
}

/// Maximum characters of a request in a record.
const MAX_SUBJECT_CHARS: usize = 2_000;

/// Time within which identical requests of a session are one question.
const SAME_QUESTION: Duration = Duration::from_mins(1);

/// The longest wait for an answer. Clients end a hook after 600 s.
const MAX_WAIT: Duration = Duration::from_secs(590);

/// A decision, for the user.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct PermissionRecord {
    /// Grows with every decision.
    pub id: u64,
    /// In milliseconds since 1970.
    pub at: i64,
    pub client: String,
    pub session: String,
    pub folder: PathBuf,
    pub tool: String,
    /// The command, the paths, the host or the tool, without secrets.
    pub subject: String,
    /// [`Verdict::Ask`] if the client asked by itself.
    pub verdict: Verdict,
    /// The rules that decided, or that made it a question.
    pub rules: Vec<String>,
    /// Whether the user decided in the Inbox.
    pub by_user: bool,
    /// The rule that would have decided it; `None` if no rule could.
    pub rule: Option<Rule>,
}

/// The rules and the open requests of a hub.
#[derive(Debug)]
pub(super) struct Permissions {
    state: Mutex<RuleSet>,
    /// Whether the rules of the Inbox were read from the store.
    loaded: tokio::sync::Mutex<bool>,
    /// By the digest of the call.
    open: tokio::sync::Mutex<HashMap<String, OpenQuestion>>,
    records: Mutex<VecDeque<PermissionRecord>>,
}

#[derive(Debug, Default)]
struct RuleSet {
    settings: PermissionsConfig,
    /// The rules that the user made in the Inbox.
    stored: Vec<Rule>,
    /// The hub's folder, without links.
    home: Option<PathBuf>,
    rules: Arc<Rules>,
}

impl RuleSet {
    fn rebuild(&mut self) {
        for fault in rule_faults(&self.settings.rules) {
            tracing::warn!(fault, "an approval rule of config.toml is ignored");
        }
        let rules = of_file(&self.settings.rules).into_iter().flatten();
        let rules = Rules::new(rules.chain(self.stored.iter().cloned()));
        self.rules = Arc::new(rules.with_home(self.home.clone()));
    }
}

/// A question that identical requests of a session share.
#[derive(Debug)]
struct OpenQuestion {
    call: ToolCall,
    key: String,
    ticket: Ticket,
    draft: Draft,
    asked: Instant,
    calls: usize,
}

impl OpenQuestion {
    fn new(call: &ToolCall, key: &str, ticket: &Ticket, draft: Draft) -> Self {
        let (call, key, ticket) = (call.clone(), key.to_owned(), ticket.clone());
        Self { call, key, ticket, draft, asked: Instant::now(), calls: 0 }
    }
}

impl Permissions {
    /// `home` is the hub's folder.
    pub(super) fn new(settings: PermissionsConfig, home: &Path) -> Self {
        let home = Some(home.canonicalize().unwrap_or_else(|_| home.to_owned()));
        let mut state = RuleSet { settings, home, ..RuleSet::default() };
        state.rebuild();
        Self {
            state: Mutex::new(state),
            loaded: tokio::sync::Mutex::default(),
            open: tokio::sync::Mutex::default(),
            records: Mutex::default(),
        }
    }

    /// Applies the settings of a changed file.
    pub(super) fn apply(&self, settings: PermissionsConfig) {
        let mut state = lock(&self.state);
        state.settings = settings;
        state.rebuild();
    }

    /// Loads the stored decisions, each as JSON. One that an older hub wrote in another form is left out.
    fn load_records(&self, stored: &[String]) {
        let mut records = lock(&self.records);
        records.extend(stored.iter().filter_map(|text| serde_json::from_str(text).ok()));
        records.make_contiguous().sort_by_key(|record: &PermissionRecord| record.id);
    }
}

impl App {
    /// Decides a call by the rules, else by the user. `gone` is cancelled when the client no longer waits. Without a
    /// decision the answer has no verdict.
    pub async fn decide_permission(&self, call: &ToolCall, gone: &CancellationToken) -> PermissionAnswer {
        let mut answer = PermissionAnswer { digest: call.digest(), ..PermissionAnswer::default() };
        if call.has_run {
            self.withdraw_question_of(call).await;
            return answer;
        }
        if !lock(&self.permissions.state).settings.enabled {
            return answer;
        }
        let rules = self.approval_rules().await;
        if !self.stores.is_empty() && !*self.permissions.loaded.lock().await {
            // A stored rule that denies is not known.
            return answer;
        }
        let request = request(call);
        let decision = rules.decide(&request, timefmt::millis(SystemTime::now()));
        let mut record = PermissionRecord {
            id: 0,
            at: timefmt::millis(SystemTime::now()),
            client: call.client.clone(),
            session: call.session.clone(),
            folder: request.folder.clone(),
            tool: call.tool.clone(),
            subject: request.subject(),
            verdict: decision.verdict,
            rules: decision.rules.clone(),
            by_user: false,
            rule: Rule::narrowest(&request, Verdict::Allow),
        };
        if decision.verdict != Verdict::Ask {
            answer.verdict = Some(decision.verdict);
            answer.reason = format!("approval rule {}", decision.rules.join(", "));
        } else if !call.rules_only {
            let outcome = self.ask_for_permission(call, &request, &decision, gone).await;
            // Only a user's answer counts: no default, no timeout, no withdrawal.
            let outcome = outcome.filter(|outcome| outcome.by == DecidedBy::User);
            if let Some((verdict, rule)) =
                outcome.as_ref().and_then(|outcome| question::decision(&request, outcome))
            {
                if let Some(rule) = rule {
                    self.add_approval_rule(rule).await;
                }
                let note = outcome.and_then(|outcome| outcome.note).map(|note| format!(": {note}"));
                answer.verdict = Some(verdict);
                answer.reason = format!("the user, in the Inbox{}", note.unwrap_or_default());
                (record.verdict, record.by_user) = (verdict, true);
            }
        }
        if answer.verdict.is_some() || !call.rules_only {
            self.record_permission(record);
        }
        answer
    }

    /// Records a decision, also in the store.
    fn record_permission(&self, mut record: PermissionRecord) {
        // Only the beginning of a long request is searched for secrets, because its client waits.
        let subject = clip::chars(&record.subject, 2 * MAX_SUBJECT_CHARS);
        let subject = redact::text(&subject);
        let subject = clip::chars(&subject, MAX_SUBJECT_CHARS).into_owned();
        if subject != record.subject {
            (record.subject, record.rule) = (subject, None);
        }
        {
            let mut records = lock(&self.permissions.records);
            record.id = records.back().map_or(1, |last| last.id + 1);
            if records.len() == MAX_RECORDS {
                records.pop_front();
            }
            records.push_back(record.clone());
        }
        let Some(store) = self.stores.first().cloned() else { return };
        // The client does not wait for it.
        tokio::spawn(async move {
            let name = format!("{}{}", stored_records(&store), record.id % MAX_RECORDS as u64);
            let text = serde_json::to_string(&record).unwrap_or_default();
            if let Err(error) = set_setting(&store, &name, &text).await {
                tracing::warn!(%error, "a permission decision could not be stored");
            }
        });
    }

    /// Asks the user, and waits for the final answer; `None` if nothing was decided.
    async fn ask_for_permission(
        &self,
        call: &ToolCall,
        request: &Request,
        decision: &Decision,
        gone: &CancellationToken,
    ) -> Option<Outcome> {
        let wait = lock(&self.permissions.state).settings.wait.min(MAX_WAIT);
        let digest = call.digest();
        let by_itself =
            |error: adjutant_questions::Error| tracing::info!(%error, "the client asks by itself");
        self.earlier_questions.permissions.withdraw(&self.questions).await.map_err(by_itself).ok()?;
        let draft = question::draft(call, request, decision, wait);
        let (key, ticket) = {
            // Held while the question is stored, so that calls at the same time find it.
            let mut open = self.permissions.open.lock().await;
            let key = match open.get(&digest) {
                // A call that the user has not seen must not get an earlier answer. Other rules offer other answers.
                Some(shared)
                    if shared.draft == draft
                        && shared.asked.elapsed() < SAME_QUESTION
                        && self.is_pending(&shared.ticket).await =>
                {
                    shared.key.clone()
                }
                _ => format!("{ASKER_PREFIX}{}", Ticket::new().ok()?),
            };
            // Each call is one delivery, so that the question shows their number.
            let route =
                Route { request: Value::from(Ticket::new().ok()?.as_str()).to_string(), ..Route::default() };
            let asker =
                Asker { key: key.clone(), client: call.client_title.clone(), route, ..Asker::default() };
            let entered = self.questions.ask(asker, draft.clone()).await.map_err(by_itself).ok()?;
            if entered.state != State::Pending {
                return None;
            }
            let ticket = entered.ticket;
            let new = || OpenQuestion::new(call, &key, &ticket, draft);
            let shared = match open.entry(digest.clone()) {
                Entry::Occupied(shared) if shared.get().key == key => shared.into_mut(),
                entry => entry.insert_entry(new()).into_mut(),
            };
            shared.calls += 1;
            (key, ticket)
        };
        let decided = gone.run_until_cancelled(self.permission_outcome(&ticket, wait)).await.flatten();
        let mut open = self.permissions.open.lock().await;
        // A later question of the same words may have taken the place.
        let shared = open.get_mut(&digest).filter(|shared| shared.key == key);
        let is_last = shared.is_none_or(|shared| {
            shared.calls -= 1;
            shared.calls == 0
        });
        if is_last && open.get(&digest).is_some_and(|shared| shared.key == key) {
            open.remove(&digest);
        }
        drop(open);
        if decided.is_some() {
            self.questions.mark_delivered(&key, &ticket).await;
        } else if is_last {
            // A decision that came just before this has no effect.
            let reason = "the client stopped asking before the answer was final";
            let _ = self.questions.withdraw_unapplied(&key, &ticket, reason).await;
        }
        decided
    }

    /// Withdraws the question about a call that the client has let run by itself. Of identical requests, each is then left
    /// to the client.
    async fn withdraw_question_of(&self, call: &ToolCall) {
        let open = self.permissions.open.lock().await;
        let same = open.values().filter(|shared| shared.call.is_same(call));
        let same: Vec<_> = same.map(|shared| (shared.key.clone(), shared.ticket.clone())).collect();
        drop(open);
        for (key, ticket) in same {
            let reason = "it was answered in the client";
            if let Err(error) = self.questions.withdraw_unapplied(&key, &ticket, reason).await {
                tracing::warn!(%error, "the question about a call that has run stays until its time is over");
            }
        }
    }

    async fn is_pending(&self, ticket: &Ticket) -> bool {
        self.questions.get(ticket).await.is_ok_and(|question| question.state == State::Pending)
    }

    async fn permission_outcome(&self, ticket: &Ticket, wait: Duration) -> Option<Outcome> {
        // An answer at the last moment can still be undone for a while.
        let end = Instant::now() + (wait + self.questions.settings().undo).min(MAX_WAIT);
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            match self.questions.wait(ticket, left).await.ok()? {
                State::Decided(outcome) if outcome.kind == OutcomeKind::Answered => return Some(outcome),
                State::Decided(_) => return None,
                State::Pending | State::Held { .. } => {}
            }
        }
        None
    }

    /// Returns all rules in force, but for the default ones.
    pub async fn approval_rules(&self) -> Arc<Rules> {
        let mut loaded = self.permissions.loaded.lock().await;
        if !*loaded && let Some(store) = self.stores.first() {
            let read = setting(store, STORED_RULES).await.map_err(|error| error.to_string());
            let parse = |text: String| serde_json::from_str(&text).map_err(|error| error.to_string());
            match read.and_then(|text| text.map_or_else(|| Ok(Vec::new()), parse)) {
                Ok(stored) => {
                    match settings(store, &stored_records(store)).await {
                        Ok(records) => self.permissions.load_records(&records),
                        Err(error) => tracing::warn!(%error, "earlier permission decisions cannot be read"),
                    }
                    let mut state = lock(&self.permissions.state);
                    state.stored = stored;
                    state.rebuild();
                    *loaded = true;
                }
                Err(error) => tracing::warn!(%error, "the approval rules of the Inbox cannot be read"),
            }
        }
        lock(&self.permissions.state).rules.clone()
    }

    /// Returns all rules, the default ones last, for a list: name, decision, and what the rule is about.
    pub async fn approval_rule_list(&self) -> Vec<(String, &'static str, String)> {
        let rules = self.approval_rules().await;
        let own = rules.all().iter().map(|rule| (rule.name.clone(), rule.verdict.name(), rule.summary()));
        let defaults = Rules::defaults()
            .map(|(name, verdict, about)| (name.to_owned(), verdict.name(), about.to_owned()));
        own.chain(defaults).collect()
    }

    /// Adds a rule of the user. Only acts of the user lead here.
    async fn add_approval_rule(&self, mut rule: Rule) {
        let mut random = Ticket::new().map(|ticket| ticket.as_str()[1..9].to_owned()).unwrap_or_default();
        random.insert_str(0, "inbox-");
        rule.name = random;
        let now = timefmt::millis(SystemTime::now());
        self.change_stored_rules(|rules| {
            rules.retain(|rule| rule.expires.is_none_or(|end| now < end));
            // Without a rule that denies, its calls could be allowed.
            let is_dropped = |rule: &Rule| rule.verdict != Verdict::Deny;
            let full = rules.len() >= MAX_STORED_RULES;
            let oldest = full.then(|| rules.iter().position(is_dropped).unwrap_or(0));
            oldest.map(|at| rules.remove(at));
            rules.push(rule);
        })
        .await;
    }

    /// Removes a rule that was made in the Inbox. Returns false if there is none of this name.
    pub async fn remove_approval_rule(&self, name: &str) -> bool {
        let mut removed = false;
        self.change_stored_rules(|rules| {
            removed = rules.extract_if(.., |rule| rule.name == name).count() > 0;
        })
        .await;
        removed
    }

    async fn change_stored_rules(&self, change: impl FnOnce(&mut Vec<Rule>)) {
        self.approval_rules().await;
        // Held over the write, so that the store keeps the last state.
        let writing = self.permissions.loaded.lock().await;
        if !*writing {
            // The stored rules would be lost.
            return;
        }
        let text = {
            let mut state = lock(&self.permissions.state);
            change(&mut state.stored);
            state.rebuild();
            serde_json::to_string(&state.stored).unwrap_or_default()
        };
        if let Some(store) = self.stores.first()
            && let Err(error) = set_setting(store, STORED_RULES, &text).await
        {
            tracing::error!(%error, "an approval rule counts until the hub ends, because it could not be stored");
        }
    }

    /// Returns the last decisions, oldest first.
    pub async fn permission_records(&self) -> Vec<PermissionRecord> {
        self.approval_rules().await;
        lock(&self.permissions.records).iter().cloned().collect()
    }
}

/// Returns why rules of the file do not count, each with its name.
pub fn rule_faults(entries: &[ApprovalRule]) -> Vec<String> {
    of_file(entries).into_iter().filter_map(Result::err).collect()
}

/// Converts the rules of the file; an error names a rule and its fault.
fn of_file(entries: &[ApprovalRule]) -> Vec<Result<Rule, String>> {
    let convert = |entry: &ApprovalRule| -> Result<Rule, &str> {
        let mut rule =
            Rule::new(&entry.name, Verdict::from_name(&entry.decision).ok_or("its decision is unknown")?);
        let absolute = |path: &Option<PathBuf>| match path.as_ref() {
            Some(path) if path.is_absolute() => Ok(Some(resolve(Path::new("/"), &path.to_string_lossy()))),
            Some(_) => Err("a path of it is not absolute"),
            None => Ok(None),
        };
        rule.client.clone_from(&entry.client);
        rule.tool.clone_from(&entry.tool);
        rule.host = entry.host.as_ref().map(|host| host.trim_end_matches('.').to_ascii_lowercase());
        rule.folder = absolute(&entry.folder)?;
        rule.path = absolute(&entry.path)?;
        if let Some(command) = &entry.command {
            rule.command = Some(Rule::words(command).ok_or("its command is not one simple command")?);
        }
        if let Some(end) = &entry.expires {
            let end: jiff::Timestamp = end.parse().map_err(|_| "its end is not an instant")?;
            rule.expires = Some(end.as_millisecond());
        }
        rule.fault().map_or(Ok(rule), Err)
    };
    entries.iter().map(|entry| convert(entry).map_err(|fault| format!("`{}`: {fault}", entry.name))).collect()
}
