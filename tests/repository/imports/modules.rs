//! The modules of a crate with the paths that their code names. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

/// The names from the root of the crate to a module or an item.
pub(super) type ModulePath = Vec<String>;

/// A module and what it names.
#[derive(Debug, Default)]
pub(super) struct Module {
    pub(super) file: PathBuf,
    /// The paths that `use` brings into scope, by their names there.
    pub(super) imports: BTreeMap<String, ModulePath>,
    /// The names among `imports` that other modules can use from here.
    pub(super) reexports: BTreeSet<String>,
    /// Paths in the code, and the first names of longer ones. Those of other crates and of local items are among them.
    pub(super) named: BTreeSet<ModulePath>,
}

/// The modules of a crate by their paths.
pub(super) type Modules = BTreeMap<ModulePath, Module>;

/// Reads the modules of a crate from the file of its root.
pub(super) fn read(root: &Path) -> Modules {
    let mut modules = Modules::new();
    let directory = root.parent().expect("a directory").to_owned();
    read_file(root, &directory, ModulePath::new(), &mut modules);
    modules
}

fn read_file(file: &Path, directory: &Path, path: ModulePath, modules: &mut Modules) {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let items = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())).items;
    read_items(items, file, directory, path, modules);
}

fn read_items(items: Vec<Item>, file: &Path, directory: &Path, path: ModulePath, modules: &mut Modules) {
    let mut reader =
        Reader { module: Module { file: file.to_owned(), ..Module::default() }, path: path.clone() };
    for item in items {
        match item {
            Item::Mod(item) if is_test(&item.attrs) => {}
            Item::Mod(item) => read_child(item, file, directory, &path, modules),
            item => reader.visit_item(&item),
        }
    }
    modules.insert(path, reader.module);
}

fn read_child(item: ItemMod, file: &Path, directory: &Path, path: &ModulePath, modules: &mut Modules) {
    let name = item.ident.to_string();
    let child = [path.as_slice(), std::slice::from_ref(&name)].concat();
    let inner = directory.join(&name);
    if let Some((_, items)) = item.content {
        return read_items(items, file, &inner, child, modules);
    }
    let files = [directory.join(format!("{name}.rs")), inner.join("mod.rs")];
    let file = files.into_iter().find(|file| file.exists());
    let file = file.unwrap_or_else(|| panic!("no file of {}", inner.display()));
    read_file(&file, &inner, child, modules);
}

/// Returns true for items that are compiled only in tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.meta.require_list().map(|list| list.tokens.to_string()).unwrap_or_default();
        let is_cfg = attribute.path().is_ident("cfg");
        attribute.path().is_ident("test")
            || is_cfg && condition.contains("test") && !condition.contains("not")
    })
}

struct Reader {
    module: Module,
    path: ModulePath,
}

impl Reader {
    /// Returns the path from the root of the crate. Paths of other crates and of child modules are relative.
    fn absolute(&self, path: &[String]) -> ModulePath {
        let supers = path.iter().take_while(|name| *name == "super").count();
        match path.first().map(String::as_str) {
            Some("self") => rooted(&self.path, &path[1..]),
            Some("super") => rooted(&self.path[..self.path.len() - supers], &path[supers..]),
            _ => path.to_vec(),
        }
    }

    /// Brings a name into scope.
    fn bring(&mut self, name: String, path: &[String], is_reexport: bool) {
        let path = self.absolute(path);
        if is_reexport {
            self.module.reexports.insert(name.clone());
        }
        self.module.imports.insert(name, path);
    }

    fn add_import(&mut self, tree: &UseTree, before: &[String], is_reexport: bool) {
        match tree {
            UseTree::Path(part) => {
                let path = [before, &[part.ident.to_string()]].concat();
                self.add_import(&part.tree, &path, is_reexport);
            }
            UseTree::Name(name) if name.ident == "self" => {
                self.bring(before.last().cloned().unwrap_or_default(), before, is_reexport);
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.bring(name.clone(), &[before, &[name]].concat(), is_reexport);
            }
            UseTree::Rename(item) => {
                // `as _` brings a trait into scope without a name.
                let name = format!("{} as {}", item.ident, item.rename);
                let name = if item.rename == "_" { name } else { item.rename.to_string() };
                self.bring(name, &[before, &[item.ident.to_string()]].concat(), is_reexport);
            }
            UseTree::Glob(_) => {
                self.bring(format!("{}::*", before.join("::")), before, is_reexport);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_import(tree, before, is_reexport));
            }
        }
    }

    /// Adds the paths in the tokens of a macro.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: ModulePath = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.add_path(&std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.add_path(&std::mem::take(&mut path));
                    self.add_tokens(group.stream());
                    colons = 0;
                }
                _ => {
                    self.add_path(&std::mem::take(&mut path));
                    colons = 0;
                }
            }
        }
        self.add_path(&path);
    }

    fn add_path(&mut self, path: &[String]) {
        if !path.is_empty() {
            let path = self.absolute(path);
            self.module.named.insert(path);
        }
    }
}

fn rooted(module: &[String], rest: &[String]) -> ModulePath {
    [&["crate".to_owned()], module, rest].concat()
}

impl Visit<'_> for Reader {
    fn visit_item(&mut self, item: &Item) {
        let attributes = match item {
            Item::Const(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Macro(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Static(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Trait(item) => &item.attrs,
            Item::Type(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        self.add_import(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
    }

    fn visit_path(&mut self, path: &syn::Path) {
        let names: ModulePath = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add_path(&names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &syn::Macro) {
        self.visit_path(&item.path);
        self.add_tokens(item.tokens.clone());
    }

    /// `pub(super)` and the like use nothing.
    fn visit_visibility(&mut self, _: &Visibility) {}

    /// Documentation may name anything.
    fn visit_attribute(&mut self, _: &Attribute) {}
}
