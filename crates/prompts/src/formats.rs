//! The prompt files of other programs: how each is recognized, read into a [`Draft`], and written.
//!
//! This module has no I/O: `import` and `export` find and write the files. Bodies are kept as they are: a shell splice
//! stays text, and no part of a foreign file is ever run.

mod argument_hint;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod fabric;
mod gemini;
mod native;
mod opencode;
pub mod placeholders;

use placeholders::{Place, Slot};
use serde_json::{Map, Value};

use crate::{Argument, ArgumentType, Engine, Prompt};
use adjutant_base::text::front_matter;
use adjutant_base::text::suggest::to_valid_name;

adjutant_base::named_enum! {
    /// A kind of foreign prompt file.
    Format {
        /// `.claude/commands/**/*.md`.
        Claude = "claude",
        /// `.claude/skills/NAME/SKILL.md`, and the same below `.agents/skills`.
        ClaudeSkill = "claude-skill",
        /// `.codex/prompts/*.md`, as Codex read them up to 0.116.
        Codex = "codex",
        /// `.github/prompts/*.prompt.md`.
        Copilot = "copilot",
        /// `.cursor/commands/*.md`.
        Cursor = "cursor",
        /// `patterns/NAME/system.md`.
        Fabric = "fabric",
        /// `.gemini/commands/**/*.toml`.
        Gemini = "gemini",
        /// `.opencode/command/**/*.md`.
        Opencode = "opencode",
    }
}

impl Format {
    /// Returns the name of a file of this format, for users.
    pub fn label(self) -> &'static str {
        match self {
            Self::Claude => "Claude command",
            Self::ClaudeSkill => "Claude skill",
            Self::Codex => "Codex prompt",
            Self::Copilot => "Copilot prompt",
            Self::Cursor => "Cursor command",
            Self::Fabric => "fabric pattern",
            Self::Gemini => "Gemini command",
            Self::Opencode => "command of opencode",
        }
    }

    /// Returns the folders below a workspace or a home with such files; an export goes to the first.
    pub fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &[".claude/commands"],
            Self::ClaudeSkill => &[".claude/skills", ".agents/skills"],
            Self::Codex => &[".codex/prompts"],
            Self::Copilot => &[".github/prompts"],
            Self::Cursor => &[".cursor/commands"],
            Self::Fabric => &["patterns"],
            Self::Gemini => &[".gemini/commands"],
            Self::Opencode => &[
                ".opencode/command",
                ".opencode/commands",
                ".config/opencode/command",
                ".config/opencode/commands",
            ],
        }
    }

    /// Returns the folders of a repository that publishes such files, below its root. `*` is any folder; below
    /// `plugins` its name belongs to the names of the files.
    pub(crate) fn published(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["commands", "prompts", "plugins/*/commands", "*/components/commands"],
            Self::ClaudeSkill => &["skills", "plugins/*/skills", "*/components/skills"],
            Self::Copilot => &["prompts"],
            Self::Fabric => &["data/patterns"],
            Self::Gemini => &["commands"],
            Self::Opencode => &["command"],
            Self::Codex | Self::Cursor => &[],
        }
    }

    /// Returns the end of the name of a file of this format; the part before it is the prompt's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Claude | Self::Codex | Self::Cursor | Self::Opencode => ".md",
            Self::Copilot => ".prompt.md",
            Self::ClaudeSkill => "/SKILL.md",
            Self::Fabric => "/system.md",
            Self::Gemini => ".toml",
        }
    }

    /// Returns whether subfolders become part of a name.
    pub(crate) fn nested(self) -> bool {
        match self {
            Self::Claude | Self::Cursor | Self::Gemini | Self::Opencode => true,
            Self::ClaudeSkill | Self::Codex | Self::Copilot | Self::Fabric => false,
        }
    }
}

/// A foreign file, read from disk and not understood yet.
#[derive(Clone, Debug)]
pub struct Foreign {
    /// The name that its path gives it, `/` for subfolders; not yet the name of a prompt.
    pub name: String,
    pub text: String,
    /// The text of a second file that belongs to it: fabric's `user.md`.
    pub second: Option<String>,
}

/// An imported prompt before it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub name: String,
    pub description: String,
    pub arguments: Vec<Argument>,
    pub engine: Engine,
    pub body: String,
    /// Parts of the file that a prompt cannot express, a sentence fragment each.
    pub notes: Vec<String>,
}

impl Draft {
    /// Returns the text of the prompt file.
    pub fn text(&self) -> String {
        native::write(self)
    }
}

/// A foreign file made from a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    pub text: String,
    /// Parts of the prompt that the format cannot express, a sentence fragment each.
    pub notes: Vec<String>,
}

