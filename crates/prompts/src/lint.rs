//! Lint: faults of prompt files that a user should know before a client gets them.
//!
//! Every finding has a rule with an id that never changes its meaning, so that it can be cited and filtered.

mod body;
mod cross_file;
mod front_matter;
mod rules;
pub mod sarif;
mod skill;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::import::{Error, Found, find, format_of};
use super::{Limits, Prompt, Prompts, Root, Source};
use adjutant_base::config::is_repository;
use adjutant_base::config::prompts::PromptsConfig;
use adjutant_host::file_catalogue::{Severity, leaves, read_text};
pub use rules::Rule;

/// The reason why a named file or folder is not read.
const LEAVES: &str = "a symbolic link leads out of the project, the prompts or the folder that it is in";

/// A fault or a remark at one place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static Rule,
    /// The rule's severity, unless the place makes it milder.
    pub severity: Severity,
    pub file: PathBuf,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// A lower-case sentence fragment that names the fault.
    pub message: String,
    /// The remedy, as a sentence fragment.
    pub hint: Option<String>,
}

/// The result of a lint.
#[derive(Debug, Default)]
pub struct Report {
    /// By file, line and column.
    pub findings: Vec<Finding>,
    /// The number of files that were checked.
    pub files: usize,
}

impl Report {
    /// Returns the number of findings with a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

/// A prompt file while its findings are collected.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
    findings: Vec<Finding>,
}

impl File<'_> {
    /// Adds a finding at a byte of the text.
    fn add(
        &mut self,
        rule: &'static Rule,
        at: usize,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        self.add_as(rule, rule.severity, at, message, hint);
    }

    /// Adds a finding with another severity than its rule has.
    fn add_as(
        &mut self,
        rule: &'static Rule,
        severity: Severity,
        at: usize,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        let before = &self.text[..at.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        self.findings.push(Finding {
            rule,
            severity,
            file: self.path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
            hint: hint.into(),
        });
    }

    /// Returns the offset of a line of the text, counted from 1.
    fn line(&self, number: usize) -> usize {
        self.text.split_inclusive('\n').take(number.saturating_sub(1)).map(str::len).sum()
    }

    /// Returns the offset of a part of the text.
    fn offset(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }
}

/// Lints the prompts of the configured roots: each file by itself, and all of them together. Of the bundled prompts
/// only the names are compared, with those of prompts that hide them.
pub fn roots(config: &PromptsConfig) -> Report {
    let limits = config.limits();
    let catalogue = Prompts::new(config).files.load();
    let mut report = Report::default();
    let served = || catalogue.prompts.values().chain(&catalogue.overridden);
    for prompt in served() {
        let Some(file) = &prompt.source.file else { continue };
        report.files += 1;
        let mut findings = text_of_file(file, limits, Some(prompt));
        // The first warning about invalid YAML belongs to another rule.
        let known = findings.iter().any(|finding| finding.rule.id == rules::FRONT_MATTER.id);
        let warnings = prompt.warnings.iter().skip(usize::from(known));
        findings.extend(warnings.map(|warning| whole_file(&rules::FAULT, file, warning.clone())));
        report.findings.append(&mut findings);
    }
    cross_file::aliases(&catalogue, &mut report.findings);
    cross_file::overridden(&catalogue, &mut report.findings);
    cross_file::problems(&catalogue, limits, &mut report);
    finish(&mut report);
    report
}

