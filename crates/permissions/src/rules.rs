//! All rules, and the decision of a request by them.
//!
//! The precedence is: deny, then ask, then allow, then a question. The order of rules means nothing.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::request::{Access, Allowable, Request};
use crate::rule::{Rule, Verdict, program};
use crate::secrets::{is_secret, is_secret_file};

/// The default rules in the order of lists, each with its name, verdict and sentence.
const DEFAULTS: &[(&str, Verdict, &str)] = &[
    (
        "default: secrets",
        Verdict::Ask,
        "a call that names keys, logins or `.env` files is asked, even if another rule allows it",
    ),
    (
        "default: read",
        Verdict::Allow,
        "read files and list names in the folder that the client works in, except for hidden ones",
    ),
    (
        "default: harmless commands",
        Verdict::Allow,
        "the commands `pwd`, `ls`, `ls -l`, `ls -a`, `ls -la`, `date`, `whoami` and `uname -a`",
    ),
];

/// Default rules that ask although others allow a call, because of how the client sent it.
const PLAN: (&str, Verdict, &str) = (
    "default: plan",
    Verdict::Ask,
    "in a client's plan mode, a call that does not only read is asked, even if another rule allows it",
);
const TWICE: (&str, Verdict, &str) = (
    "default: twice",
    Verdict::Ask,
    "a call with an argument that is given twice is asked, even if another rule allows it",
);

/// The commands of `default: harmless commands`. They read no contents and, unlike `git`, no configuration of a
/// workspace.
const LOOKS: &[&[&str]] = &[
    &["pwd"],
    &["ls"],
    &["ls", "-l"],
    &["ls", "-a"],
    &["ls", "-la"],
    &["date"],
    &["whoami"],
    &["uname", "-a"],
];

/// The decision of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub verdict: Verdict,
    /// The rules that decided; empty if no rule matches, so that the user is asked.
    pub rules: Vec<String>,
}

/// The rules of a hub, indexed by the first word of their command, else by their tool, path or host.
#[derive(Debug, Default)]
pub struct Rules {
    all: Vec<Rule>,
    by_program: HashMap<String, Vec<usize>>,
    by_tool: HashMap<String, Vec<usize>>,
    by_path: HashMap<PathBuf, Vec<usize>>,
    by_host: HashMap<String, Vec<usize>>,
    others: Vec<usize>,
    /// The hub's folder, which holds the rules themselves.
    home: Option<PathBuf>,
}

