//! Rules about the text of a prompt.

use std::sync::Arc;

use super::{File, Severity, rules};
use crate::formats::Format;
use crate::formats::placeholders::{self, Slot};
use crate::template::Template;
use crate::{Engine, Prompt};
use adjutant_base::text::front_matter::Parsed;
use adjutant_base::text::suggest::near_names;

/// Names that every Jinja template has.
const JINJA: [&str; 5] = ["input", "range", "dict", "namespace", "debug"];

/// Folders above a file in which its partials may be.
const MAX_FOLDERS: usize = 9;

/// Adds the findings in the text.
pub(super) fn check(
    file: &mut File<'_>,
    parsed: &Parsed<'_>,
    foreign: Option<Format>,
    prompt: Option<&Arc<Prompt>>,
) {
    // For files of Adjutant the parser reports it.
    if parsed.body.is_empty() && foreign.is_some() {
        file.add(&rules::NOT_SERVED, file.text.len(), "it has no text", None);
        return;
    }
    if let Some(at) = parsed.body.find('\0') {
        let message = "the text has a NUL character, where some programs take it to end";
        file.add(&rules::FAULT, file.offset(parsed.body) + at, message, "remove it".to_owned());
    }
    splices(file, parsed.body, foreign);
    if let Some(prompt) = prompt.filter(|_| foreign.is_none()) {
        match prompt.engine {
            Engine::Literal | Engine::Args => places(file, parsed.body, prompt),
            Engine::Jinja => jinja(file, parsed.body, prompt),
        }
    }
}

/// Finds !`command`. A program has been seen to run such examples inside code fences too, so there it is a note.
fn splices(file: &mut File<'_>, body: &str, foreign: Option<Format>) {
    let start = file.offset(body);
    let mut fenced = false;
    let mut at = start;
    for line in body.split_inclusive('\n') {
        let fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        if fence {
            fenced = !fenced;
        }
        // The mark counts at the start of a word only: `Stop!` followed by code is prose.
        for (offset, _) in line.match_indices("!`").filter(|_| !fence) {
            let stands_alone = !line[..offset].ends_with(|c: char| c.is_alphanumeric());
            if stands_alone && line[offset + 2..].contains('`') {
                let severity = if fenced { Severity::Note } else { Severity::Warning };
                let command: String =
                    line[offset + 2..].split('`').next().unwrap_or_default().chars().take(60).collect();
                let ours = if foreign.is_none() { "it is text here" } else { "Adjutant never runs it" };
                let message = format!("a shell command that other programs run: !`{command}` ({ours})");
                file.add_as(
                    &rules::SHELL_SPLICE,
                    severity,
                    at + offset,
                    message,
                    "ask for the output in words, or let the agent run it".to_owned(),
                );
            }
        }
        at += line.len();
    }
}

/// Checks the places of the literal and the args engine against what is declared.
fn places(file: &mut File<'_>, body: &str, prompt: &Prompt) {
    let start = file.offset(body);
    let declared = || prompt.arguments.iter().map(|argument| argument.name.as_str());
    let written = match prompt.engine {
        Engine::Literal => placeholders::braces(body),
        Engine::Args | Engine::Jinja => placeholders::find(prompt.engine, body, &prompt.arguments),
    };
    if matches!(prompt.engine, Engine::Literal) {
        for (at, place) in body.match_indices("${input:") {
            let message = format!("`{place}…}}` stays in the text, because the engine is literal");
            file.add(&rules::UNDECLARED, start + at, message, "add `engine: args`".to_owned());
        }
    }
    for place in &written {
        let Slot::Named(name, _) = &place.slot else { continue };
        // `${{ … }}` belongs to GitHub.
        if declared().any(|known| known == name) || body[..place.at.start].ends_with('$') {
            continue;
        }
        let near = near_names(name, declared().chain(["input"]));
        let hint = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("declare `{name}` under `arguments`"),
        };
        let message = format!("`{}` is not declared and stays in the text", &body[place.at.clone()]);
        file.add(&rules::UNDECLARED, start + place.at.start, message, hint);
    }
    for argument in &prompt.arguments {
        let used = written.iter().any(|place| {
            placeholders::argument_of(prompt, &place.slot).is_some_and(|found| found.name == argument.name)
        });
        // Text after a prompt without places goes to `input`.
        if !used && argument.name != "input" {
            unused(file, &argument.name, prompt.engine);
        }
    }
}