/// Lints files and folders that the user names. A folder of another program's prompts is checked by the rules that all
/// formats share.
pub fn paths(paths: &[PathBuf], config: &PromptsConfig) -> Result<Report, Error> {
    let limits = config.limits();
    let mut report = Report::default();
    for path in paths {
        let kind = std::fs::metadata(path)
            .map_err(|error| Error::Unreadable { path: path.clone(), reason: error.to_string() })?;
        if is_outside(path, kind.is_dir(), config) {
            report.files += 1;
            report.findings.push(whole_file(&rules::NOT_SERVED, path, LEAVES.to_owned()));
            continue;
        }
        if !kind.is_dir() {
            report.files += 1;
            report.findings.extend(text_of_file(path, limits, None));
            continue;
        }
        let Found { files: found, unreadable, .. } = find(path, None, limits).unwrap_or_default();
        let unreadable = unreadable
            .iter()
            .map(|folder| whole_file(&rules::NOT_SERVED, folder, "the folder cannot be read".to_owned()));
        if found.iter().any(|found| format_of(&found.file).is_some()) {
            report.findings.extend(unreadable);
            report.files += found.len();
            for found in found {
                report.findings.extend(match found.fault {
                    Some(fault) => vec![whole_file(&rules::NOT_SERVED, &found.file, fault.to_owned())],
                    None => text_of_file(&found.file, limits, None),
                });
            }
        } else {
            let part = roots(&PromptsConfig { roots: vec![Root::named(path.clone())], ..config.clone() });
            report.files += part.files;
            report.findings.extend(part.findings);
        }
    }
    finish(&mut report);
    Ok(report)
}

/// Returns whether a link leads out of the project or the folder of prompts around a named path; a file also out of its
/// folder.
fn is_outside(path: &Path, is_folder: bool, config: &PromptsConfig) -> bool {
    let steps_back = path.components().any(|part| part == std::path::Component::ParentDir);
    let (Ok(real), Ok(absolute)) = (path.canonicalize(), std::path::absolute(path)) else { return true };
    let folder = match (absolute.parent(), absolute.file_name()) {
        (Some(folder), Some(_)) if steps_back => folder.canonicalize().unwrap_or_default(),
        (Some(folder), Some(_)) => folder.to_owned(),
        _ => real.clone(),
    };
    let is_configured =
        |folder: &Path| config.roots.iter().any(|root| root.folder.as_deref() == Some(folder));
    let is_root = |folder: &&Path| is_repository(folder) || is_configured(folder);
    if is_configured(&absolute) {
        return false;
    }
    let around = folder.ancestors().find(is_root).or(Some(&*folder).filter(|_| !is_folder));
    around.is_some_and(|root| leaves(root, &real))
}

/// Returns the findings of one file by itself. `prompt` is the parsed file if it is served.
fn text_of_file(path: &Path, limits: Limits, prompt: Option<&Arc<Prompt>>) -> Vec<Finding> {
    let text = match read_text(path, limits.file) {
        Ok(text) => text,
        Err(reason) => {
            let too_large =
                std::fs::metadata(path).is_ok_and(|kind| kind.is_file() && kind.len() > limits.file as u64);
            let rule = if too_large { &rules::TOO_LARGE } else { &rules::NOT_SERVED };
            return vec![whole_file(rule, path, reason)];
        }
    };
    let mut file = File { path, text: &text, findings: Vec::new() };
    let foreign = format_of(path);
    let parsed = match adjutant_base::text::front_matter::parse(&text) {
        Ok(parsed) => parsed,
        Err(reason) => {
            file.add(&rules::NOT_SERVED, 0, reason, None);
            return file.findings;
        }
    };
    body::template(&mut file, &parsed, foreign);
    let mut understood = prompt.cloned();
    if foreign.is_none() && prompt.is_none() && file.findings.is_empty() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let source = Source { root: String::new(), relative: String::new(), file: Some(path.to_owned()) };
        match super::parse::prompt(&name, source, &text, String::new()) {
            Ok(prompt) => understood = Some(Arc::new(prompt)),
            Err(reason) => file.add(&rules::NOT_SERVED, 0, reason, None),
        }
    }
    let prompt = understood.as_ref();
    front_matter::check(&mut file, &parsed, foreign, prompt);
    skill::check(&mut file, &parsed, foreign);
    body::check(&mut file, &parsed, foreign, prompt);
    file.findings
}

fn whole_file(rule: &'static Rule, file: &Path, message: String) -> Finding {
    Finding { rule, severity: rule.severity, file: file.to_owned(), line: 1, column: 1, message, hint: None }
}

fn finish(report: &mut Report) {
    report.findings.sort_by(|one, other| {
        (&one.file, one.line, one.column, one.rule.id).cmp(&(
            &other.file,
            other.line,
            other.column,
            other.rule.id,
        ))
    });
    report.findings.dedup();
}
