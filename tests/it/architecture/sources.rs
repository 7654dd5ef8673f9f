//! The product's source files: of the root package and of every crate below `crates`, without tests.

use std::path::{Path, PathBuf};

/// A source file of the product.
pub(crate) struct Source {
    /// The folder's name below `crates`, or `adjutant` for the root package.
    pub(super) krate: String,
    /// The path below the repository.
    pub(crate) path: PathBuf,
    /// The module's path inside of its crate; empty for `lib.rs`.
    pub(super) module: Vec<String>,
    pub(crate) text: String,
}

impl Source {
    /// Returns the numbered lines that are neither comments nor the `#[cfg(test)]` tail.
    pub(super) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .take_while(|(_, line)| !line.trim_start().starts_with("#[cfg(test)]"))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
            .map(|(number, line)| (number + 1, line))
    }
}

/// Returns the repository's root.
pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the names of the folders below `crates`, sorted.
pub(super) fn crates() -> Vec<String> {
    let folders = std::fs::read_dir(root().join("crates")).unwrap();
    let mut names: Vec<_> = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Reads every source file of the product. Files that hold nothing but tests are left out.
pub(crate) fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    read("adjutant", &root().join("src"), &mut found);
    for name in crates() {
        read(&name, &root().join("crates").join(&name).join("src"), &mut found);
    }
    found
}

fn read(krate: &str, src: &Path, found: &mut Vec<Source>) {
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let module = module_of(path.strip_prefix(src).unwrap());
                if !module.iter().any(|name| name == "tests") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let path = path.strip_prefix(root()).unwrap().to_owned();
                    found.push(Source { krate: krate.to_owned(), path, module, text });
                }
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
}

fn module_of(path: &Path) -> Vec<String> {
    let path = path.with_extension("");
    let names: Vec<_> = path.components().map(|part| part.as_os_str().to_str().unwrap().to_owned()).collect();
    if names == ["lib"] || names == ["main"] { Vec::new() } else { names }
}
