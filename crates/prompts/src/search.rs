//! The search for prompts by words, for users.

use std::cmp::Reverse;

use super::Prompt;

/// A search text: each of its words has to occur in the listed fields of a prompt. A word
/// with a colon in front is the beginning of a name or an alias.
#[derive(Debug)]
pub struct Search {
    words: Vec<String>,
}

impl Search {
    /// Reads what was typed; letter case does not matter.
    pub fn new(typed: &str) -> Self {
        let mut words: Vec<String> = typed.split_whitespace().map(str::to_lowercase).collect();
        // A long word is in few prompts, and a prompt without one of the words is not looked at further.
        words.sort_by_key(|word| Reverse(word.len()));
        Self { words }
    }

    /// Returns the rank of a prompt, the best first, or `None` if it does not match: 0 for a name or an alias as it was
    /// typed, 1 for the beginning of a part of one, 2 for a piece of one, 3 for the title, 4 for the description. With
    /// several words the worst rank counts; without any, every prompt has rank 0.
    pub fn rank(&self, prompt: &Prompt) -> Option<u8> {
        self.words.iter().try_fold(0, |farthest, word| Some(farthest.max(place(word, prompt)?)))
    }
}

fn place(word: &str, prompt: &Prompt) -> Option<u8> {
    let contains = |text: &String| text.to_lowercase().contains(word);
    let of_names =
        std::iter::once(&prompt.name).chain(&prompt.aliases).filter_map(|name| within(word, name)).min();
    match word.strip_prefix(':') {
        Some(_) => of_names,
        None => of_names
            .or_else(|| prompt.title.as_ref().filter(|title| contains(title)).map(|_| 3))
            .or_else(|| contains(&prompt.description).then_some(4)),
    }
}

fn within(word: &str, name: &str) -> Option<u8> {
    let name = name.to_lowercase();
    if let Some(beginning) = word.strip_prefix(':') {
        return name.starts_with(beginning).then(|| u8::from(name != beginning));
    }
    if name == word {
        return Some(0);
    }
    let begins =
        name.match_indices(word).any(|(at, _)| at == 0 || name[..at].ends_with(['/', '-', '_', '.']));
    if begins { Some(1) } else { name.contains(word).then_some(2) }
}

#[cfg(test)]
mod tests {
    use super::Search;
    use crate::{Source, parse};

    #[test]
    fn ranks_what_is_meant() {
        let source = Source { root: "here".to_owned(), relative: "p.md".to_owned(), file: None };
        let file = "---\ntitle: Look closely\ndescription: Reads a change\naliases: [pr]\n---\nBody";
        let prompt = parse::prompt("team/review-code", source, file, String::new()).unwrap();
        for (typed, rank) in [
            ("", Some(0)),
            ("team/review-code", Some(0)),
            ("PR", Some(0)),
            (":pr", Some(0)),
            (":team/", Some(1)),
            (":review", None),
            (":", Some(1)),
            ("review", Some(1)),
            ("code", Some(1)),
            ("view", Some(2)),
            ("closely", Some(3)),
            ("change", Some(4)),
            ("review change", Some(4)),
            ("review nothing", None),
        ] {
            assert_eq!(Search::new(typed).rank(&prompt), rank, "{typed}");
        }
    }
}
