//! Formats of definition files, Adjutant's own and those of other programs: from the text of one file to an [`Agent`].
//!
//! Every key of a file gets a report: it is supported, mapped or unsupported. Nothing of another program's file is run,
//! and none of them grants `full`, because only a file of Adjutant may.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod key_report;
mod markdown;
mod native;
mod opencode;

use super::definition::{Agent, Program};
use adjutant_base::text::front_matter;
pub(crate) use native::{KEYS, write};

/// Returns the agent's name, without folders, of a file below a folder of `program`; `None` if the file's name is not a
/// definition's.
pub fn stem(program: Program, file_name: &str) -> Option<&str> {
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

/// Returns whether a file of a program's folder is a definition. A Markdown file without front matter is a README or a
/// note, which no program reads as an agent.
pub(crate) fn is_definition(program: Program, text: &str) -> bool {
    match program {
        Program::Adjutant | Program::Codex => true,
        Program::Claude | Program::Copilot | Program::Gemini | Program::Opencode => {
            front_matter::parse(text).map_or(true, |parsed| parsed.front_matter.is_some())
        }
    }
}

/// Parses the text of one file into the parts of an agent that the text decides. The error is a sentence fragment.
pub fn read(program: Program, text: &str) -> Result<Agent, String> {
    let agent = match program {
        Program::Adjutant => native::read(text)?,
        Program::Claude => claude::read(text)?,
        Program::Copilot => copilot::read(text)?,
        Program::Codex => codex::read(text)?,
        Program::Gemini => gemini::read(text)?,
        Program::Opencode => opencode::read(text)?,
    };
    for (what, value) in [("persona", &agent.persona), ("description", &agent.description)] {
        if value.is_empty() {
            return Err(format!("it has no {what}"));
        }
        // No argument of a program can hold one.
        if value.contains('\0') {
            return Err(format!("its {what} has a NUL character"));
        }
    }
    Ok(agent)
}

#[cfg(test)]
mod tests;
