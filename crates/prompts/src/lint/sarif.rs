//! Findings as SARIF 2.1.0, which code scanning services and editors read.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::{Finding, Report, rules};

/// Returns the log of one run. Files below `base` are named relative to it, as services expect of a repository.
pub fn log(report: &Report, base: &Path) -> Value {
    let rules: Vec<Value> = rules::ALL
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "name": rule.name,
                "shortDescription": { "text": rule.about },
                "defaultConfiguration": { "level": rule.severity.name() },
            })
        })
        .collect();
    let results: Vec<Value> = report.findings.iter().map(|finding| result(finding, base)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "adjutant",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(finding: &Finding, base: &Path) -> Value {
    let index = rules::ALL.iter().position(|rule| rule.id == finding.rule.id);
    let text = match &finding.hint {
        Some(hint) => format!("{} ({hint})", finding.message),
        None => finding.message.clone(),
    };
    json!({
        "ruleId": finding.rule.id,
        "ruleIndex": index,
        "level": finding.severity.name(),
        "message": { "text": text },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&finding.file, base) },
            "region": { "startLine": finding.line, "startColumn": finding.column },
        } }],
    })
}

/// Returns a relative reference below `base`, else a `file:` URI.
fn uri(file: &Path, base: &Path) -> String {
    let absolute = if file.is_absolute() { file.to_owned() } else { base.join(file) };
    let (prefix, path) = match absolute.strip_prefix(base) {
        Ok(relative) => ("", relative),
        Err(_) => ("file://", absolute.as_path()),
    };
    let mut text = prefix.to_owned();
    for byte in path.to_string_lossy().trim_start_matches("./").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}