/// Adds a finding if a Jinja template cannot be parsed, at the line of the fault.
pub(super) fn template(file: &mut File<'_>, parsed: &Parsed<'_>, foreign: Option<Format>) {
    let is_jinja = parsed.values.get("engine").is_some_and(|engine| engine == "jinja");
    if foreign.is_some() || !is_jinja {
        return;
    }
    let texts = (file.text, parsed.body);
    let Err(reason) = Template::compile(Engine::Jinja, texts, &mut Vec::new()) else { return };
    let line = reason.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
    let (at, reason) = match line.and_then(|(line, why)| Some((file.line(line.parse().ok()?), why))) {
        Some(found) => found,
        None => (file.offset(parsed.body), reason.as_str()),
    };
    file.add(&rules::TEMPLATE, at, format!("the template cannot be used: {reason}"), None);
}

/// Adds the partials that a Jinja template includes and that are in no folder above its file.
fn includes(file: &mut File<'_>, body: &str) {
    let start = file.offset(body);
    for (at, _) in body.match_indices("{%") {
        let tag = body[at + 2..].split("%}").next().unwrap_or_default();
        let tag = tag.trim_matches(['-', '+']).trim();
        let Some(name) = tag.strip_prefix("include").map(str::trim_start) else { continue };
        let quoted = ['"', '\''].into_iter().find_map(|quote| name.strip_prefix(quote)?.split_once(quote));
        let Some((name, "")) = quoted else { continue };
        let is_partial = name.rsplit('/').next().is_some_and(|last| last.starts_with('_'));
        let mut folders = file.path.ancestors().skip(1).take(MAX_FOLDERS);
        if !is_partial || !folders.any(|folder| folder.join(name).is_file()) {
            let message = format!("`{name}` is not a partial: the expansion fails where it is included");
            file.add(
                &rules::TEMPLATE,
                start + at,
                message,
                "partials are files such as `_name.md`".to_owned(),
            );
        }
    }
}

/// Checks a Jinja template's variables against what is declared.
fn jinja(file: &mut File<'_>, body: &str, prompt: &Prompt) {
    includes(file, body);
    let start = file.offset(body);
    let environment = minijinja::Environment::new();
    let Ok(template) = environment.template_from_str(body) else { return };
    let used = template.undeclared_variables(false);
    let mut unknown: Vec<&String> = used
        .iter()
        .filter(|name| {
            !JINJA.contains(&name.as_str()) && prompt.arguments.iter().all(|known| known.name != **name)
        })
        .collect();
    unknown.sort();
    for name in unknown {
        let at = body.find(name.as_str()).unwrap_or(0);
        file.add(
            &rules::UNDECLARED,
            start + at,
            format!("`{name}` is not declared: the expansion fails where it is used"),
            format!("declare `{name}` under `arguments`"),
        );
    }
    for argument in prompt.arguments.iter().filter(|argument| !used.contains(&argument.name)) {
        unused(file, &argument.name, prompt.engine);
    }
}

fn unused(file: &mut File<'_>, name: &str, engine: Engine) {
    let at = file.text.find(name).unwrap_or(0);
    let hint = match engine {
        Engine::Literal => format!("write `{{{{{name}}}}}` where it goes"),
        Engine::Args => format!("write `${{input:{name}}}` where it goes"),
        Engine::Jinja => format!("write `{{{{ {name} }}}}` where it goes"),
    };
    file.add(&rules::UNUSED, at, format!("argument `{name}` is declared and used nowhere"), hint);
}
