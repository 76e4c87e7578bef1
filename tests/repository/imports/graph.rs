//! The arrows between the files of a crate: from a file to those that define what it names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::modules::{Module, ModulePath, Modules};

/// The files that each file uses, with one of the names for each.
pub(super) type Arrows = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// Returns the arrows between the files of a crate. A name that a module only passes on counts as one of the file that
/// defines it. There are no arrows to a file from the modules below it, which are parts of the same whole.
pub(super) fn arrows(modules: &Modules) -> Arrows {
    let mut arrows = Arrows::new();
    for (path, module) in modules {
        let imported = module.imports.iter().filter(|(name, _)| {
            let is_used = || module.named.iter().any(|named| named.first() == Some(name));
            !module.reexports.contains(*name) || is_used()
        });
        let paths = imported.map(|(_, target)| target).chain(&module.named);
        for target in paths {
            let Some((definer, used)) = definition(modules, path, target, 0) else { continue };
            if used.file != module.file && !path.starts_with(&definer) {
                let arrow = arrows.entry(module.file.clone()).or_default().entry(used.file.clone());
                arrow.or_insert_with(|| target.join("::"));
            }
        }
        arrows.entry(module.file.clone()).or_default();
    }
    arrows
}

/// Returns the module that defines what `target` names in the module at `path`; none for other crates and local names.
fn definition<'a>(
    modules: &'a Modules,
    path: &ModulePath,
    target: &ModulePath,
    depth: usize,
) -> Option<(ModulePath, &'a Module)> {
    assert!(depth < 20, "{target:?} is imported in a circle");
    let (first, rest) = target.split_first()?;
    if first != "crate" {
        let child = [path.as_slice(), std::slice::from_ref(first)].concat();
        if modules.contains_key(&child) {
            return within(modules, child, rest, depth);
        }
        // An import named like its own target is of another crate.
        let import = modules[path].imports.get(first).filter(|import| import.first() != Some(first))?;
        return definition(modules, path, &[import.as_slice(), rest].concat(), depth + 1);
    }
    within(modules, ModulePath::new(), rest, depth)
}

/// Returns the module that defines what the names after the module at `path` stand for.
fn within<'a>(
    modules: &'a Modules,
    mut path: ModulePath,
    rest: &[String],
    depth: usize,
) -> Option<(ModulePath, &'a Module)> {
    let mut rest = rest;
    while let Some((name, after)) = rest.split_first() {
        path.push(name.clone());
        if !modules.contains_key(&path) {
            path.pop();
            break;
        }
        rest = after;
    }
    let module = &modules[&path];
    let reexport = rest.first().and_then(|name| module.imports.get(name));
    match reexport {
        Some(import) => definition(modules, &path, import, depth + 1),
        None => Some((path, module)),
    }
}

/// Returns the sets of nodes that reach each other, each sorted, without single nodes.
pub(super) fn circles<N: Ord + Clone>(arrows: &BTreeMap<N, BTreeSet<N>>) -> Vec<Vec<N>> {
    let reached: BTreeMap<&N, BTreeSet<&N>> =
        arrows.keys().map(|node| (node, reachable(arrows, node))).collect();
    let mut circles: BTreeSet<Vec<N>> = BTreeSet::new();
    for (node, nodes) in reached.iter().filter(|(node, nodes)| nodes.contains(*node)) {
        let returns = |other: &&&N| reached.get(*other).is_some_and(|nodes| nodes.contains(node));
        circles.insert(nodes.iter().filter(returns).map(|other| (*other).clone()).collect());
    }
    circles.into_iter().collect()
}

/// Returns the nodes at the end of one or more arrows from a node.
fn reachable<'a, N: Ord>(arrows: &'a BTreeMap<N, BTreeSet<N>>, from: &'a N) -> BTreeSet<&'a N> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(node) = open.pop() {
        for next in arrows.get(node).into_iter().flatten() {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

/// Returns the arrows among some files, one a line, for a message.
pub(super) fn described(arrows: &Arrows, files: &[PathBuf]) -> String {
    let lines = files.iter().flat_map(|from| {
        let targets = arrows[from].iter().filter(|(to, _)| files.contains(to));
        targets.map(move |(to, name)| format!("  {} -> {}: {name}", from.display(), to.display()))
    });
    lines.collect::<Vec<_>>().join("\n")
}
