//! What the crates of this workspace show each other. The compiler reports unused private items only, and every crate but
//! the root is used by this workspace alone.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;
use syn::{Attribute, ImplItem, Item, Visibility};

use super::sources::Source;

/// A `pub` item or method: its name, where it is, and whether it has a doc comment.
struct Public {
    name: String,
    place: String,
    documented: bool,
    /// Types may be needed by name in a signature only; everything else is called by its name.
    is_type: bool,
}

/// Returns the `pub` items and methods that no other crate names. A type also counts as used when a public signature,
/// field or variant of its own crate names it. Two items of one name count as one.
pub(super) fn unused(sources: &[Source]) -> Vec<String> {
    let mut words: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in sources {
        let found = words.entry(&source.krate).or_default();
        found.extend(identifiers(&source.text));
    }
    let mut signatures: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for source in sources {
        signatures.entry(&source.krate).or_default().extend(types_in_signatures(&source.text));
    }
    let mut unused = Vec::new();
    for source in sources.iter().filter(|source| source.krate != "adjutant") {
        for item in public_items(source) {
            let name = item.name.as_str();
            let elsewhere = words.iter().any(|(krate, names)| *krate != source.krate && names.contains(name));
            let in_signature = item.is_type && signatures[source.krate.as_str()].contains(name);
            if !elsewhere && !in_signature {
                unused.push(format!("{}: `{name}`", item.place));
            }
        }
    }
    unused
}

/// Returns the `pub` items and methods without a doc comment.
pub(super) fn undocumented(sources: &[Source]) -> Vec<String> {
    let own = sources.iter().filter(|source| source.krate != "adjutant");
    let items = own.flat_map(public_items).filter(|item| !item.documented);
    items.map(|item| format!("{}: `{}`", item.place, item.name)).collect()
}

/// Splits a text without its comment lines into identifiers.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_')))
        .filter(|word| !word.is_empty())
}

fn public_items(source: &Source) -> Vec<Public> {
    let mut found = Vec::new();
    let file = syn::parse_file(&source.text).unwrap();
    for item in &file.items {
        let (visibility, name, attributes, is_type) = match item {
            Item::Fn(item) => (&item.vis, &item.sig.ident, &item.attrs, false),
            Item::Const(item) => (&item.vis, &item.ident, &item.attrs, false),
            Item::Static(item) => (&item.vis, &item.ident, &item.attrs, false),
            Item::Struct(item) => (&item.vis, &item.ident, &item.attrs, true),
            Item::Enum(item) => (&item.vis, &item.ident, &item.attrs, true),
            Item::Type(item) => (&item.vis, &item.ident, &item.attrs, true),
            Item::Trait(item) => (&item.vis, &item.ident, &item.attrs, true),
            Item::Impl(block) if block.trait_.is_none() && !for_tests(&block.attrs) => {
                for method in &block.items {
                    if let ImplItem::Fn(method) = method {
                        push(&mut found, source, &method.vis, &method.sig.ident, &method.attrs, false);
                    }
                    if let ImplItem::Const(constant) = method {
                        push(&mut found, source, &constant.vis, &constant.ident, &constant.attrs, false);
                    }
                }
                continue;
            }
            _ => continue,
        };
        push(&mut found, source, visibility, name, attributes, is_type);
    }
    found
}

fn push(
    found: &mut Vec<Public>,
    source: &Source,
    visibility: &Visibility,
    name: &syn::Ident,
    attributes: &[Attribute],
    is_type: bool,
) {
    if matches!(visibility, Visibility::Public(_)) && !for_tests(attributes) {
        let documented = attributes.iter().any(|attribute| attribute.path().is_ident("doc"));
        let place = source.path.display().to_string();
        found.push(Public { name: name.to_string(), place, documented, is_type });
    }
}

/// Whether an item is there for tests alone: `#[cfg(test)]`, or a feature that only tests and fuzzing set.
fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| {
                let condition = list.tokens.to_string();
                ["test", "\"testing\"", "fuzzing"].iter().any(|word| condition.contains(word))
            })
    })
}

/// Returns the names of the types in the functions' signatures, fields, variants, aliases and constants of a file.
fn types_in_signatures(text: &str) -> BTreeSet<String> {
    struct Signatures(BTreeSet<String>);
    impl<'ast> Visit<'ast> for Signatures {
        fn visit_block(&mut self, _: &'ast syn::Block) {}
        fn visit_item_use(&mut self, _: &'ast syn::ItemUse) {}
        fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
            // The type that a block is for is not a use of that type; what its functions take and give is.
            block.items.iter().for_each(|item| self.visit_impl_item(item));
        }
        fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
            // What a macro declares is not parsed, so each of its words may be a type.
            let tokens = item.mac.tokens.to_string();
            self.0.extend(tokens.split(|c: char| !(c.is_alphanumeric() || c == '_')).map(str::to_owned));
        }
        fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
            self.0.insert(segment.ident.to_string());
            syn::visit::visit_path_segment(self, segment);
        }
    }
    let mut signatures = Signatures(BTreeSet::new());
    signatures.visit_file(&syn::parse_file(text).unwrap());
    signatures.0
}
