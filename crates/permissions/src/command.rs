//! Shell lines as simple commands of literal words.
//!
//! The grammar is the part that bash, dash, zsh and fish read alike: words, quotes without substitutions, and the
//! separators `;`, `&&`, `||`, `|` and the end of a line. A parser of a whole shell would accept more, and each node of its
//! tree would have to be rejected here; it would also parse one shell, while the client's shell is not known.

/// First words that change what later words mean, or that begin a compound command.
const REJECTED: &[&str] = &[
    "!",
    ".",
    "[[",
    "alias",
    "autoload",
    "begin",
    "bind",
    "bindkey",
    "builtin",
    "case",
    "complete",
    "coproc",
    "declare",
    "do",
    "done",
    "elif",
    "else",
    "enable",
    "end",
    "esac",
    "eval",
    "exec",
    "export",
    "fi",
    "for",
    "foreach",
    "function",
    "hash",
    "if",
    "local",
    "nocorrect",
    "noglob",
    "readonly",
    "repeat",
    "select",
    "set",
    "setopt",
    "shopt",
    "source",
    "switch",
    "then",
    "time",
    "trap",
    "typeset",
    "unalias",
    "unset",
    "unsetopt",
    "until",
    "while",
    "zmodload",
];

/// First words that change the folder of the commands after them.
const FOLDER_CHANGES: &[&str] = &["cd", "chdir", "popd", "pushd"];

/// A line that is understood.
pub(crate) struct Line {
    /// The word after a `cd` at the beginning, which all commands depend on.
    pub(crate) folder: Option<String>,
    /// The simple commands without that `cd`, each with at least one word.
    pub(crate) commands: Vec<Vec<String>>,
}

/// Parses a line into its simple commands. `None` for a line that holds anything else: substitutions, redirections,
/// here-documents, globs, assignments, background jobs, compound commands, escapes, and other changes of the folder.
pub(crate) fn parse(line: &str) -> Option<Line> {
    let mut commands: Vec<Vec<String>> = Vec::new();
    // Whether the command after each one runs only if it succeeds, or takes its output.
    let mut is_chained = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    // Whether the last separator needs a command after it.
    let mut is_open = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' => words.extend(word.take()),
            '\n' | ';' | '|' | '&' => {
                words.extend(word.take());
                let is_double = letter != '\n' && letter != ';' && letters.next_if_eq(&letter).is_some();
                if letter == '&' && !is_double || letter != '\n' && words.is_empty() {
                    return None;
                }
                if !words.is_empty() {
                    commands.push(std::mem::take(&mut words));
                    is_chained.push((letter == '&', letter == '&' || letter == '|' && !is_double));
                    is_open = matches!(letter, '|' | '&');
                }
            }
            '\'' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        // In fish, a backslash escapes these two also between single quotes.
                        '\\' if matches!(letters.peek(), Some('\'' | '\\')) => return None,
                        letter => quoted.push(letter),
                    }
                }
            }
            '"' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '$' | '`' | '\\' | '!' => return None,
                        letter => quoted.push(letter),
                    }
                }
            }
            // zsh replaces a word that begins with `=`; in the first word, `=` makes an assignment.
            '=' if word.is_none() || words.is_empty() => return None,
            letter if letter.is_alphanumeric() || "_-./:,@%+=".contains(letter) => {
                word.get_or_insert_default().push(letter);
            }
            _ => return None,
        }
    }
    words.extend(word);
    is_open &= words.is_empty();
    commands.extend((!words.is_empty()).then_some(words));
    let mut folder = None;
    if let [cd, _, ..] = &commands[..]
        && cd[0] == "cd"
    {
        is_chained.truncate(commands.len() - 1);
        // After a failed `cd`, what follows `;` or `||` would run elsewhere.
        let depends = is_chained[0].0 && is_chained.iter().all(|(_, is_chained)| *is_chained);
        folder = Some(cd.get(1).filter(|word| depends && cd.len() == 2 && is_path(word))?.clone());
        commands.remove(0);
    }
    let first = |list: &[&str]| commands.iter().any(|words| list.contains(&words[0].as_str()));
    let is_rejected = is_open
        || commands.is_empty()
        || commands.iter().any(|words| words[0].is_empty())
        || first(REJECTED)
        || (commands.len() > 1 || folder.is_some()) && first(FOLDER_CHANGES);
    (!is_rejected).then_some(Line { folder, commands })
}

/// Returns whether `cd` takes a word as a path in each shell. Of other words, `CDPATH` and a shell's options may make
/// another folder.
fn is_path(word: &str) -> bool {
    matches!(word, "." | "..") || ["/", "./", "../"].iter().any(|start| word.starts_with(start))
}

/// Splits any line roughly into commands of words, without a grammar: what it returns may hold more than the shell would run.
pub(crate) fn rough(line: &str) -> Vec<Vec<String>> {
    let joined = line.replace("\\\n", "");
    let commands = joined.split([';', '|', '&', '\n', '\r', '(', ')', '`', '{', '}', '<', '>']);
    let mut split: Vec<Vec<String>> = commands
        .map(|command| {
            let words = command.split(|letter: char| letter.is_whitespace() || "'\"$".contains(letter));
            words.filter(|word| !word.is_empty()).map(|word| word.replace('\\', "")).collect()
        })
        .filter(|words: &Vec<String>| !words.is_empty())
        .collect();
    // Quotes inside of a word join its parts.
    split.extend(parse(line).into_iter().flat_map(|line| line.commands));
    split
}
