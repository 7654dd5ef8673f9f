//! Prompts as skills (SEP-2640): the same prompt under a name that the Agent Skills rule allows, as a `SKILL.md`.
//!
//! Plain data, of which the `mcp` interface makes the protocol's types.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::formats::placeholders::{self, Slot};
use super::{Argument, Catalogue, Engine, Prompt};
use adjutant_base::text::hex;

/// Maximum characters of a skill's name (Agent Skills specification).
pub(crate) const MAX_NAME_CHARS: usize = 64;
/// Maximum characters of a skill's description (Agent Skills specification).
pub(crate) const MAX_DESCRIPTION_CHARS: usize = 1024;
/// The beginning of every skill's URI.
pub const BASE: &str = "skill://prompts/";

/// One prompt as a skill.
#[derive(Clone, Debug)]
pub struct Skill {
    /// `[a-z0-9-]`, at most 64 characters, unique among the skills of one catalogue.
    pub name: String,
    /// `skill://prompts/NAME/SKILL.md`.
    pub uri: String,
    /// Never empty, at most 1024 characters.
    pub description: String,
    /// The whole `SKILL.md`.
    pub text: String,
    /// `sha256:` and the hex digest of `text`.
    pub digest: String,
    /// Bytes of `text`.
    pub size: usize,
}

/// Returns the skills of a catalogue by prompt name. The work grows with the bytes of all prompts, so keep the
/// result as long as the catalogue's generation stays.
pub fn skills(catalogue: &Catalogue) -> Vec<Skill> {
    let names = names(catalogue.prompts.keys().map(String::as_str));
    catalogue.prompts.values().zip(names).map(|(prompt, name)| skill(prompt, name)).collect()
}

fn skill(prompt: &Prompt, name: String) -> Skill {
    let description = match prompt.description.trim() {
        "" => format!("The prompt command {}.", prompt.name),
        text => text.chars().take(MAX_DESCRIPTION_CHARS).collect(),
    };
    let mut text = super::formats::skill_document(&name, &description, &prompt.body);
    text.push_str(&inputs(prompt));
    let digest = format!("sha256:{}", hex::sha256(&text));
    Skill { uri: format!("{BASE}{name}/SKILL.md"), size: text.len(), name, description, text, digest }
}

/// Returns a list of the places for the model, because a skill's places are not filled in.
fn inputs(prompt: &Prompt) -> String {
    let places = placeholders::find(prompt.engine, &prompt.body, &prompt.arguments);
    let mut lines = Vec::new();
    for place in &places {
        let spelled = &prompt.body[place.at.clone()];
        let line = match (&place.slot, placeholders::argument_of(prompt, &place.slot)) {
            (_, Some(argument)) => format!("- `{spelled}`: {}", describe(argument)),
            (Slot::Input, None) => format!("- `{spelled}`: what the user asks for"),
            (Slot::Position(position), None) => {
                format!("- `{spelled}`: word {position} of what the user asks for")
            }
            (Slot::Named(..), None) => continue,
        };
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if prompt.engine == Engine::Jinja {
        lines.push("- this text is a Jinja template; `input` is what the user asks for".to_owned());
        lines.extend(
            prompt
                .arguments
                .iter()
                .filter(|argument| argument.name != "input")
                .map(|argument| format!("- `{}`: {}", argument.name, describe(argument))),
        );
    }
    if lines.is_empty() {
        String::new()
    } else {
        format!("\n## The values of the placeholders\n\n{}\n", lines.join("\n"))
    }
}

fn describe(argument: &Argument) -> String {
    let mut words = match argument.description.as_str() {
        "" => argument.name.clone(),
        description => description.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    if !argument.choices.is_empty() {
        let choices = argument.choices.iter().map(placeholders::value_text);
        let _ = write!(words, "; one of {}", choices.collect::<Vec<_>>().join(", "));
    }
    if let Some(default) = placeholders::default_text(argument).filter(|default| !default.is_empty()) {
        let _ = write!(words, "; {default} if the user does not say");
    }
    words
}

/// Returns a skill name for each prompt name, in the same order, all different.
pub fn names<'a>(prompts: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    distinct(prompts, |name| {
        let mut skill = String::new();
        for c in name.chars().flat_map(char::to_lowercase) {
            match c {
                'a'..='z' | '0'..='9' => skill.push(c),
                _ if skill.ends_with('-') => {}
                _ => skill.push('-'),
            }
        }
        let skill: String = skill.trim_matches('-').chars().take(MAX_NAME_CHARS).collect();
        let skill = skill.trim_end_matches('-');
        if skill.is_empty() { "prompt".to_owned() } else { skill.to_owned() }
    })
}

