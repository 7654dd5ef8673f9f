//! Every dependency of a crate is named in its source, because one that is not is built for nothing. `cargo machete` looks for
//! the same where it is installed.

use std::path::Path;

use super::sources::{crates, root};

/// Dependencies that no source below their crate names, by their crates: the first only chooses the version of another crate, the
/// second is named in a file of `tests/it/support` that the tests of the store include.
const UNNAMED: &[(&str, &str)] = &[("net", "idna_adapter"), ("store", "rustix")];

/// Reads every Rust file below a folder.
fn read(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

/// Returns the names in all tables of dependencies.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
    let tables = targets.chain([manifest]).flat_map(|table| TABLES.map(|name| table.get(name)));
    let tables = tables.flatten().filter_map(toml::Value::as_table);
    tables.flat_map(|table| table.keys().cloned()).collect()
}

#[test]
fn every_dependency_is_used() {
    let mut unused = Vec::new();
    for krate in crates().into_iter().chain(["adjutant".to_owned()]) {
        let folder = if krate == "adjutant" { root().to_owned() } else { root().join("crates").join(&krate) };
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let manifest: toml::Table = toml::from_str(&manifest).unwrap();
        let mut text = String::new();
        read(&folder.join("src"), &mut text);
        read(&folder.join("tests"), &mut text);
        for name in dependencies(&manifest) {
            let is_used = text.contains(&name.replace('-', "_"));
            if !is_used && !UNNAMED.contains(&(krate.as_str(), name.as_str())) {
                unused.push(format!("{krate}: {name}"));
            }
        }
    }
    assert!(unused.is_empty(), "remove from the manifest:\n{}", unused.join("\n"));
}
