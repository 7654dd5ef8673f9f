//! A permission request: one call of a tool, for which a client asks its user.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::command;

adjutant_base::named_enum! {
    /// The effect of a tool.
    Access {
        /// Reads files that it names.
        Read = "read",
        /// Lists names of files.
        List = "list",
        Write = "write",
        /// Runs a shell line.
        Run = "run",
        /// Fetches an address.
        Fetch = "fetch",
        /// The hub does not know it.
        Unknown = "unknown",
    }
}

/// The part of a call that rules may allow; all else is a question to the user. Rules that deny count for every call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allowable {
    #[default]
    All,
    /// Reading alone: the client is in plan mode, in which it changes nothing.
    Reads,
    /// Nothing: an argument is given twice, and its readers may differ.
    Nothing,
}

/// Maximum paths in the words of a command that are resolved. A command with more is not understood.
const MAX_RESOLVED_PATHS: usize = 512;

/// A tool: its clients and names, the members with the command, path or address, and members that widen nothing.
struct Tool {
    access: Access,
    /// Pairs of a client and its name of the tool: Claude Code 2.1.329, Codex 0.169.0, Copilot CLI 1.0.102, Gemini CLI
    /// 0.61.0 and opencode 1.18.33.
    names: &'static [(&'static str, &'static str)],
    subjects: &'static [&'static str],
    others: &'static [&'static str],
}

const TOOLS: &[Tool] = &[
    Tool {
        access: Access::Run,
        names: &[
            ("claude", "Bash"),
            ("codex", "Bash"),
            ("copilot", "bash"),
            ("gemini", "run_shell_command"),
            ("opencode", "bash"),
        ],
        subjects: &["command"],
        others: &["description", "timeout", "initial_wait", "mode", "run_in_background", "workdir"],
    },
    Tool {
        access: Access::Read,
        names: &[("claude", "Read"), ("copilot", "view"), ("gemini", "read_file"), ("opencode", "read")],
        subjects: &["file_path", "path", "absolute_path", "filePath"],
        others: &["offset", "limit", "pages", "view_range", "start_line", "end_line"],
    },
    Tool {
        access: Access::List,
        names: &[
            ("claude", "Glob"),
            ("claude", "LS"),
            ("copilot", "glob"),
            ("gemini", "list_directory"),
            ("opencode", "glob"),
        ],
        subjects: &["path", "dir_path", "pattern"],
        others: &[],
    },
    Tool {
        access: Access::Write,
        names: &[
            ("claude", "Write"),
            ("claude", "Edit"),
            ("copilot", "create"),
            ("copilot", "edit"),
            ("gemini", "write_file"),
            ("gemini", "replace"),
            ("opencode", "edit"),
            ("opencode", "write"),
        ],
        subjects: &["file_path", "path", "filePath"],
        others: &[
            "content",
            "old_string",
            "new_string",
            "replace_all",
            "file_text",
            "old_str",
            "new_str",
            "instruction",
            "expected_replacements",
            "diff",
            "oldString",
            "newString",
            "replaceAll",
        ],
    },
    Tool {
        access: Access::Fetch,
        names: &[("claude", "WebFetch"), ("copilot", "web_fetch"), ("opencode", "webfetch")],
        subjects: &["url"],
        others: &["prompt", "format", "max_length", "raw", "timeout"],
    },
];

/// Returns whether a client's tool for shell lines has this name.
pub(crate) fn is_shell(tool: &str) -> bool {
    TOOLS.iter().any(|known| known.access == Access::Run && known.names.iter().any(|(_, name)| *name == tool))
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The client's name in the configuration, such as `claude`.
    pub client: String,
    /// The client's session, as it names it.
    pub session: String,
    /// The folder that the client works in, absolute and without links.
    pub folder: PathBuf,
    /// The folder that the command runs in, without links: after `cd`, a folder other than `folder`.
    pub works_in: PathBuf,
    /// The tool, as the client names it.
    pub tool: String,
    pub arguments: Map<String, Value>,
    pub access: Access,
    /// The files and folders that it names, absolute and without links.
    pub paths: Vec<PathBuf>,
    /// The host of the address that it fetches, in lower case.
    pub host: Option<String>,
    /// The shell line that it runs.
    pub line: Option<String>,
    /// The commands of the line; `None` if the line is not understood.
    pub(crate) commands: Option<Vec<Vec<String>>>,
    /// The rough commands of the line, see [`command::rough`].
    pub(crate) rough: Vec<Vec<String>>,
    /// The words of the line, or of the arguments of an unknown tool.
    pub(crate) words: BTreeSet<String>,
    /// The paths that these words would be, without links.
    pub(crate) named_paths: Vec<PathBuf>,
    /// Parts of these words or of the address that look like hosts.
    pub(crate) named_hosts: BTreeSet<String>,
    /// Whether the hub knows what each argument means.
    pub(crate) is_understood: bool,
    pub(crate) allowable: Allowable,
}

