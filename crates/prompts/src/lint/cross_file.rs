//! Rules about all prompts together: names, aliases, and files that are not served.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::{Finding, Limits, Report, Severity, rules, text_of_file, whole_file};
use crate::Catalogue;

/// Adds a finding for every alias that leads nowhere or to another prompt.
pub(super) fn aliases(catalogue: &Catalogue, findings: &mut Vec<Finding>) {
    for prompt in catalogue.prompts.values() {
        let Some(file) = &prompt.source.file else { continue };
        for alias in &prompt.aliases {
            let winner = match (catalogue.prompts.get(alias), catalogue.aliases.get(alias)) {
                (Some(_), _) => "there is a prompt of that name".to_owned(),
                (None, Some(name)) if *name != prompt.name => format!("it leads to `{name}`"),
                (None, Some(_) | None) => continue,
            };
            let message = format!("alias `{alias}` of `{}` cannot be reached: {winner}", prompt.name);
            findings.push(whole_file(&rules::ALIAS, file, message));
        }
    }
}

/// Adds a finding for every prompt that another of the same name hides.
pub(super) fn overridden(catalogue: &Catalogue, findings: &mut Vec<Finding>) {
    for hidden in &catalogue.overridden {
        let Some(by) = catalogue.prompts.get(&hidden.name) else { continue };
        let (file, message, hint) = match (&hidden.source.file, &by.source.file) {
            (Some(file), _) => (
                file,
                format!("prompt `{}` is never served: the one of {} is served", hidden.name, by.source.root),
                "rename one of the two",
            ),
            (None, Some(file)) => (
                file,
                format!("it replaces the prompt `{}` of {}", hidden.name, hidden.source.root),
                "rename it to have both",
            ),
            (None, None) => continue,
        };
        findings
            .push(Finding { hint: Some(hint.to_owned()), ..whole_file(&rules::OVERRIDDEN, file, message) });
    }
}

/// Adds the reasons why files are not served, unless a rule reported them.
pub(super) fn problems(catalogue: &Catalogue, limits: Limits, report: &mut Report) {
    let served: HashSet<&Path> = catalogue
        .prompts
        .values()
        .chain(&catalogue.overridden)
        .filter_map(|prompt| prompt.source.file.as_deref())
        .collect();
    // Unreachable aliases are problems too, the last ones of a file.
    let mut aliases: HashMap<PathBuf, usize> = HashMap::new();
    for finding in report.findings.iter().filter(|finding| finding.rule.id == rules::ALIAS.id) {
        *aliases.entry(finding.file.clone()).or_default() += 1;
    }
    for problem in catalogue.problems.iter().rev() {
        let Some(file) = &problem.source.file else { continue };
        if served.contains(file.as_path()) {
            match aliases.get_mut(file) {
                Some(left) if *left > 0 => *left -= 1,
                _ => report.findings.push(whole_file(&rules::FAULT, file, problem.message.clone())),
            }
            continue;
        }
        report.files += 1;
        // A link may lead out of the root, where nothing is to be read.
        let is_file = file.symlink_metadata().is_ok_and(|found| found.is_file());
        let found = if is_file { text_of_file(file, limits, None) } else { Vec::new() };
        if !found.iter().any(|finding| finding.severity == Severity::Error) {
            report.findings.push(whole_file(&rules::NOT_SERVED, file, problem.message.clone()));
        }
        report.findings.extend(found);
    }
}
