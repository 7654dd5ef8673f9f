//! The documentation is consistent: every link has a target, every page is in the book, and every documented command
//! exists.

mod performance_chart;
mod protocol_reference;
mod security_model;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::support::Home;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every page of the repository for readers, from its root.
pub(crate) fn pages() -> Vec<PathBuf> {
    let in_folder = |folder: &Path| {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|end| end == "md")).collect::<Vec<_>>()
    };
    let mut pages = in_folder(root());
    pages.extend(in_folder(&root().join("docs")));
    pages.extend(in_folder(&root().join("docs/clients")));
    pages.extend(in_folder(&root().join("docs/design")));
    pages.sort();
    pages
}

fn events(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

/// The link targets of the headings of a page, made as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in events(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let words = heading.take().unwrap().to_lowercase();
                let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
                anchors.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
            }
            _ => {}
        }
    }
    anchors
}

/// A reader who has a minute sees how far it goes.
#[test]
fn the_readme_has_at_most_150_lines() {
    let lines = std::fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 150, "{lines} lines");
}

#[test]
fn every_link_of_the_documentation_has_a_target() {
    let mut broken = Vec::new();
    let mut found = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for event in events(&text) {
            let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else {
                continue;
            };
            if dest_url.contains("://") || dest_url.starts_with("mailto:") {
                continue;
            }
            found += 1;
            let (file, anchor) = dest_url.split_once('#').map_or((&*dest_url, None), |(f, a)| (f, Some(a)));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let there = match (anchor, std::fs::read_to_string(&target)) {
                (None, _) => target.exists(),
                (Some(anchor), Ok(text)) => anchors(&text).contains(anchor),
                (Some(_), Err(_)) => false,
            };
            if !there {
                broken.push(format!("{}: {dest_url}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(found > 20, "only {found} links were found");
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn every_page_of_the_documentation_is_in_the_book() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed: BTreeSet<String> = events(&summary)
        .filter_map(|event| match event {
            Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url.into_string()),
            _ => None,
        })
        .collect();
    let pages = pages();
    let there = pages.iter().filter_map(|page| page.strip_prefix(root().join("docs")).ok());
    let there = there.map(|page| page.to_string_lossy().into_owned());
    let there: BTreeSet<String> = there.filter(|name| name != "SUMMARY.md").collect();
    assert_eq!(listed, there);
}

/// The commands that a page names: texts in backquotes, and lines of code blocks, without the arguments after `--`.
fn named_commands(text: &str) -> Vec<String> {
    let mut named = Vec::new();
    let mut in_block = false;
    for event in events(text) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_block = true,
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Text(text) if in_block => {
                named.extend(text.lines().map(|line| line.strip_prefix("$ ").unwrap_or(line).to_owned()));
            }
            Event::Code(code) => named.push(code.into_string()),
            _ => {}
        }
    }
    let one = |command: String| {
        command.split("  #").next().unwrap_or_default().split(" -- ").next().map(str::to_owned)
    };
    named.into_iter().filter(|command| command.starts_with("adjutant ")).filter_map(one).collect()
}

/// Returns the commands that do not exist, or that do not accept one of their options, each with its place.
pub(crate) fn unknown_commands(commands: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    let home = Home::new();
    let mut wrong = Vec::new();
    let mut known = std::collections::BTreeMap::new();
    let mut help = |words: &[&str]| {
        let help = known.entry(words.join(" ")).or_insert_with(|| {
            let run = home.run(words.iter().copied().chain(["--help"]), "");
            run.status.success().then_some(run.stdout)
        });
        help.clone()
    };
    for (place, code) in commands {
        let words: Vec<&str> = code.split_whitespace().skip(1).collect();
        let is_name = |word: &&&str| {
            word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') && !word.starts_with('-')
        };
        // `tasks list|show` means two commands; arguments are in capitals.
        let mut commands: Vec<Vec<&str>> = vec![Vec::new()];
        for word in words.iter().take_while(|word| word.split('|').all(|part| is_name(&&part))) {
            let more = commands
                .iter()
                .flat_map(|command| word.split('|').map(move |part| [command.as_slice(), &[part]].concat()));
            commands = more.collect();
        }
        for command in commands {
            // The last words may be an argument, such as the name of a server.
            let found = (0..=command.len()).rev().find_map(|n| help(&command[..n]).map(|text| (n, text)));
            let Some((n, text)) = found else { unreachable!("`adjutant --help` answers") };
            let takes_arguments = text.lines().any(|line| {
                line.starts_with("Usage:") && line.contains(['<', '[']) && !line.contains("<COMMAND>")
            });
            let is_known = n == command.len() || (n > 0 && takes_arguments);
            // The options that all commands take are in the help of the program.
            let text = format!("{text}{}", help(&[]).unwrap_or_default());
            // What is in quotes is an argument, also if it is a command with options of its own.
            let unquoted = code.replace('"', "'");
            let unquoted: String = unquoted.split('\'').step_by(2).collect();
            let options = unquoted.split_whitespace().filter_map(|word| word.strip_prefix("--"));
            let mut options =
                options.map(|option| option.split('=').next().unwrap_or(option)).filter(|o| !o.is_empty());
            if !is_known || options.any(|option| !text.contains(&format!("--{option}"))) {
                wrong.push(format!("{place}: `{code}`"));
            }
        }
    }
    wrong
}

/// Text in backquotes, and a line of a code block, that begins with `adjutant` names commands that exist, with options that
/// they accept.
#[test]
fn documented_commands_and_options_exist() {
    // The map also names commands that only the program itself uses.
    let pages = pages().into_iter().filter(|page| !page.ends_with("ARCHITECTURE.md"));
    let commands = pages.flat_map(|page| {
        let text = std::fs::read_to_string(&page).unwrap();
        let shown = page.strip_prefix(root()).unwrap().display().to_string();
        named_commands(&text).into_iter().map(move |command| (shown.clone(), command))
    });
    let wrong = unknown_commands(commands);
    assert!(wrong.is_empty(), "no such command or option:\n{}", wrong.join("\n"));
}
