//! Selects the runners of an agent: the named one first if it supports the agent's model, then the others by ascending
//! priority, ties by name. A runner at its usage limit has a cooldown before it is tried again.

mod candidate;
pub mod config;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use config::Error;

use super::definition::Permission;
use super::runner::{CommandVariant, Runner, probe};
use adjutant_base::config::runners::RunnersConfig;
use adjutant_base::mutex::lock;
use adjutant_base::text::timefmt;
pub use candidate::Candidate;

/// The longest cooldown: no provider's limit lasts longer than a month.
const MAX_COOLDOWN: Duration = Duration::from_hours(31 * 24);

/// All runners of a hub, with their cooldowns.
#[derive(Debug)]
pub struct Selector {
    /// Replaced as a whole when the configuration changes.
    configured: Mutex<Configured>,
    /// The runner named on the command line.
    preferred: Option<String>,
    variant: CommandVariant,
    /// The end of each runner's cooldown, by name.
    limited: Mutex<HashMap<String, Instant>>,
}

/// The configuration of the runners.
#[derive(Debug)]
struct Configured {
    /// By priority, then by name.
    candidates: Arc<[Candidate]>,
    /// The names of all runners since the start: a task may wait for a runner that was removed from the configuration.
    names: BTreeSet<String>,
    /// The cooldown of a limited runner that reports no time itself.
    cooldown: Duration,
}

/// A runner to try.
#[derive(Clone, Debug)]
pub struct Choice {
    pub runner: Runner,
    pub program: PathBuf,
    pub variant: CommandVariant,
    /// How long it may wait for its model without progress; `None` means for ever.
    pub(crate) stall: Option<Duration>,
}

/// A runner that the selection considered, with its eligibility.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    pub runner: String,
    pub eligibility: Eligibility,
}

/// Why a runner is or is not tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Eligibility {
    /// It was named and supports the model.
    Named,
    /// It is tried by its priority.
    Priority(i64),
    /// It runs these models, and the agent's is none of them.
    OtherModels(Vec<String>),
    NotInstalled,
    /// It reached its usage limit; its cooldown lasts this much longer.
    Limited(Duration),
    /// The agent names it, and no runner has this name.
    Unknown,
    /// The agent names it for a run at `full`, and it cannot be started; with the reason.
    Irreplaceable(&'static str),
}

/// The runners to try, in order, and the eligibility of every runner.
#[derive(Clone, Debug)]
pub struct Plan {
    pub choices: Vec<Choice>,
    pub considered: Vec<Considered>,
}

impl Configured {
    /// Validates `config`, see [`Selector::new`].
    fn new(config: &RunnersConfig, preferred: Option<&str>, variant: CommandVariant) -> Result<Self, Error> {
        let default: &[Runner] = match variant {
            CommandVariant::Contract => &[Runner::Codex, Runner::Copilot],
            CommandVariant::Native => &Runner::BUILT_IN,
        };
        let mut candidates = config::candidates(config, default)?;
        if let Some(name) = preferred
            && !candidates.iter().any(|candidate| candidate.runner.name() == name)
        {
            let runner = Runner::built_in(name).ok_or_else(|| Error::unknown(name, &candidates))?;
            candidates.push(Candidate::built_in(runner, i64::MAX));
        }
        candidates.sort_by(|one, other| {
            (one.priority, one.runner.name()).cmp(&(other.priority, other.runner.name()))
        });
        let names = candidates.iter().map(|candidate| candidate.runner.name().to_owned()).collect();
        Ok(Self { candidates: candidates.into(), names, cooldown: config::cooldown(config) })
    }
}

impl Selector {
    /// Validates `config`. `preferred` is the runner named on the command line; it is a candidate also when `config` does
    /// not list it. With `CommandVariant::Contract` the default runners are the contract's two, else all built-in ones.
    pub fn new(
        config: &RunnersConfig,
        preferred: Option<&str>,
        variant: CommandVariant,
    ) -> Result<Self, Error> {
        Ok(Self {
            configured: Mutex::new(Configured::new(config, preferred, variant)?),
            preferred: preferred.map(ToOwned::to_owned),
            variant,
            limited: Mutex::default(),
        })
    }

