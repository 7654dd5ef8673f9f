//! Which runner runs an agent: the named one first if it supports the agent's model, then the others by ascending
//! priority, ties by name. A runner at its usage limit rests before it is tried again.

pub(crate) mod configured;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use configured::Error;

use super::runner::{Form, Runner, probe};
use crate::config::runners::RunnersConfig;

/// Nobody's limit lasts longer than a month.
const LONGEST_REST: Duration = Duration::from_hours(31 * 24);

/// A runner with its place in the order.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) runner: Runner,
    /// Lower goes first.
    pub(crate) priority: i64,
    /// Empty means every model.
    pub(crate) models: Vec<String>,
    /// Where the configuration says the program is; else it is looked for on the PATH.
    pub(crate) program: Option<PathBuf>,
}

/// All runners of a hub, and which of them rest.
#[derive(Debug)]
pub(crate) struct Selector {
    /// By priority, then by name.
    candidates: Vec<Candidate>,
    /// The runner named on the command line.
    preferred: Option<String>,
    form: Form,
    /// How long a limited runner rests when it does not tell.
    cooldown: Duration,
    /// Until when a runner rests, by name.
    resting: Mutex<HashMap<String, Instant>>,
}

/// A runner to try.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) runner: Runner,
    pub(crate) program: PathBuf,
    pub(crate) form: Form,
}

/// What selection thought of one runner, for the receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Considered {
    pub(crate) runner: String,
    pub(crate) verdict: Verdict,
}

/// Why a runner is or is not tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was named and supports the model.
    Named,
    /// Its turn by priority.
    Priority(i64),
    /// It runs these models, and the agent's is none of them.
    OtherModels(Vec<String>),
    NotInstalled,
    /// It was at its usage limit; this much longer.
    Resting(Duration),
    /// The agent names it, and there is no such runner.
    Unknown,
}

/// The runners to try, in order, and what was thought of every one.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) choices: Vec<Choice>,
    pub(crate) considered: Vec<Considered>,
}

impl Candidate {
    /// A runner that nobody configured: for every model, wherever its program is.
    fn usual(runner: Runner, priority: i64) -> Self {
        Self { runner, priority, models: Vec::new(), program: None }
    }

    fn supports(&self, model: Option<&str>) -> bool {
        model.is_none_or(|model| self.models.is_empty() || self.models.iter().any(|known| known == model))
    }
}

impl Selector {
    /// Checks `config`. `preferred` is the runner named on the command line; it is there also when `config` does not
    /// list it. With `Form::Contract` the usual runners are the contract's two, else all that are known here.
    pub(crate) fn new(config: &RunnersConfig, preferred: Option<&str>, form: Form) -> Result<Self, Error> {
        let usual: &[Runner] = match form {
            Form::Contract => &[Runner::Codex, Runner::Copilot],
            Form::Own => &Runner::BUILT_IN,
        };
        let mut candidates = configured::candidates(config, usual)?;
        if let Some(name) = preferred
            && !candidates.iter().any(|candidate| candidate.runner.name() == name)
        {
            let runner = Runner::built_in(name).ok_or_else(|| Error::unknown(name, &candidates))?;
            candidates.push(Candidate::usual(runner, i64::MAX));
        }
        candidates.sort_by(|one, other| {
            (one.priority, one.runner.name()).cmp(&(other.priority, other.runner.name()))
        });
        Ok(Self {
            candidates,
            preferred: preferred.map(ToOwned::to_owned),
            form,
            cooldown: configured::cooldown(config),
            resting: Mutex::default(),
        })
    }

    /// Returns all runners in the order of their priority, for lists and the doctor.
    pub(crate) fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Says which runners to try for an agent with this `model`, and with this runner `named` in its own file.
    /// `now` is the time that rests are measured by. Looks for the programs on the PATH.
    pub(crate) fn plan(&self, model: Option<&str>, named: Option<&str>, now: Instant) -> Plan {
        self.plan_among(model, named, now, probe::find)
    }

