//! The graph of imports between the files of one crate, read with `syn`.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;
use syn::{Item, ItemMod, ItemUse, UseTree, Visibility};

use super::sources::Source;

type Module = Vec<String>;

/// What a file declares and names.
#[derive(Default)]
struct File {
    children: BTreeSet<String>,
    /// A local name and the path that it means, from `use`.
    uses: Vec<(String, Vec<String>)>,
    /// Every path that the file's own code names; re-exports are left out.
    paths: Vec<Vec<String>>,
}

/// Returns, for each module of a crate, the modules of the items that it names. What a module re-exports belongs to
/// the module that defines it.
pub(super) fn imports(sources: &[&Source]) -> BTreeMap<Module, BTreeSet<Module>> {
    let files: BTreeMap<Module, File> =
        sources.iter().map(|source| (source.module.clone(), read(&source.text))).collect();
    let mut graph = BTreeMap::new();
    for (module, file) in &files {
        let mut named = BTreeSet::new();
        for path in &file.paths {
            if let Some(target) = resolve(&files, module, path, 0)
                && target != *module
            {
                named.insert(target);
            }
        }
        graph.insert(module.clone(), named);
    }
    graph
}

/// Returns the groups of modules that import each other, directly or through others. A module and the modules below it
/// count as one: a child may use its parent's items.
pub(super) fn cycles(graph: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    let mut reached: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
    for start in graph.keys() {
        let mut found = BTreeSet::new();
        let mut open = vec![start];
        while let Some(module) = open.pop() {
            for next in graph.get(module).into_iter().flatten() {
                if !module.starts_with(next) && found.insert(next) {
                    open.push(next);
                }
            }
        }
        reached.insert(start, found);
    }
    let mut cycles = BTreeSet::new();
    for (module, found) in &reached {
        if found.contains(module) {
            let circle =
                found.iter().filter(|other| reached.get(*other).is_some_and(|back| back.contains(module)));
            cycles.insert(circle.map(|other| (*other).clone()).collect::<BTreeSet<_>>());
        }
    }
    cycles.into_iter().collect()
}

fn read(text: &str) -> File {
    let parsed = syn::parse_file(text).unwrap();
    let mut file = File::default();
    for item in &parsed.items {
        if let Item::Mod(module) = item {
            file.children.insert(module.ident.to_string());
        }
    }
    file.visit_file(&parsed);
    file
}

impl<'ast> Visit<'ast> for File {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let test = item.attrs.iter().any(|attribute| {
            attribute.path().is_ident("cfg")
                && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test")
        });
        if !test {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        for (name, path) in leaves {
            if matches!(item.vis, Visibility::Inherited) {
                self.paths.push(path.clone());
            }
            self.uses.push((name, path));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }

    // `pub(in path)` restricts, it imports nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn flatten(tree: &UseTree, prefix: &mut Vec<String>, leaves: &mut Vec<(String, Vec<String>)>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, leaves);
            prefix.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            leaves.push((prefix.last().cloned().unwrap_or_default(), prefix.clone()));
        }
        UseTree::Name(name) => {
            let path = [prefix.as_slice(), &[name.ident.to_string()]].concat();
            leaves.push((name.ident.to_string(), path));
        }
        UseTree::Rename(rename) => {
            let path = [prefix.as_slice(), &[rename.ident.to_string()]].concat();
            leaves.push((rename.rename.to_string(), path));
        }
        UseTree::Glob(_) => leaves.push(("*".to_owned(), prefix.clone())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, leaves)),
    }
}

/// Returns the module that defines what a path names in `module`; `None` for what is outside of the crate.
fn resolve(files: &BTreeMap<Module, File>, module: &Module, path: &[String], depth: usize) -> Option<Module> {
    let file = files.get(module)?;
    let mut at = module.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            at.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                at.pop()?;
                rest = &rest[1..];
            }
        }
        name if file.children.contains(name) => {}
        name => {
            let (_, from) = file.uses.iter().find(|(local, from)| local == name && from != path)?;
            let whole = [from.as_slice(), &path[1..]].concat();
            return if depth < 8 { resolve(files, module, &whole, depth + 1) } else { None };
        }
    }
    while let Some(name) = rest.first() {
        let mut child = at.clone();
        child.push(name.clone());
        if !files.contains_key(&child) {
            break;
        }
        at = child;
        rest = &rest[1..];
    }
    // An item that the module re-exports is its definer's.
    if let (Some(name), Some(parent)) = (rest.first(), files.get(&at))
        && depth < 8
        && let Some((_, from)) = parent.uses.iter().find(|(local, _)| local == name)
        && let Some(definer) = resolve(files, &at, from, depth + 1)
    {
        return Some(definer);
    }
    Some(at)
}
