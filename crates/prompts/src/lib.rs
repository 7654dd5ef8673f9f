//! Prompt commands: Markdown files that become full prompts (`:research topic`).
//!
//! [`Prompts`] is the entry point. It finds the files below its roots, keeps what it parsed, notices
//! changes on disk, and expands a prompt by name. A name is looked up in the index of what was found; it is
//! never joined to a path.

mod arguments;
mod bundled;
mod catalogue;
mod expand;
pub mod export;
pub mod formats;
pub mod import;
pub mod lint;
mod loader;
pub mod mentions;
pub mod parse;
mod search;
pub mod skills;
mod template;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use adjutant_base::config::folders::{Limits, Root};
use adjutant_base::config::prompts::PromptsConfig;
use adjutant_base::text::suggest::near_hint;
use adjutant_host::file_catalogue::FileCatalogue;
pub use adjutant_host::file_catalogue::{Problem, Source};

pub use bundled::bundled_text;
use loader::PromptFiles;
pub use search::Search;
use template::Template;

adjutant_base::named_enum! {
    /// The rules by which a body is filled in.
    Engine {
        /// `{{input}}` and `{{argument}}` are replaced in one pass; the contract's rule.
        Literal = "literal",
        /// `$ARGUMENTS`, `$1`, `${input:x}`, `KEY=value`: what imported files use.
        Args = "args",
        /// Jinja, strict, with fuel.
        Jinja = "jinja",
    }
}

adjutant_base::named_enum! {
    /// The type of a declared argument.
    ArgumentType {
        String = "string",
        Integer = "integer",
        Number = "number",
        Boolean = "boolean",
    }
}

/// An argument declared in a prompt's front matter.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    pub name: String,
    pub description: String,
    pub kind: ArgumentType,
    pub required: bool,
    pub default: Option<Value>,
    /// The only values allowed; empty means any.
    pub choices: Vec<Value>,
    /// A regular expression that a string must match (JSON Schema `pattern`).
    pub pattern: Option<String>,
}

/// One prompt command, parsed and checked.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The path below the root without extension, `/` for subfolders.
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub arguments: Vec<Argument>,
    pub aliases: Vec<String>,
    pub engine: Engine,
    /// The template, trimmed.
    pub body: String,
    /// `sha256:` and the hex digest of the file's bytes.
    pub digest: String,
    pub source: Source,
    /// The text between the `---` lines, unchanged; empty without front matter.
    pub front_matter: String,
    /// Faults of the file that do not keep it from being served; sentence fragments.
    pub warnings: Vec<String>,
    template: Template,
}

impl Prompt {
    /// Returns the declared argument of a name.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// Returns true if text after the command has a place, apart from the declared arguments: the template
    /// names it, or it is appended to a template without arguments.
    pub fn takes_input(&self) -> bool {
        self.argument("input").is_none() && (self.arguments.is_empty() || self.template.places_input())
    }
}

/// Texts of partials by path below their root.
type Partials = BTreeMap<String, Arc<str>>;

/// Everything that was found at one moment.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Grows with every change, and is the key of caches.
    pub generation: u64,
    /// By name.
    pub prompts: BTreeMap<String, Arc<Prompt>>,
    /// Alias to name.
    pub aliases: BTreeMap<String, String>,
    /// Prompts hidden by one of the same name in an earlier root.
    pub overridden: Vec<Arc<Prompt>>,
    /// Files left out, or served with a fault.
    pub problems: Vec<Problem>,
    /// The list as an interface rendered it, for the life of the catalogue.
    pub listing: OnceLock<Arc<str>>,
    /// The same in the contract's shape.
    pub contract_listing: OnceLock<Arc<str>>,
    /// The prompts as skills, made when somebody first asks.
    pub skills: OnceLock<Vec<skills::Skill>>,
    /// Parts for Jinja templates: by root, by path below it.
    partials: BTreeMap<String, Arc<Partials>>,
}

/// The inputs of a caller for a prompt.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inputs<'a> {
    /// The text after the command, as the contract's `input`.
    pub text: &'a str,
    /// Values by argument name.
    pub named: Option<&'a Map<String, Value>>,
}

/// A prompt with its inputs put in.
#[derive(Clone, Debug)]
pub struct Expansion {
    pub prompt: Arc<Prompt>,
    pub text: String,
}

/// The reason why a prompt is not expanded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("unknown prompt `{name}`{}", near_hint(.near))]
    Unknown { name: String, near: Vec<String> },
    /// An argument is missing or not as declared: the members of the contract's error data.
    #[error("{message}")]
    Argument { message: String, path: Vec<String>, validator: &'static str, validator_value: Box<Value> },
    #[error("prompt `{name}` would expand to {bytes} bytes, over the limit of {limit}")]
    TooLarge { name: String, bytes: usize, limit: usize },
    #[error("prompt `{name}` cannot be expanded: {reason}")]
    Template { name: String, reason: String },
    /// The file is there, but it cannot be served.
    #[error("prompt `{name}` cannot be read: {reason}")]
    Broken { name: String, reason: String },
}

/// The prompts of all roots.
#[derive(Clone, Debug)]
pub struct Prompts {
    pub files: Arc<FileCatalogue<PromptFiles>>,
    max_expansion_bytes: usize,
}

impl Prompts {
    /// Makes the prompts without I/O: the first request reads the files.
    pub fn new(config: &PromptsConfig) -> Self {
        let limits = config.limits();
        let files = FileCatalogue::new(PromptFiles::new(limits), config.roots.clone(), limits);
        Self { files, max_expansion_bytes: config.max_expansion_bytes }
    }

    /// Expands a prompt of `catalogue` by name or alias.
    pub fn expand(&self, catalogue: &Catalogue, name: &str, inputs: Inputs<'_>) -> Result<Expansion, Error> {
        expand::expand(catalogue, name, inputs, self.max_expansion_bytes)
    }
}

#[cfg(test)]
mod tests;