    fn plan_among(
        &self,
        model: Option<&str>,
        named: Option<&str>,
        now: Instant,
        find: impl Fn(&Runner, Option<&Path>) -> Option<PathBuf>,
    ) -> Plan {
        let mut plan = Plan { choices: Vec::new(), considered: Vec::new() };
        if let Some(name) = named
            && !self.candidates.iter().any(|candidate| candidate.runner.name() == name)
        {
            plan.considered.push(Considered { runner: name.to_owned(), verdict: Verdict::Unknown });
        }
        // The agent's own word goes before the command line's: it is the nearer one.
        let first = [named, self.preferred.as_deref()];
        let rank = |candidate: &&Candidate| {
            let name = Some(candidate.runner.name());
            first.iter().position(|wanted| *wanted == name).unwrap_or(first.len())
        };
        let mut order: Vec<&Candidate> = self.candidates.iter().collect();
        order.sort_by_key(rank);
        for candidate in order {
            let name = candidate.runner.name();
            let is_named = rank(&candidate) < first.len();
            let rest = self.rest(name, now);
            let found = find(&candidate.runner, candidate.program.as_deref());
            let verdict = match (found, rest) {
                _ if !candidate.supports(model) => Verdict::OtherModels(candidate.models.clone()),
                (None, _) => Verdict::NotInstalled,
                (Some(_), Some(rest)) => Verdict::Resting(rest),
                (Some(program), None) => {
                    let form = self.form_of(candidate);
                    plan.choices.push(Choice { runner: candidate.runner.clone(), program, form });
                    if is_named { Verdict::Named } else { Verdict::Priority(candidate.priority) }
                }
            };
            plan.considered.push(Considered { runner: name.to_owned(), verdict });
        }
        plan
    }

    /// The documented command line of Copilot gives away every tool and path, so it takes a person's word on the
    /// command line; reached by falling back, it runs at the agent's level.
    fn form_of(&self, candidate: &Candidate) -> Form {
        match (self.form, &candidate.runner) {
            (Form::Contract, Runner::Codex) => Form::Contract,
            (Form::Contract, Runner::Copilot) if self.preferred.as_deref() == Some("copilot") => {
                Form::Contract
            }
            _ => Form::Own,
        }
    }

    /// Lets `runner` rest from `now` on: it was at its usage limit.
    pub(crate) fn limited(&self, runner: &str, retry_after: Option<Duration>, now: Instant) {
        // What a provider's header or a configuration says may be any number.
        let until = now + retry_after.unwrap_or(self.cooldown).min(LONGEST_REST);
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        let end = resting.entry(runner.to_owned()).or_insert(until);
        *end = until.max(*end);
    }

    /// Returns how much longer `runner` rests.
    pub(crate) fn rest(&self, runner: &str, now: Instant) -> Option<Duration> {
        let resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting.get(runner).and_then(|until| until.checked_duration_since(now)).filter(|rest| !rest.is_zero())
    }
}

impl Considered {
    /// Returns the verdict as a sentence fragment.
    pub(crate) fn reason(&self) -> String {
        match &self.verdict {
            Verdict::Named => "it is named".to_owned(),
            Verdict::Priority(priority) => format!("by its priority, {priority}"),
            Verdict::OtherModels(models) => format!("runs {} only", models.join(", ")),
            Verdict::NotInstalled => "is not installed".to_owned(),
            Verdict::Resting(rest) => {
                format!("is at its usage limit for {} more s", rest.as_secs().max(1))
            }
            Verdict::Unknown => "is not configured".to_owned(),
        }
    }

    /// Tells whether it is tried.
    pub(crate) fn is_tried(&self) -> bool {
        matches!(self.verdict, Verdict::Named | Verdict::Priority(_))
    }
}

impl Plan {
    /// Says why the runner that an agent names is not tried, where another one is.
    pub(crate) fn instead(&self, named: &str) -> Option<String> {
        let first = self.choices.first()?.runner.name();
        let passed = self.considered.iter().find(|one| one.runner == named && !one.is_tried())?;
        Some(format!("the agent's runner `{named}` {}, so it went to {first}", passed.reason()))
    }

