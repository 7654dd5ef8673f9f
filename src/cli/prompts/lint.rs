//! `adjutant prompts lint`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::Folders;
use crate::cli::Common;
use crate::cli::output::{self, Failure};
use crate::cli::source_files::{print_finding, relative};
use adjutant_host::file_catalogue::Severity;
use adjutant_prompts::lint::{self, Finding, Report, sarif};

/// Arguments of `adjutant prompts lint`.
#[derive(Debug, Args)]
pub(in crate::cli) struct LintArgs {
    /// Check these files and folders instead of the prompts that are served
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How findings are printed
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    format: Format,
    #[command(flatten)]
    folders: Folders,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For users
    Text,
    /// For programs
    Json,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
}

/// Prints the findings. The exit code is 1 if one of them is an error.
pub(super) fn run(args: &LintArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = args.folders.config(common)?.prompts;
    let report = if args.paths.is_empty() {
        lint::roots(&config)
    } else {
        lint::paths(&args.paths, &config)
            .map_err(|error| Failure::new(error).hint("name files or folders that you may read"))?
    };
    let base = std::env::current_dir()?;
    match if output::is_json() { Format::Json } else { args.format } {
        Format::Text => as_text(&report, &base)?,
        Format::Json => output::json(&as_json(&report))?,
        Format::Sarif => output::json(&sarif::log(&report, &base))?,
    }
    Ok(ExitCode::from(u8::from(report.count(Severity::Error) > 0)))
}

fn as_text(report: &Report, base: &Path) -> Result<(), Failure> {
    for Finding { rule, severity, file, line, column, message, hint } in &report.findings {
        let place = format!("{}:{line}:{column}", relative(file, base));
        print_finding(&place, (*severity, rule.id), message, hint.as_deref())?;
    }
    output::note(Severity::tally(report.files, |severity| report.count(severity)));
    Ok(())
}

fn as_json(report: &Report) -> Value {
    let findings = report.findings.iter().map(|finding| {
        json!({
            "id": finding.rule.id,
            "rule": finding.rule.name,
            "severity": finding.severity.name(),
            "file": finding.file,
            "line": finding.line,
            "column": finding.column,
            "message": finding.message,
            "hint": finding.hint,
        })
    });
    let summary = json!({
        "files": report.files,
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "notes": report.count(Severity::Note),
    });
    output::with(output::list(findings.collect(), "rule_id"), summary)
}
