//! The definition files of ours and of other programs: from the text of one file to a [`Draft`].
//!
//! Text in, text out. Every key of a file is told about: it is honoured, mapped to something of ours, or cannot be.
//! Nothing of a foreign file is ever run, and none of them grants `full`: that is for a file of ours to say.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod markdown;
mod opencode;
mod own;

use std::collections::BTreeMap;
use std::time::Duration;

use super::definition::{Agent, Fate, Field, Isolation, OnHubExit, Permission, Program};
use crate::names::own_name;
use crate::yaml::front_matter;
pub(crate) use own::KEYS;

/// What a file says, checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    /// The name that the file gives itself, where the format has that; already one of ours.
    pub(crate) name: Option<String>,
    pub(crate) description: String,
    pub(crate) persona: String,
    pub(crate) model: Option<String>,
    pub(crate) runner: Option<String>,
    pub(crate) permission: Permission,
    pub(crate) timeout: Option<Duration>,
    pub(crate) on_hub_exit: OnHubExit,
    pub(crate) isolation: Isolation,
    pub(crate) checks: Vec<Vec<String>>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) fields: Vec<Field>,
    pub(crate) warnings: Vec<String>,
}

impl Draft {
    /// Returns what an agent's file says.
    pub(crate) fn of(agent: &Agent) -> Self {
        Self {
            name: None,
            description: agent.description.clone(),
            persona: agent.persona.clone(),
            model: agent.model.clone(),
            runner: agent.runner.clone(),
            permission: agent.permission,
            timeout: agent.timeout,
            on_hub_exit: agent.on_hub_exit,
            isolation: agent.isolation,
            checks: agent.checks.clone(),
            env: agent.env.clone(),
            fields: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Returns the text of a file of ours that says the same.
    pub(crate) fn text(&self) -> String {
        own::write(self)
    }

    fn tell(&mut self, key: &str, fate: Fate) {
        self.fields.push(Field { key: key.to_owned(), fate });
    }

    fn honoured(&mut self, key: &str) {
        self.tell(key, Fate::Honoured);
    }

    fn mapped(&mut self, key: &str, to: impl Into<String>) {
        self.tell(key, Fate::Mapped(to.into()));
    }

    fn cannot_be(&mut self, key: &str, why: &str) {
        self.tell(key, Fate::CannotBe(why.to_owned()));
    }

    /// Takes a foreign name, which may have letters that ours have not.
    fn named(&mut self, key: &str, name: &str) {
        let own = own_name(name);
        if own.is_empty() {
            self.cannot_be(key, "it has no letter or digit to make a name of; the file's name stands");
        } else if own == name {
            self.honoured(key);
        } else {
            self.mapped(key, format!("the name is `{own}`"));
        }
        self.name = Some(own).filter(|own| !own.is_empty());
    }

    /// Takes a model in the words of one program, whose runner is then the one to use.
    fn model_of(&mut self, program: Program, key: &str, model: String) {
        if model == "inherit" {
            return self.mapped(key, "no model is asked for: the runner's own choice stands");
        }
        self.mapped(key, format!("`{model}` in the words of {0}: the runner is `{0}`", program.name()));
        self.model = Some(model);
        self.runner = Some(program.name().to_owned());
    }

    /// Takes what a list of tools allows.
    fn tools(&mut self, key: &str, writes: bool) {
        self.permission = if writes { Permission::WorkspaceWrite } else { Permission::ReadOnly };
        let level = self.permission.name();
        self.mapped(key, format!("permission `{level}`; single tools are not told apart"));
    }
}

/// Says what the name of a file below a folder of `program` makes of it: the agent's name without folders, or
/// nothing where it is no definition.
pub(crate) fn stem(program: Program, file_name: &str) -> Option<&str> {
    let extension = program.extension();
    let cut = file_name.len().checked_sub(extension.len())?;
    let (stem, end) = (file_name.get(..cut)?, file_name.get(cut..)?);
    if !end.eq_ignore_ascii_case(extension) || stem.is_empty() {
        return None;
    }
    match program {
        Program::Copilot => Some(stem.strip_suffix(".agent").filter(|stem| !stem.is_empty()).unwrap_or(stem)),
        Program::Adjutant | Program::Claude | Program::Codex | Program::Gemini | Program::Opencode => {
            Some(stem)
        }
    }
}

/// Tells whether a file of a program's folder is meant as a definition. Where that is Markdown, a text without front
/// matter is a README or a note: no program takes it for an agent.
pub(crate) fn is_definition(program: Program, text: &str) -> bool {
    match program {
        Program::Adjutant | Program::Codex => true,
        Program::Claude | Program::Copilot | Program::Gemini | Program::Opencode => {
            front_matter::parse(text).map_or(true, |parsed| parsed.front_matter.is_some())
        }
    }
}

/// Reads the text of one file. The error is a sentence fragment that says why it is not served.
pub(crate) fn read(program: Program, text: &str) -> Result<Draft, String> {
    let draft = match program {
        Program::Adjutant => own::read(text)?,
        Program::Claude => claude::read(text)?,
        Program::Copilot => copilot::read(text)?,
        Program::Codex => codex::read(text)?,
        Program::Gemini => gemini::read(text)?,
        Program::Opencode => opencode::read(text)?,
    };
    for (what, value) in [("persona", &draft.persona), ("description", &draft.description)] {
        if value.is_empty() {
            return Err(format!("it has no {what}"));
        }
        // No argument of a program can hold one.
        if value.contains('\0') {
            return Err(format!("its {what} has a NUL character"));
        }
    }
    Ok(draft)
}

#[cfg(test)]
mod tests;