    /// Validates `config` and replaces the runners. Runs and cooldowns continue. After an error nothing has changed.
    pub fn replace(&self, config: &RunnersConfig) -> Result<(), Error> {
        let configured = Configured::new(config, self.preferred.as_deref(), self.variant)?;
        let mut current = lock(&self.configured);
        let names = std::mem::take(&mut current.names);
        *current = configured;
        current.names.extend(names);
        Ok(())
    }

    /// Returns the names of all runners since the start.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        lock(&self.configured).names.clone()
    }

    /// Returns all runners in the order of their priority.
    pub fn candidates(&self) -> Arc<[Candidate]> {
        lock(&self.configured).candidates.clone()
    }

    /// Returns the runners to try for an agent with this `model`, with this runner `named` in its own file, for a run at
    /// `permission`. `now` is the time that cooldowns are measured by. Searches the programs on the `PATH`.
    pub fn plan(
        &self,
        model: Option<&str>,
        named: Option<&str>,
        permission: Permission,
        now: Instant,
    ) -> Plan {
        self.plan_among(model, (named, permission), now, probe::find)
    }

    fn plan_among(
        &self,
        model: Option<&str>,
        named: (Option<&str>, Permission),
        now: Instant,
        find: impl Fn(&Runner, Option<&Path>) -> Option<PathBuf>,
    ) -> Plan {
        let mut plan = Plan { choices: Vec::new(), considered: Vec::new() };
        for (considered, choice) in self.consider(&self.candidates(), model, named, now, find) {
            plan.considered.push(considered);
            plan.choices.extend(choice);
        }
        plan
    }

    /// Returns the name of the runner that [`Self::plan`] would put first, without a search for the others. The error is
    /// the reason why there is none, as a sentence.
    pub(crate) fn first_runner(
        &self,
        model: Option<&str>,
        named: Option<&str>,
        permission: Permission,
        now: Instant,
    ) -> Result<String, String> {
        let mut plan = Plan { choices: Vec::new(), considered: Vec::new() };
        let named = (named, permission);
        for (considered, choice) in self.consider(&self.candidates(), model, named, now, probe::find) {
            if choice.is_some() {
                return Ok(considered.runner);
            }
            plan.considered.push(considered);
        }
        Err(plan.no_runner_reason().unwrap_or_default())
    }

    /// Considers every runner in the order in which they are tried; lazily, because every step searches a program. The
    /// list ends at a named runner that no other may replace: a custom runner that is unknown, and at `full` any runner
    /// that cannot be started, because it may be the only one that the user wants to have the agent's permission.
    fn consider<'a>(
        &'a self,
        candidates: &'a [Candidate],
        model: Option<&'a str>,
        (named, permission): (Option<&'a str>, Permission),
        now: Instant,
        find: impl Fn(&Runner, Option<&Path>) -> Option<PathBuf> + 'a,
    ) -> impl Iterator<Item = (Considered, Option<Choice>)> + 'a {
        let missing = named
            .filter(|name| !candidates.iter().any(|candidate| candidate.runner.name() == *name))
            .map(|name| (Considered { runner: name.to_owned(), eligibility: Eligibility::Unknown }, None));
        // The agent's own choice precedes the command line's, because it is the more specific one.
        let first = [named, self.preferred.as_deref()];
        let rank = move |candidate: &Candidate| {
            let name = Some(candidate.runner.name());
            first.iter().position(|wanted| *wanted == name).unwrap_or(first.len())
        };
        let mut order: Vec<&Candidate> = candidates.iter().collect();
        order.sort_by_key(|candidate| rank(candidate));
        let considered = order.into_iter().map(move |candidate| {
            let name = candidate.runner.name();
            let cooldown = self.cooldown_left(name, now);
            let found = find(&candidate.runner, candidate.program.as_deref());
            let mut choice = None;
            let eligibility = match (found, cooldown) {
                _ if !candidate.supports(model) => Eligibility::OtherModels(candidate.models.clone()),
                (None, _) => Eligibility::NotInstalled,
                (Some(_), Some(left)) => Eligibility::Limited(left),
                (Some(program), None) => {
                    let variant = self.variant_of(candidate);
                    choice = Some(Choice {
                        runner: candidate.runner.clone(),
                        program,
                        variant,
                        stall: candidate.stall,
                    });
                    if rank(candidate) < first.len() {
                        Eligibility::Named
                    } else {
                        Eligibility::Priority(candidate.priority)
                    }
                }
            };
            (Considered { runner: name.to_owned(), eligibility }, choice)
        });
        let mut is_over = false;
        missing.into_iter().chain(considered).map_while(move |(mut considered, choice)| {
            if is_over {
                return None;
            }
            if permission == Permission::Full && named == Some(&considered.runner) {
                considered.eligibility = match considered.eligibility {
                    Eligibility::NotInstalled => Eligibility::Irreplaceable("is not installed"),
                    Eligibility::Unknown if !considered.is_unknown() => {
                        Eligibility::Irreplaceable("is not configured")
                    }
                    other => other,
                };
            }
            is_over =
                considered.is_unknown() || matches!(considered.eligibility, Eligibility::Irreplaceable(_));
            Some((considered, choice))
        })
    }

    /// Returns the command variant of a candidate. The documented command line of Copilot allows every tool and path, so
    /// it is used only if the user named Copilot on the command line, and never as a fallback.
    fn variant_of(&self, candidate: &Candidate) -> CommandVariant {
        match (self.variant, &candidate.runner) {
            (CommandVariant::Contract, Runner::Codex) => CommandVariant::Contract,
            (CommandVariant::Contract, Runner::Copilot) if self.preferred.as_deref() == Some("copilot") => {
                CommandVariant::Contract
            }
            _ => CommandVariant::Native,
        }
    }

    /// Starts the cooldown of `runner`, which reached its usage limit, at `now`. `retry_after` is the time that it reported.
    pub(crate) fn mark_limited(&self, runner: &str, retry_after: Option<Duration>, now: Instant) {
        let cooldown = lock(&self.configured).cooldown;
        // A provider's header or a configuration may hold any number.
        let until = now + retry_after.unwrap_or(cooldown).min(MAX_COOLDOWN);
        let mut limited = lock(&self.limited);
        let end = limited.entry(runner.to_owned()).or_insert(until);
        *end = until.max(*end);
    }

    /// Ends all cooldowns: the user knows that the limits are over.
    pub(crate) fn forget_limits(&self) {
        lock(&self.limited).clear();
    }

    /// Returns how long the cooldown of `runner` still lasts at `now`.
    pub(crate) fn cooldown_left(&self, runner: &str, now: Instant) -> Option<Duration> {
        let limited = lock(&self.limited);
        limited.get(runner).and_then(|until| until.checked_duration_since(now)).filter(|left| !left.is_zero())
    }
}

