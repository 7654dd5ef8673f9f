//! The security model: each threat has a heading, and each names tests that exist.

use std::path::Path;

use super::root;

/// Reads every Rust file below a folder. A path has no extension, and `/` at its end.
fn read_sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let module = path.strip_prefix(root()).unwrap().with_extension("");
            found.push((
                format!("{}/", module.display()).replace("/src/", "/"),
                std::fs::read_to_string(&path).unwrap(),
            ));
        }
    }
}

#[test]
fn every_threat_names_tests_that_exist() {
    let mut sources = Vec::new();
    read_sources(&root().join("tests/it"), &mut sources);
    read_sources(&root().join("crates"), &mut sources);
    let page = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let threats = page.split("\n## Threats\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let threats: Vec<_> = threats.split("\n### ").skip(1).collect();
    assert!(threats.len() > 25, "{} threats", threats.len());
    let mut missing = Vec::new();
    for threat in threats {
        let heading = threat.lines().next().unwrap();
        let tests = threat.lines().find_map(|line| line.strip_prefix("*Tests:* "));
        let names: Vec<_> = tests.unwrap_or_default().split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            missing.push(format!("{heading}: no test"));
        }
        for name in names {
            let module = format!("/{}/", name.replace("::", "/"));
            if !sources.iter().any(|(path, text)| path.contains(&module) && text.contains("#[test]")) {
                missing.push(format!("{heading}: `{name}`"));
            }
        }
    }
    assert!(missing.is_empty(), "threats without a test:\n{}", missing.join("\n"));
}