impl Rules {
    /// Makes the index. Rules with a fault are left out, because they would decide too much.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        let mut index = Self::default();
        for rule in rules.into_iter().filter(|rule| rule.fault().is_none()) {
            let number = index.all.len();
            if let Some(first) = rule.command.as_ref().and_then(|words| words.first()) {
                index.by_program.entry(program(first).to_owned()).or_default().push(number);
            } else if let Some(tool) = &rule.tool {
                index.by_tool.entry(tool.clone()).or_default().push(number);
            } else if let Some(path) = &rule.path {
                index.by_path.entry(path.clone()).or_default().push(number);
            } else if let Some(host) = &rule.host {
                index.by_host.entry(host.clone()).or_default().push(number);
            } else {
                index.others.push(number);
            }
            index.all.push(rule);
        }
        index
    }

    /// Adds the hub's folder: a request that names a file in it is asked.
    pub fn with_home(self, home: Option<PathBuf>) -> Self {
        Self { home, ..self }
    }

    /// Returns the rules, without the default ones.
    pub fn all(&self) -> &[Rule] {
        &self.all
    }

    /// Returns the default rules: name, verdict and sentence.
    pub fn defaults() -> impl Iterator<Item = (&'static str, Verdict, &'static str)> {
        DEFAULTS.iter().copied().chain([PLAN, TWICE])
    }

    /// Decides a request at an instant, in milliseconds since 1970.
    pub fn decide(&self, request: &Request, now: i64) -> Decision {
        let mut candidates: BTreeSet<usize> = self.others.iter().copied().collect();
        candidates.extend(self.by_tool.get(&request.tool).into_iter().flatten());
        let programs: BTreeSet<&str> = request.words.iter().map(|word| program(word)).collect();
        candidates.extend(programs.iter().filter_map(|program| self.by_program.get(*program)).flatten());
        let paths: BTreeSet<&Path> = request.all_paths().flat_map(|path| path.ancestors()).collect();
        candidates.extend(paths.iter().filter_map(|path| self.by_path.get(*path)).flatten());
        candidates.extend(request.named_hosts.iter().filter_map(|host| self.by_host.get(host)).flatten());
        let matching: Vec<&Rule> = candidates
            .iter()
            .map(|number| &self.all[*number])
            .filter(|rule| rule.surrounds(request, now))
            .collect();
        let caught = |verdict: Verdict| -> Vec<String> {
            let catches = |rule: &&&Rule| {
                rule.verdict == verdict
                    && (rule.command.is_none()
                        || request.rough.iter().any(|words| rule.catches_command(words)))
            };
            matching.iter().filter(catches).map(|rule| rule.name.clone()).collect()
        };
        let denied = caught(Verdict::Deny);
        if !denied.is_empty() {
            return Decision { verdict: Verdict::Deny, rules: denied };
        }
        let mut asked = caught(Verdict::Ask);
        if self.names_secret(request) {
            asked.push(DEFAULTS[0].0.to_owned());
        }
        if !asked.is_empty() {
            return Decision { verdict: Verdict::Ask, rules: asked };
        }
        let Some(rules) = allowing(request, &matching) else {
            return Decision { verdict: Verdict::Ask, rules: Vec::new() };
        };
        let held_by = match request.allowable {
            Allowable::Nothing => Some(TWICE),
            Allowable::Reads if !matches!(request.access, Access::Read | Access::List) => Some(PLAN),
            Allowable::All | Allowable::Reads => None,
        };
        match held_by {
            Some((name, verdict, _)) => Decision { verdict, rules: vec![name.to_owned()] },
            None => Decision { verdict: Verdict::Allow, rules },
        }
    }
}

impl Rules {
    /// Returns whether a path, the folder, a word of the command or an argument of an unknown tool names a secret.
    fn names_secret(&self, request: &Request) -> bool {
        let in_home = |path: &Path| self.home.as_ref().is_some_and(|home| path.starts_with(home));
        let mut paths = request.all_paths().chain([&request.folder, &request.works_in]);
        paths.any(|path| in_home(path) || is_secret(&path.to_string_lossy()))
            || request.paths.iter().any(|path| is_secret_file(path))
            || request.words.iter().any(|word| is_secret(word))
    }
}

/// Returns the rules that allow the whole request; `None` if a part of it is not allowed, or is not understood.
fn allowing(request: &Request, matching: &[&Rule]) -> Option<Vec<String>> {
    if !request.is_understood {
        return None;
    }
    let allowing: Vec<&&Rule> = matching.iter().filter(|rule| rule.verdict == Verdict::Allow).collect();
    if request.access == Access::Run {
        let mut names = BTreeSet::new();
        // Without a folder, a rule is for the folder that the client works in.
        let is_inside = request.stays_inside();
        let allows = |rule: &Rule, words: &[String]| {
            (is_inside || rule.folder.is_some()) && rule.allows_command(words)
        };
        for words in request.commands.as_ref()? {
            let rule = allowing.iter().find(|rule| allows(rule, words)).map(|rule| rule.name.as_str());
            let looks = is_inside && LOOKS.iter().any(|look| look.iter().eq(words));
            names.insert(rule.or(looks.then_some(DEFAULTS[2].0))?);
        }
        return Some(names.into_iter().map(str::to_owned).collect());
    }
    if let Some(rule) = allowing.iter().find(|rule| rule.command.is_none()) {
        return Some(vec![rule.name.clone()]);
    }
    // A hidden file may be a setting with a login, most of all where the folder is the user's home.
    let is_open = |path: &Path| {
        let inside = path.strip_prefix(&request.folder).ok();
        inside.is_some_and(|inside| inside.iter().all(|part| !part.to_string_lossy().starts_with('.')))
    };
    let reads = matches!(request.access, Access::Read | Access::List)
        && request.folder.parent().is_some()
        && !request.paths.is_empty()
        && request.paths.iter().all(|path| is_open(path));
    reads.then(|| vec![DEFAULTS[1].0.to_owned()])
}