impl Considered {
    /// Returns the eligibility as a sentence fragment.
    pub fn reason(&self) -> String {
        match &self.eligibility {
            Eligibility::Named => "it is named".to_owned(),
            Eligibility::Priority(priority) => format!("by its priority, {priority}"),
            Eligibility::OtherModels(models) => format!("runs {} only", models.join(", ")),
            Eligibility::NotInstalled => "is not installed".to_owned(),
            Eligibility::Limited(left) => {
                let until = timefmt::stamp(SystemTime::now() + *left);
                format!("is at its usage limit until {until} ({} from now)", timefmt::span(*left))
            }
            Eligibility::Unknown if self.is_unknown() => {
                "is not known here; if config.toml has it, `adjutant reload` or a restart of the hub reads it"
                    .to_owned()
            }
            Eligibility::Unknown => "is not configured".to_owned(),
            Eligibility::Irreplaceable(reason) => {
                format!("{reason}, and no other runner works with full permission in its place")
            }
        }
    }

    /// Returns whether it is a custom runner, or a misspelt one, that the configuration in force does not have.
    pub(crate) fn is_unknown(&self) -> bool {
        self.eligibility == Eligibility::Unknown && Runner::built_in(&self.runner).is_none()
    }

    /// Returns whether its usage limit is the only obstacle.
    pub(crate) fn is_limited(&self) -> bool {
        matches!(self.eligibility, Eligibility::Limited(_))
    }