impl Request {
    /// Makes a request from the call of a client. `resolve` makes an absolute path without links from a folder and a
    /// path in it.
    pub fn new(
        (client, session): (&str, &str),
        folder: &Path,
        tool: &str,
        arguments: Map<String, Value>,
        resolve: impl Fn(&Path, &str) -> PathBuf,
    ) -> Self {
        let named = folder;
        let folder = resolve(Path::new("/"), &named.to_string_lossy());
        let known = TOOLS.iter().find(|known| known.names.contains(&(client, tool)));
        let (access, subjects, others) = known.map_or((Access::Unknown, &[][..], &[][..]), |known| {
            (known.access, known.subjects, known.others)
        });
        let text = |name: &&str| arguments.get(*name).and_then(Value::as_str).map(str::to_owned);
        let found: Vec<String> = subjects.iter().filter_map(text).collect();
        // A folder is optional for lists. A pattern must not leave it, and one with alternatives or escapes may name anything.
        let pattern = text(&"pattern").filter(|_| access == Access::List).unwrap_or_default();
        let leaves = pattern.starts_with('~')
            || pattern.contains(['{', '[', '(', '\\'])
            || pattern.split('/').enumerate().any(|(number, part)| {
                part.starts_with('.') || (part.is_empty() && number == 0 && !pattern.is_empty())
            });
        // An unknown tool with the argument `command` may be a shell, so its value is read as a shell line.
        let line = text(&"command").filter(|_| access == Access::Unknown);
        let names_files = matches!(access, Access::Read | Access::List | Access::Write);
        let is_known = |(name, value): (&String, &Value)| {
            let is_subject = |text: &str| !names_files || is_plain(text);
            others.contains(&name.as_str())
                || subjects.contains(&name.as_str()) && value.as_str().is_some_and(is_subject)
        };
        let expected = access == Access::List || found.len() == 1;
        let mut request = Self {
            client: client.to_owned(),
            session: session.to_owned(),
            tool: tool.to_owned(),
            access,
            paths: Vec::new(),
            host: None,
            line: None,
            commands: None,
            rough: Vec::new(),
            words: BTreeSet::new(),
            named_paths: Vec::new(),
            named_hosts: BTreeSet::new(),
            is_understood: match access {
                Access::Unknown => line.is_none(),
                _ => expected && !leaves && arguments.iter().all(is_known),
            },
            works_in: folder.clone(),
            folder,
            arguments,
            allowable: Allowable::All,
        };
        match access {
            Access::Run => {
                if let Some(folder) = request.arguments.get("workdir") {
                    let folder = folder.as_str().unwrap_or_default();
                    request.works_in = resolve(&request.folder, folder);
                    // A link could lead elsewhere by the time that the command runs.
                    request.is_understood &= !folder.is_empty()
                        && is_plain(folder)
                        && request.works_in == lexical(&request.folder, folder);
                }
                request.line = found.first().cloned();
                let line = request.line.as_deref().and_then(command::parse);
                request.commands = line.and_then(|line| {
                    if let Some(word) = line.folder {
                        // A link could lead elsewhere by the time that the command runs.
                        let full = lexical(named, &word);
                        let full = full.strip_prefix(named).map_or_else(
                            |_| full.clone(),
                            |inside| lexical(&request.folder, &inside.to_string_lossy()),
                        );
                        let from = request.works_in.clone();
                        request.works_in = resolve(&from, &word);
                        (request.works_in == full && from == request.folder).then_some(())?;
                    }
                    Some(line.commands)
                });
            }
            Access::Read | Access::Write => {
                request.paths = found.iter().map(|path| resolve(&request.folder, path)).collect();
            }
            Access::List => {
                let path =
                    ["path", "dir_path"].iter().find_map(|name| request.arguments.get(*name)?.as_str());
                let folder = resolve(&request.folder, path.unwrap_or("."));
                let named: Vec<&str> =
                    pattern.split('/').take_while(|part| !part.contains(['*', '?'])).collect();
                request.paths = vec![resolve(&folder, &named.join("/"))];
            }
            Access::Fetch => {
                request.host = found.first().and_then(|url| host(url));
                // A rule for the host could not see it.
                request.is_understood &= request.host.is_some();
            }
            Access::Unknown => request.line = line,
        }
        request.look_for_names(found.first().map_or("", String::as_str), resolve);
        request
    }

