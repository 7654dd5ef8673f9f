//! Rules of the Agent Skills specification.

use serde_json::Value;

use super::{File, rules};
use crate::formats::Format;
use crate::skills::{MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};
use adjutant_base::text::front_matter::Parsed;

/// Adds the faults of a `SKILL.md`, and those that a prompt would have as a skill.
pub(super) fn check(file: &mut File<'_>, parsed: &Parsed<'_>, foreign: Option<Format>) {
    let at = parsed.front_matter.map_or(0, |text| file.offset(text));
    let text = |key: &str| parsed.values.get(key).and_then(Value::as_str).map(str::trim);
    let length = text("description").map_or(0, |text| text.chars().count());
    if length > MAX_DESCRIPTION_CHARS && matches!(foreign, None | Some(Format::ClaudeSkill)) {
        let message =
            format!("the description has {length} characters; a skill's may have {MAX_DESCRIPTION_CHARS}");
        file.add(
            &rules::SKILL_DESCRIPTION,
            at,
            message,
            "clients of skills see only its beginning".to_owned(),
        );
    }
    if foreign != Some(Format::ClaudeSkill) {
        return;
    }
    let Some(name) = text("name") else {
        file.add(&rules::SKILL_NAME, at, "a skill needs a `name`", None);
        return;
    };
    let legal = !name.is_empty()
        && name.len() <= MAX_NAME_CHARS
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    if !legal {
        let message = format!(
            "`{name}` is not a valid name for a skill: use [a-z0-9-], at most {MAX_NAME_CHARS} characters, no `--`"
        );
        file.add(&rules::SKILL_NAME, at, message, None);
    }
    let folder = std::path::absolute(file.path).ok();
    let folder = folder.as_deref().and_then(|path| path.parent()?.file_name()?.to_str());
    if let Some(folder) = folder.filter(|folder| *folder != name) {
        file.add(
            &rules::SKILL_NAME,
            at,
            format!("the skill is called `{name}`, its folder `{folder}`"),
            "give both the same name".to_owned(),
        );
    }
}