    /// Returns whether the runner is tried.
    pub fn is_tried(&self) -> bool {
        matches!(self.eligibility, Eligibility::Named | Eligibility::Priority(_))
    }
}

impl Plan {
    /// Returns why the runner that an agent names is not tried, if a different runner is.
    pub(crate) fn substitution_reason(&self, named: &str) -> Option<String> {
        let first = self.choices.first()?.runner.name();
        let passed = self.considered.iter().find(|one| one.runner == named && !one.is_tried())?;
        Some(format!("the agent's runner `{named}` {}, so it went to {first}", passed.reason()))
    }

    /// Returns in one sentence why no runner can be tried; `None` if one can.
    pub(crate) fn no_runner_reason(&self) -> Option<String> {
        if !self.choices.is_empty() {
            return None;
        }
        let reason = |considered: &Considered| format!("{} {}", considered.runner, considered.reason());
        let reasons: Vec<String> = self.considered.iter().map(reason).collect();
        let limited = self.considered.iter().any(Considered::is_limited);
        let now = if limited {
            "; the user can try now, with `--now` of `adjutant delegate` or `tasks retry`"
        } else {
            ""
        };
        Some(format!("no runner can be tried: {}{now}", reasons.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use super::{Plan, Selector};
    use crate::definition::Permission;
    use crate::runner::{CommandVariant, Runner};
    use adjutant_base::config::runners::{RunnerEntry, RunnersConfig};

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

    #[expect(clippy::unnecessary_wraps, reason = "it replaces the search on the PATH")]
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
            let selector = Selector::new(&config, preferred, CommandVariant::Native).unwrap();
            order(&selector.plan_among(model, (named, Permission::ReadOnly), now, installed)).join(" ")
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
            // A built-in runner that is not configured is passed over; an unknown one may not be replaced.
            (None, None, Some("opencode"), "gemini codex copilot claude"),
            (None, None, Some("nobody"), ""),
        ] {
            assert_eq!(order_for(preferred, model, named), expected, "{preferred:?} {model:?} {named:?}");
        }
        assert!(
            Selector::new(&config, Some("copilto"), CommandVariant::Native)
                .unwrap_err()
                .to_string()
                .contains("copilot")
        );
    }

    #[test]
    fn a_missing_or_limited_runner_is_left_out_with_a_reason() {
        let selector =
            Selector::new(&config(&[("codex", 1, &[]), ("copilot", 2, &[])]), None, CommandVariant::Native)
                .unwrap();
        let now = Instant::now();
        let only_copilot =
            |runner: &Runner, _: Option<&std::path::Path>| (runner.name() == "copilot").then(PathBuf::new);
        let only_codex =
            |runner: &Runner, _: Option<&std::path::Path>| (runner.name() == "codex").then(PathBuf::new);
        assert_eq!(
            order(&selector.plan_among(None, (None, Permission::ReadOnly), now, only_codex)),
            ["codex"]
        );

        selector.mark_limited("codex", Some(Duration::from_mins(1)), now);
        // A later failure without a time makes the cooldown longer, never shorter.
        selector.mark_limited("codex", None, now);
        selector.mark_limited("codex", Some(Duration::from_secs(1)), now);
        let plan = selector.plan_among(None, (None, Permission::ReadOnly), now, only_codex);
        let reason = plan.no_runner_reason().unwrap();
        assert!(
            reason.starts_with("no runner can be tried: codex is at its usage limit until 2"),
            "{reason}"
        );
        let end = "Z (15 min from now); copilot is not installed; the user can try now, with `--now` of `adjutant delegate` or `tasks retry`";
        assert!(reason.ends_with(end), "{reason}");
        assert_eq!(
            order(&selector.plan_among(None, (None, Permission::ReadOnly), now, installed)),
            ["copilot"]
        );
        let instead = |named| {
            selector
                .plan_among(None, (Some(named), Permission::ReadOnly), now, installed)
                .substitution_reason(named)
        };
        let limited = instead("codex").unwrap();
        assert!(limited.starts_with("the agent's runner `codex` is at its usage limit until 2"), "{limited}");
        assert!(limited.ends_with("Z (15 min from now), so it went to copilot"), "{limited}");
        let missing = "the agent's runner `gemini` is not configured, so it went to copilot";
        assert_eq!(instead("gemini").as_deref(), Some(missing));
        let unknown = selector
            .plan_among(None, (Some("nobody"), Permission::ReadOnly), now, installed)
            .no_runner_reason()
            .unwrap();
        let reload =
            "no runner can be tried: nobody is not known here; if config.toml has it, `adjutant reload`";
        assert!(unknown.starts_with(reload), "{unknown}");
        // At `full`, nobody takes the place of the runner that the agent's file names.
        let full = |named| selector.plan_among(None, (Some(named), Permission::Full), now, only_copilot);
        for (named, reason) in [("codex", "is not installed"), ("gemini", "is not configured")] {
            let plan = full(named);
            let expected = format!(
                "no runner can be tried: {named} {reason}, and no other runner works with full permission in its place"
            );
            assert_eq!(plan.no_runner_reason().as_deref(), Some(expected.as_str()), "{plan:?}");
        }
        assert_eq!(order(&full("copilot")), ["copilot"]);
        // The reload.
        selector.replace(&config(&[("opencode", 1, &[]), ("copilot", 2, &[])])).unwrap();
        assert_eq!(
            order(&selector.plan_among(None, (None, Permission::ReadOnly), now, installed)),
            ["opencode", "copilot"]
        );
        assert!(selector.replace(&config(&[("nobody", 1, &[])])).is_err());
        selector.replace(&config(&[("codex", 1, &[]), ("copilot", 2, &[])])).unwrap();
        assert_eq!(
            order(&selector.plan_among(None, (None, Permission::ReadOnly), now, installed)),
            ["copilot"],
            "its cooldown goes on"
        );
        assert!(selector.names().contains("opencode"), "a task may wait for it");
        selector.forget_limits();
        assert_eq!(
            order(&selector.plan_among(None, (None, Permission::ReadOnly), now, installed)),
            ["codex", "copilot"]
        );
        selector.mark_limited("codex", Some(Duration::from_mins(15)), now);
        assert_eq!(instead("copilot"), None);
        let later = now + Duration::from_mins(15);
        assert_eq!(
            order(&selector.plan_among(None, (None, Permission::ReadOnly), later, installed)),
            ["codex", "copilot"]
        );
    }

    #[test]
    fn a_cooldown_is_at_most_a_month() {
        let forever =
            RunnersConfig { runner_cooldown_minutes: Some(u64::MAX), ..config(&[("codex", 1, &[])]) };
        let selector = Selector::new(&forever, None, CommandVariant::Native).unwrap();
        let now = Instant::now();
        let month = Some(Duration::from_hours(31 * 24));
        for retry_after in [None, Some(Duration::MAX)] {
            selector.mark_limited("codex", retry_after, now);
            assert_eq!(selector.cooldown_left("codex", now), month);
        }
    }

    #[test]
    fn the_documented_line_of_copilot_needs_the_users_choice() {
        let variants = |preferred: &str| {
            let selector =
                Selector::new(&RunnersConfig::default(), Some(preferred), CommandVariant::Contract).unwrap();
            let plan = selector.plan_among(None, (None, Permission::ReadOnly), Instant::now(), installed);
            plan.choices
                .iter()
                .map(|choice| (choice.runner.name().to_owned(), choice.variant))
                .collect::<Vec<_>>()
        };
        let named = |name: &str, form| (name.to_owned(), form);
        assert_eq!(
            variants("codex"),
            [named("codex", CommandVariant::Contract), named("copilot", CommandVariant::Native)]
        );
        assert_eq!(
            variants("copilot"),
            [named("copilot", CommandVariant::Contract), named("codex", CommandVariant::Contract)]
        );
        assert_eq!(variants("claude")[0], named("claude", CommandVariant::Native));
    }
}
