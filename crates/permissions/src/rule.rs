//! Approval rules: their conditions, and the requests that fulfil them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::command;
use crate::request::{Access, Request, is_shell};
use adjutant_base::text::timefmt::{instant, stamp};

adjutant_base::named_enum! {
    /// The decision of a rule.
    Verdict {
        Allow = "allow",
        /// The user is asked, although another rule allows it.
        Ask = "ask",
        Deny = "deny",
    }
}

/// The last word of a command that stands for any further words.
const ANY_WORDS: &str = "*";

/// One rule. Each condition that is set must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Unique among all rules.
    pub name: String,
    pub verdict: Verdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The client or its command works in this folder or below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// The tool, as the client names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The words of one simple command. A last word `*` stands for any further words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// This file, or what is in this folder; a rule that allows does not hold for hidden files in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// In milliseconds since 1970; the rule counts until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
}

impl Rule {
    /// Makes a rule without conditions.
    pub fn new(name: &str, verdict: Verdict) -> Self {
        Self {
            name: name.to_owned(),
            verdict,
            client: None,
            session: None,
            folder: None,
            tool: None,
            command: None,
            host: None,
            path: None,
            expires: None,
        }
    }

    /// Makes the narrowest rule for a request, without a name; `None` if no rule could decide it alone.
    pub fn narrowest(request: &Request, verdict: Verdict) -> Option<Self> {
        let mut rule = Self::new("", verdict);
        match request.access {
            _ if !request.is_understood => return None,
            Access::Run => {
                let [words] = &request.commands.as_ref()?[..] else { return None };
                rule.command =
                    Some(words.clone()).filter(|_| words.last().is_some_and(|last| last != ANY_WORDS));
                rule.command.as_ref()?;
                rule.folder = (!request.stays_inside()).then(|| request.works_in.clone());
            }
            Access::Fetch => rule.host = Some(request.host.clone()?),
            Access::Read | Access::List | Access::Write => {
                rule.tool = Some(request.tool.clone());
                rule.path = Some(request.paths.first()?.clone());
            }
            Access::Unknown => {
                rule.tool = Some(request.tool.clone());
                rule.client = Some(request.client.clone());
            }
        }
        Some(rule)
    }

    /// Parses the words of a rule's command, such as `git diff *`; `None` for a text that is not one simple command.
    pub fn words(text: &str) -> Option<Vec<String>> {
        let (text, any) = text.trim().strip_suffix(" *").map_or((text, false), |text| (text, true));
        let line = command::parse(text).filter(|line| line.folder.is_none())?;
        let [words] = <[Vec<String>; 1]>::try_from(line.commands).ok()?;
        // A `*` in quotes is a word like others, and at the end it would stand for any words.
        if !any && words.last().is_some_and(|last| last == ANY_WORDS) {
            return None;
        }
        Some(words.into_iter().chain(any.then(|| ANY_WORDS.to_owned())).collect())
    }

    /// Returns why this rule would allow more than it seems to say, as a sentence fragment; `None` for a sound rule.
    pub fn fault(&self) -> Option<&'static str> {
        if self.name.is_empty() {
            Some("it has no name")
        } else if self
            .command
            .as_ref()
            .is_some_and(|words| words.first().is_none_or(|word| word == ANY_WORDS))
        {
            Some("its command has no first word")
        } else if self.verdict != Verdict::Allow {
            None
        } else if self.tool.is_none() && self.command.is_none() && self.host.is_none() && self.path.is_none()
        {
            Some("a rule that allows needs a tool, a command, a host or a path")
        } else if self.command.is_none() && self.tool.as_deref().is_some_and(is_shell) {
            Some("a rule that allows a shell needs a command")
        } else {
            None
        }
    }

    /// Returns the conditions in words.
    pub fn summary(&self) -> String {
        let path = |path: &PathBuf| path.display().to_string();
        let parts = [
            ("command", self.command.as_ref().map(|words| line_of(words))),
            ("tool", self.tool.clone()),
            ("host", self.host.clone()),
            ("path", self.path.as_ref().map(path)),
            ("client", self.client.clone()),
            ("folder", self.folder.as_ref().map(path)),
            ("session", self.session.clone()),
            ("until", self.expires.map(|end| stamp(instant(end)))),
        ];
        let parts = parts.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?)));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// Returns whether the conditions other than the command hold. A narrow rule needs all paths, a broad one any path, also
    /// one that a word of the command may be.
    pub(crate) fn surrounds(&self, request: &Request, now: i64) -> bool {
        let same =
            |wanted: &Option<String>, given: &str| wanted.as_ref().is_none_or(|wanted| wanted == given);
        let any = |root: &Path| request.all_paths().any(|path| path.starts_with(root));
        let all = |root: &Path| request.paths.iter().all(|path| path.starts_with(root));
        let is_narrow = self.verdict == Verdict::Allow;
        let in_folder = self.folder.as_ref().is_none_or(|folder| {
            let works_there = request.works_in.starts_with(folder);
            if is_narrow {
                // Of a tool that the hub does not know, any word may be a path that the tool uses.
                let may_leave = request.access == Access::Unknown
                    && request.named_paths.iter().any(|path| !path.starts_with(folder));
                works_there && all(folder) && !may_leave
            } else {
                works_there || request.folder.starts_with(folder) || any(folder)
            }
        });
        let at_host = self.host.as_ref().is_none_or(|host| {
            if is_narrow { request.host.as_ref() == Some(host) } else { request.named_hosts.contains(host) }
        });
        // A program may run a hidden file, such as a hook of Git, so a folder alone does not allow it.
        let is_hidden = |path: &PathBuf, root: &Path| {
            let inside = path.strip_prefix(root).unwrap_or(path);
            inside.iter().any(|part| part.as_encoded_bytes().starts_with(b"."))
        };
        let at_path = self.path.as_ref().is_none_or(|root| {
            if is_narrow {
                let is_open = |path| !is_hidden(path, root);
                !request.paths.is_empty() && all(root) && request.paths.iter().all(is_open)
            } else {
                any(root)
            }
        });
        same(&self.client, &request.client)
            && same(&self.session, &request.session)
            && same(&self.tool, &request.tool)
            && at_host
            && self.expires.is_none_or(|end| now < end)
            && in_folder
            && at_path
    }

    /// Returns whether the rule allows exactly this simple command.
    pub(crate) fn allows_command(&self, given: &[String]) -> bool {
        let Some(words) = &self.command else { return false };
        match words.split_last() {
            Some((last, head)) if last == ANY_WORDS => given.starts_with(head),
            _ => given == words,
        }
    }

    /// Returns whether the words of the rule occur in these, in their order; a program counts with and without its folder.
    pub(crate) fn catches_command(&self, given: &[String]) -> bool {
        let Some(words) = &self.command else { return true };
        let mut given = given.iter();
        words.iter().filter(|word| *word != ANY_WORDS).enumerate().all(|(number, word)| {
            given.any(|other| if number == 0 { program(other) == program(word) } else { other == word })
        })
    }
}

/// Returns words as a shell line, with quotes where a shell would read another word.
fn line_of(words: &[String]) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-./:,@%+=".contains(letter);
    let quoted = words.iter().enumerate().map(|(number, word)| {
        let stands_for_any = word == ANY_WORDS && number + 1 == words.len();
        if stands_for_any || !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Returns a program's name without its folder.
pub(crate) fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}