/// Maps names by `map`, and numbers those that become equal. A name that `map` leaves alone keeps itself, and the
/// others are numbered in the order given, so the same names always give the same result.
pub(crate) fn distinct<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    map: impl Fn(&str) -> String,
) -> Vec<String> {
    let mut last: HashMap<String, usize> = HashMap::new();
    let mut taken: HashSet<String> =
        names.clone().filter(|name| map(name) == *name).map(str::to_owned).collect();
    let give = |name: &str| {
        let mapped = map(name);
        if mapped == name {
            return mapped;
        }
        let number = last.entry(mapped.clone()).or_insert(1);
        let mut candidate = mapped.clone();
        while !taken.insert(candidate.clone()) {
            *number += 1;
            let tail = format!("-{number}");
            let kept: String = mapped.chars().take(MAX_NAME_CHARS - tail.len()).collect();
            candidate = format!("{}{tail}", kept.trim_end_matches('-'));
        }
        candidate
    };
    names.map(give).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};
    use std::sync::Arc;

    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::{Skill, names, skills};
    use crate::{Catalogue, Source, parse};
    use adjutant_base::text::front_matter;

    fn of(files: &[(&str, &str)]) -> Vec<Skill> {
        let mut catalogue = Catalogue::default();
        for (name, text) in files {
            let source = Source { root: "here".to_owned(), relative: format!("{name}.md"), file: None };
            let prompt = parse::prompt(name, source, text, String::new()).unwrap();
            catalogue.prompts.insert((*name).to_owned(), Arc::new(prompt));
        }
        skills(&catalogue)
    }

    fn is_skill_name(name: &str) -> bool {
        (1..=64).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !name.starts_with('-')
            && !name.ends_with('-')
            && !name.contains("--")
    }

    #[test]
    fn a_skill_says_what_its_places_stand_for() {
        let skills = of(&[(
            "team/fix_it",
            "---\ndescription: 'Fix: it'\narguments:\n  - name: depth\n    description: How deep\n    enum: [1, 2]\n    type: integer\n    default: 2\n---\nFix {{input}} to {{depth}}, {{input}}",
        )]);
        let skill = &skills[0];
        assert_eq!(skill.uri, "skill://prompts/team-fix-it/SKILL.md");
        assert_eq!(
            skill.text,
            "---\nname: team-fix-it\ndescription: \"Fix: it\"\n---\n\nFix {{input}} to {{depth}}, {{input}}\n\n\
             ## The values of the placeholders\n\n- `{{input}}`: what the user asks for\n\
             - `{{depth}}`: How deep; one of 1, 2; 2 if the user does not say\n"
        );
        assert_eq!(skill.size, skill.text.len());
        let parsed = front_matter::parse(&skill.text).unwrap();
        assert_eq!(parsed.values["name"], skill.name.as_str());
        assert_eq!(parsed.values["description"], skill.description.as_str());
    }

    #[test]
    fn the_digest_is_of_the_bytes_that_are_served() {
        let skill = of(&[("a", "A")]).remove(0);
        // `printf -- '---\nname: a\ndescription: The prompt command a.\n---\n\nA\n' | sha256sum`
        assert_eq!(skill.text, "---\nname: a\ndescription: The prompt command a.\n---\n\nA\n");
        assert_eq!(skill.digest, "sha256:c5dd7165f6b1088e16d539e415ee7d2bba8a39369686e94dacc10b85635876cc");
    }

    #[test]
    fn names_that_fall_together_are_numbered() {
        assert_eq!(names(["a/b", "a-b", "a_b", "A b"].into_iter()), ["a-b-2", "a-b", "a-b-3", "a-b-4"]);
        assert_eq!(names(["é", "---"].into_iter()), ["prompt", "prompt-2"]);
    }

    proptest! {
        #[test]
        fn every_name_obeys_the_rule(prompts in proptest::collection::btree_set("[a-zA-Z0-9_/ -]{1,80}|\\PC{1,10}", 1..20)) {
            let given = names(prompts.iter().map(String::as_str));
            prop_assert!(given.iter().all(|name| is_skill_name(name)), "{given:?}");
            prop_assert_eq!(given.iter().collect::<HashSet<_>>().len(), prompts.len());
        }

        #[test]
        fn the_front_matter_says_what_the_skill_says(description in "\\PC{1,40}") {
            let text = format!("---\ndescription: {}\n---\nBody", serde_json::Value::from(description.trim()));
            let skill = of(&[("p", &text)]).remove(0);
            let parsed = front_matter::parse(&skill.text).unwrap();
            prop_assert!(parsed.invalid.is_none(), "{}", skill.text);
            prop_assert_eq!(parsed.values["description"].as_str(), Some(skill.description.as_str()));
        }

        #[test]
        fn names_do_not_depend_on_others_that_fit(prompts in proptest::collection::btree_set("[a-c/_]{1,3}", 1..12)) {
            let fitting: BTreeSet<&String> = prompts.iter().filter(|name| is_skill_name(name)).collect();
            let given = names(prompts.iter().map(String::as_str));
            for (name, given) in prompts.iter().zip(&given).filter(|(name, _)| fitting.contains(name)) {
                prop_assert_eq!(name, given);
            }
        }
    }
}