    /// Fills what a rule that asks or denies looks at: it may see more than there is.
    fn look_for_names(&mut self, subject: &str, resolve: impl Fn(&Path, &str) -> PathBuf) {
        self.rough = self.line.as_deref().map(command::rough).unwrap_or_default();
        self.words = self.rough.iter().flatten().cloned().collect();
        if self.access == Access::Unknown {
            let arguments = serde_json::to_string(&self.arguments).unwrap_or_default();
            let words = arguments.split(|letter: char| letter.is_whitespace() || "\"'\\".contains(letter));
            self.words.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
        }
        // An option may hold a path, and an address may be one.
        let paths = self.words.iter().flat_map(|word| {
            let value = word.split_once('=').map(|(_, value)| value);
            let glued = word.strip_prefix('-').and_then(|option| option.get(1..));
            [Some(word.as_str()), value, glued, word.strip_prefix("file://")].into_iter().flatten()
        });
        let paths = paths.filter(|path| !path.starts_with('-')).enumerate().map(|(number, path)| {
            let is_few = number < MAX_RESOLVED_PATHS;
            if is_few { resolve(&self.works_in, path) } else { lexical(&self.works_in, path) }
        });
        self.named_paths = paths.collect();
        self.is_understood &= self.access != Access::Run || self.named_paths.len() <= MAX_RESOLVED_PATHS;
        let address = (self.access == Access::Fetch).then_some(subject);
        let hosts = self.words.iter().map(String::as_str).chain(address);
        let hosts = hosts.flat_map(|text| text.split(|letter: char| !is_host(letter)));
        let hosts = hosts.map(|host| host.trim_end_matches('.').to_ascii_lowercase());
        self.named_hosts = hosts.filter(|host| !host.is_empty()).collect();
    }
}

impl Request {
    /// Sets what rules may allow of it.
    pub fn with_allowable(self, allowable: Allowable) -> Self {
        Self { allowable, ..self }
    }

    /// Returns whether its command runs in the folder that the client works in, or below it.
    pub(crate) fn stays_inside(&self) -> bool {
        self.works_in.starts_with(&self.folder)
    }

    /// Returns the paths that it names or may name.
    pub(crate) fn all_paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.paths.iter().chain(&self.named_paths)
    }

    /// Returns what it acts on, in one line: the command, the paths, the host or the tool.
    pub fn subject(&self) -> String {
        let paths = || self.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
        match (&self.line, &self.host) {
            (Some(line), _) => line.clone(),
            (None, Some(host)) => host.clone(),
            (None, None) if self.paths.is_empty() => self.tool.clone(),
            (None, None) => paths(),
        }
    }
}

/// Returns whether each client reads a path as it is: Claude Code removes the white space around it.
fn is_plain(path: &str) -> bool {
    let is_blank = |letter: char| letter.is_whitespace() || letter == '\u{feff}';
    !path.starts_with(is_blank) && !path.ends_with(is_blank) && !path.contains(char::is_control)
}

/// Joins a path to its folder, and removes `.` and `..` without a look at the disk.
pub(crate) fn lexical(folder: &Path, path: &str) -> PathBuf {
    let mut joined = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir => drop(joined.pop()),
            Component::CurDir => {}
            part => joined.push(part),
        }
    }
    joined
}

/// Returns whether a letter may be part of a host's name.
fn is_host(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-')
}

/// Returns the host of a plain `https` address; `None` for any other text.
fn host(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    let host = host.strip_suffix('.').unwrap_or(host);
    // `127.1` and `0x7f000001` are other names of one address, which a rule for `127.0.0.1` would not see.
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.starts_with(|letter: char| letter.is_ascii_digit());
    let is_usual = !is_number || host.parse::<Ipv4Addr>().is_ok_and(|address| address.to_string() == host);
    (is_usual && !host.is_empty() && host.chars().all(is_host)).then(|| host.to_ascii_lowercase())
}
