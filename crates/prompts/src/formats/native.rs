//! Our own file format, as the formats need it: descriptions, front matter and text out.

use std::fmt::Write as _;

use super::Draft;
use crate::{ArgumentType, Engine};
use adjutant_base::text::yaml::scalar;

/// Returns the first sentence of the first paragraph that is not a heading, cut at 160 characters.
pub(super) fn derived_description(body: &str) -> String {
    let paragraph = body
        .lines()
        .map(str::trim)
        .skip_while(|line| line.is_empty() || line.starts_with(['#', '<', '`', '-', '=', '|']));
    let paragraph: Vec<&str> = paragraph.take_while(|line| !line.is_empty()).collect();
    let paragraph = if paragraph.is_empty() {
        body.lines()
            .map(|line| line.trim_start_matches('#').trim())
            .find(|line| !line.is_empty())
            .unwrap_or_default()
            .to_owned()
    } else {
        paragraph.join(" ")
    };
    let sentence = paragraph.find(". ").map_or(paragraph.as_str(), |end| &paragraph[..=end]);
    if sentence.chars().count() <= 160 {
        return sentence.to_owned();
    }
    let cut: String = sentence.chars().take(159).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    format!("{}…", cut.trim_end_matches([',', ';', ':', ' ']))
}

/// Returns the text of our own file.
pub(super) fn write(draft: &Draft) -> String {
    let mut head = format!("---\ndescription: {}\n", scalar(&draft.description));
    if draft.engine != Engine::Literal {
        let _ = writeln!(head, "engine: {}", draft.engine.name());
    }
    if !draft.arguments.is_empty() {
        head.push_str("arguments:\n");
    }
    for argument in &draft.arguments {
        let _ = writeln!(head, "  - name: {}", scalar(&argument.name));
        let mut field = |key: &str, value: &str| {
            let _ = writeln!(head, "    {key}: {value}");
        };
        if !argument.description.is_empty() {
            field("description", &scalar(&argument.description));
        }
        if argument.kind != ArgumentType::String {
            field("type", argument.kind.name());
        }
        if argument.required {
            field("required", "true");
        }
    }
    format!("{head}---\n\n{}\n", draft.body)
}

/// Returns a Markdown file with front matter; fields without a value are left out.
pub(super) fn document(fields: &[(&str, &str)], body: &str) -> String {
    let mut text = String::from("---\n");
    for (key, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        text.push_str(key);
        text.push_str(": ");
        text.push_str(&scalar(value));
        text.push('\n');
    }
    text.push_str("---\n\n");
    text.push_str(body);
    text.push('\n');
    text
}