/// Reads a foreign file into a draft. The error is a sentence fragment.
pub fn read(format: Format, foreign: &Foreign) -> Result<Draft, String> {
    let name = to_valid_name(&foreign.name);
    if name.is_empty() {
        return Err(format!("its name `{}` has no letter or digit to make a prompt name of", foreign.name));
    }
    let mut draft = match format {
        Format::Claude => claude::read_command(foreign)?,
        Format::Opencode => claude::read_opencode(foreign)?,
        Format::ClaudeSkill => claude::read_skill(foreign)?,
        Format::Codex => codex::read(foreign)?,
        Format::Copilot => copilot::read(foreign)?,
        Format::Cursor => cursor::read(foreign),
        Format::Fabric => fabric::read(foreign),
        Format::Gemini => gemini::read(foreign)?,
    };
    if draft.body.is_empty() {
        return Err("it has no text besides its front matter".to_owned());
    }
    if name != foreign.name {
        draft.notes.insert(0, format!("its name `{}` becomes `{name}`", foreign.name));
    }
    draft.name = name;
    if draft.description.is_empty() {
        draft.description = native::derived_description(&draft.body);
    }
    Ok(draft)
}

/// Returns whether a TOML file is a command of Gemini CLI.
pub(crate) fn is_gemini_command(text: &str) -> bool {
    gemini::command(text).is_ok()
}

/// Writes a prompt as a foreign file called `name` there. The error is a sentence fragment.
pub fn write(format: Format, prompt: &Prompt, name: &str) -> Result<Exported, String> {
    if prompt.engine == Engine::Jinja {
        return Err(format!("it uses the jinja engine, which a {} cannot express", format.label()));
    }
    let mut notes = Vec::new();
    let text = match format {
        Format::Claude => claude::write_command(prompt, &mut notes),
        Format::ClaudeSkill => claude::write_skill(prompt, name, &mut notes),
        Format::Codex => codex::write(prompt, &mut notes),
        Format::Copilot => copilot::write(prompt, &mut notes),
        Format::Cursor => cursor::write(prompt, &mut notes),
        Format::Fabric => fabric::write(prompt, &mut notes),
        Format::Gemini => gemini::write(prompt, &mut notes),
        Format::Opencode => opencode::write(prompt, &mut notes),
    };
    if !prompt.aliases.is_empty() {
        notes.push(format!("aliases are left out: {}", prompt.aliases.join(", ")));
    }
    let checked = prompt.arguments.iter().filter(|argument| {
        argument.kind != ArgumentType::String || !argument.choices.is_empty() || argument.pattern.is_some()
    });
    let checked: Vec<&str> = checked.map(|argument| argument.name.as_str()).collect();
    if !checked.is_empty() {
        notes.push(format!("types, choices and patterns are left out: {}", checked.join(", ")));
    }
    Ok(Exported { text, notes })
}

/// The front matter and the body of a foreign file.
struct Head<'a> {
    fields: Map<String, Value>,
    body: &'a str,
    notes: Vec<String>,
}

impl<'a> Head<'a> {
    /// Splits a file into front matter, read leniently, and the trimmed body. The error says why it is refused.
    fn read(text: &'a str) -> Result<Self, String> {
        let parsed = front_matter::parse(text)?;
        let notes = parsed
            .invalid
            .map(|reason| format!("its front matter is not valid YAML and was read line by line ({reason})"));
        Ok(Self { fields: parsed.values, body: parsed.body, notes: notes.into_iter().collect() })
    }

    /// Reads a file as text alone.
    fn without_front_matter(text: &'a str) -> Self {
        Self { fields: Map::new(), body: text.trim_start_matches('\u{feff}').trim(), notes: Vec::new() }
    }

    /// Takes a field as one line of text, of any YAML type.
    fn take(&mut self, key: &str) -> Option<String> {
        let text = match self.fields.shift_remove(key)? {
            Value::String(text) => text,
            // `[topic]` was meant as a hint and not as a list: YAML cannot know.
            Value::Array(items) => {
                let items =
                    items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned));
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            Value::Null => return None,
            other => other.to_string(),
        };
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (!line.is_empty()).then_some(line)
    }

    /// Returns the notes, with one that names the fields that were not taken.
    fn notes(mut self) -> Vec<String> {
        let left: Vec<&str> = self.fields.keys().map(String::as_str).collect();
        if !left.is_empty() {
            self.notes.push(format!("not carried over: {}", left.join(", ")));
        }
        self.notes
    }
}

/// Drops the places that the program of the file does not know.
fn keep_known(places: &mut Vec<Place>, notes: &mut Vec<String>, known: impl Fn(&Slot) -> bool) {
    let all = places.len();
    places.retain(|place| known(&place.slot));
    // One place that it does know brings the engine that knows all of them.
    if !places.is_empty() && places.len() < all {
        notes.push("a `$…` that is text in the original is a placeholder here".to_owned());
    }
}

/// Returns the engine for a body of a program that knows `$` places only.
fn engine(places: &[Place], body: &str) -> Engine {
    // `{{input}}` is text there, and must not become a place here.
    if places.is_empty() && !body.contains("{{input}}") { Engine::Literal } else { Engine::Args }
}

/// Returns the text of a `SKILL.md` with nothing but what the Agent Skills specification asks for.
pub(crate) fn skill_document(name: &str, description: &str, body: &str) -> String {
    native::document(&[("name", name), ("description", description)], body)
}

/// Adds a note once.
fn note(notes: &mut Vec<String>, text: String) {
    if !notes.contains(&text) {
        notes.push(text);
    }
}

#[cfg(test)]
mod tests;
