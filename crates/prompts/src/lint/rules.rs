//! The rules, each with an id that never changes.

use adjutant_host::file_catalogue::Severity;

/// A rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// `P101` and so on: 1xx is the file, 2xx is what it could do.
    pub id: &'static str,
    pub name: &'static str,
    pub severity: Severity,
    /// One sentence that says what the rule is about.
    pub about: &'static str,
}

macro_rules! rules {
    ($($constant:ident = $id:literal $name:literal $severity:ident $about:literal;)*) => {
        $(pub(super) static $constant: Rule = Rule { id: $id, name: $name, severity: Severity::$severity, about: $about };)*
        /// Every rule, by id.
        pub(super) static ALL: &[&Rule] = &[$(&$constant),*];
    };
}

rules! {
    FRONT_MATTER = "P101" "invalid-front-matter" Warning "The front matter is not valid YAML and was read line by line.";
    UNKNOWN_KEY = "P102" "unknown-key" Warning "A key of the front matter has no meaning here.";
    NO_DESCRIPTION = "P103" "missing-description" Warning "Lists show a prompt by its description.";
    UNDECLARED = "P104" "undeclared-placeholder" Warning "A placeholder names an argument that is not declared.";
    UNUSED = "P105" "unused-argument" Warning "A declared argument is used nowhere in the text.";
    NAME = "P106" "name" Warning "A name that is not [a-z0-9][a-z0-9_-]* in every segment cannot be typed in every client.";
    OVERRIDDEN = "P107" "overridden" Note "Two prompts have the same name; the one of the earlier root is served.";
    ALIAS = "P108" "unreachable-alias" Warning "An alias is taken by another prompt.";
    TOO_LARGE = "P109" "too-large" Error "The file is over the size limit and is not served.";
    TEMPLATE = "P110" "template" Error "The Jinja template cannot be used.";
    NOT_SERVED = "P111" "not-served" Error "The file cannot be served.";
    FAULT = "P112" "fault" Warning "The file is served with a fault.";
    SKILL_NAME = "P120" "skill-name" Warning "The Agent Skills specification asks for a name of [a-z0-9-], at most 64 characters, equal to the folder's.";
    SKILL_DESCRIPTION = "P121" "skill-description" Warning "The Agent Skills specification asks for a description of at most 1024 characters.";
    SHELL_SPLICE = "P201" "shell-splice" Warning "Some programs run !`command` in a prompt; Adjutant never does.";
}