    /// Says in one sentence why there is nobody to try, or `None` if there is somebody.
    pub(crate) fn nobody(&self) -> Option<String> {
        if !self.choices.is_empty() {
            return None;
        }
        let reason = |considered: &Considered| format!("{} {}", considered.runner, considered.reason());
        let reasons: Vec<String> = self.considered.iter().map(reason).collect();
        Some(format!("no runner can be tried: {}", reasons.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use super::{Plan, Selector};
    use crate::agents::runner::{Form, Runner};
    use crate::config::runners::{RunnerEntry, RunnersConfig};

    fn config(runners: &[(&str, i64, &[&str])]) -> RunnersConfig {
        let entry = |(name, priority, models): &(&str, i64, &[&str])| RunnerEntry {
            name: (*name).to_owned(),
            priority: Some(*priority),
            models: models.iter().map(ToString::to_string).collect(),
            ..RunnerEntry::default()
        };
        RunnersConfig { runners: runners.iter().map(entry).collect(), ..RunnersConfig::default() }
    }

    fn order(plan: &Plan) -> Vec<&str> {
        plan.choices.iter().map(|choice| choice.runner.name()).collect()
    }

    #[expect(clippy::unnecessary_wraps, reason = "it stands in for the look on the PATH")]
    fn installed(_: &Runner, _: Option<&std::path::Path>) -> Option<PathBuf> {
        Some(PathBuf::from("/bin/true"))
    }

    #[test]
    fn the_contracts_order() {
        let config = config(&[
            ("copilot", 2, &["gpt-5", "claude"]),
            ("codex", 2, &["gpt-5"]),
            ("gemini", 1, &["gemini-2.5-pro"]),
            ("claude", 3, &[]),
        ]);
        let now = Instant::now();
        let order_for = |preferred: Option<&str>, model: Option<&str>, named: Option<&str>| {
            let selector = Selector::new(&config, preferred, Form::Own).unwrap();
            order(&selector.plan_among(model, named, now, installed)).join(" ")
        };
        for (preferred, model, named, expected) in [
            (None, None, None, "gemini codex copilot claude"),
            (Some("copilot"), None, None, "copilot gemini codex claude"),
            (Some("copilot"), Some("gpt-5"), None, "copilot codex claude"),
            // The named runner does not run the model: the others go by priority.
            (Some("gemini"), Some("gpt-5"), None, "codex copilot claude"),
            (Some("gemini"), Some("other"), None, "claude"),
            // A runner that is named and not listed is there for every model.
            (Some("opencode"), Some("gpt-5"), None, "opencode codex copilot claude"),
            (Some("copilot"), None, Some("claude"), "claude copilot gemini codex"),
            (None, None, Some("nobody"), "gemini codex copilot claude"),
        ] {
            assert_eq!(order_for(preferred, model, named), expected, "{preferred:?} {model:?} {named:?}");
        }
        assert!(
            Selector::new(&config, Some("copilto"), Form::Own).unwrap_err().to_string().contains("copilot")
        );
    }

    #[test]
    fn what_is_missing_or_rests_is_left_out_and_said() {
        let selector =
            Selector::new(&config(&[("codex", 1, &[]), ("copilot", 2, &[])]), None, Form::Own).unwrap();
        let now = Instant::now();
        let only_codex =
            |runner: &Runner, _: Option<&std::path::Path>| (runner.name() == "codex").then(PathBuf::new);
        assert_eq!(order(&selector.plan_among(None, None, now, only_codex)), ["codex"]);

        selector.limited("codex", Some(Duration::from_mins(1)), now);
        // A later failure that tells nothing makes the rest longer, never shorter.
        selector.limited("codex", None, now);
        selector.limited("codex", Some(Duration::from_secs(1)), now);
        let plan = selector.plan_among(None, None, now, only_codex);
        assert_eq!(
            plan.nobody().unwrap(),
            "no runner can be tried: codex is at its usage limit for 900 more s; copilot is not installed"
        );
        assert_eq!(order(&selector.plan_among(None, None, now, installed)), ["copilot"]);
        let instead = |named| selector.plan_among(None, Some(named), now, installed).instead(named);
        let limited =
            "the agent's runner `codex` is at its usage limit for 900 more s, so it went to copilot";
        assert_eq!(instead("codex").as_deref(), Some(limited));
        let unknown = "the agent's runner `nobody` is not configured, so it went to copilot";
        assert_eq!(instead("nobody").as_deref(), Some(unknown));
        assert_eq!(instead("copilot"), None);
        let later = now + Duration::from_mins(15);
        assert_eq!(order(&selector.plan_among(None, None, later, installed)), ["codex", "copilot"]);
    }

    #[test]
    fn no_rest_is_too_long_to_be_told() {
        let forever =
            RunnersConfig { runner_cooldown_minutes: Some(u64::MAX), ..config(&[("codex", 1, &[])]) };
        let selector = Selector::new(&forever, None, Form::Own).unwrap();
        let now = Instant::now();
        let month = Some(Duration::from_hours(31 * 24));
        for told in [None, Some(Duration::MAX)] {
            selector.limited("codex", told, now);
            assert_eq!(selector.rest("codex", now), month);
        }
    }

    #[test]
    fn the_documented_line_of_copilot_needs_a_persons_word() {
        let forms = |preferred: &str| {
            let selector = Selector::new(&RunnersConfig::default(), Some(preferred), Form::Contract).unwrap();
            let plan = selector.plan_among(None, None, Instant::now(), installed);
            plan.choices
                .iter()
                .map(|choice| (choice.runner.name().to_owned(), choice.form))
                .collect::<Vec<_>>()
        };
        let named = |name: &str, form| (name.to_owned(), form);
        assert_eq!(forms("codex"), [named("codex", Form::Contract), named("copilot", Form::Own)]);
        assert_eq!(forms("copilot"), [named("copilot", Form::Contract), named("codex", Form::Contract)]);
        assert_eq!(forms("claude")[0], named("claude", Form::Own));
    }
}
