//! Rules about all prompts together: names, aliases, and files that are not served.

use super::{Finding, Limits, Report, Severity, rules, text_of_file, whole_file};
use crate::prompts::Catalogue;

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
            let message = format!("alias `{alias}` of `{}` is out of reach: {winner}", prompt.name);
            findings.push(whole_file(&rules::ALIAS, file, message));
        }
    }
}

/// Adds a finding for every prompt that another of the same name hides.
pub(super) fn shadowed(catalogue: &Catalogue, findings: &mut Vec<Finding>) {
    for hidden in &catalogue.shadowed {
        let Some(by) = catalogue.prompts.get(&hidden.name) else { continue };
        let (file, message, hint) = match (&hidden.source.file, &by.source.file) {
            (Some(file), _) => (
                file,
                format!("prompt `{}` is never served: the one of {} wins", hidden.name, by.source.root),
                "rename one of the two",
            ),
            (None, Some(file)) => (
                file,
                format!("it replaces the prompt `{}` of {}", hidden.name, hidden.source.root),
                "rename it to have both",
            ),
            (None, None) => continue,
        };
        findings.push(Finding { hint: Some(hint.to_owned()), ..whole_file(&rules::SHADOWED, file, message) });
    }
}

/// Adds what kept the room from serving a file, unless a rule said it better.
pub(super) fn problems(catalogue: &Catalogue, limits: Limits, report: &mut Report) {
    let mut left: Vec<_> = catalogue.problems.iter().rev().collect();
    while let Some(problem) = left.pop() {
        let Some(file) = &problem.source.file else { continue };
        let is_served = catalogue
            .prompts
            .values()
            .chain(&catalogue.shadowed)
            .any(|prompt| prompt.source.file.as_ref() == Some(file));
        if is_served {
            // Unreachable aliases are problems too, the last ones of a file.
            let own = |found: &&Finding| found.file == *file && found.rule.id == rules::ALIAS.id;
            let aliases = report.findings.iter().filter(own).count();
            let later = left.iter().filter(|other| other.source.file.as_ref() == Some(file)).count();
            if later >= aliases {
                report.findings.push(whole_file(&rules::FAULT, file, problem.message.clone()));
            }
            continue;
        }
        report.files += 1;
        let found = if file.is_file() { text_of_file(file, limits, None) } else { Vec::new() };
        if !found.iter().any(|finding| finding.severity == Severity::Error) {
            report.findings.push(whole_file(&rules::NOT_SERVED, file, problem.message.clone()));
        }
        report.findings.extend(found);
    }
}
