use std::collections::BTreeSet;

use super::super::group::Group;
use super::super::html::{Table, escaped, name};
use super::super::labels::{differing, shown};
use super::super::runs::Settings;

/// Returns the section with the settings that differ, followed by a collapsed list of all settings.
pub(super) fn settings(groups: &[Group]) -> String {
    let settings: Vec<&Settings> = groups.iter().map(|group| &group.settings).collect();
    let all: BTreeSet<&String> = settings.iter().flat_map(|settings| settings.keys()).collect();
    let main: Vec<&str> =
        all.iter().map(|key| key.as_str()).filter(|key| is_comparable(key, groups)).collect();
    let differing = if main.is_empty() { String::new() } else { table(&main, groups) };
    let keys: Vec<&str> = all.iter().map(|key| key.as_str()).collect();
    format!(
        "<h2>Settings</h2>\n{differing}<details><summary>All settings</summary>\n{}</details>\n",
        table(&keys, groups)
    )
}

/// Returns true if groups differ in the value of a key, and not only because another algorithm lacks the key.
fn is_comparable(key: &str, groups: &[Group]) -> bool {
    let differs = |of: &dyn Fn(&&Group) -> bool| {
        let settings: Vec<&Settings> =
            groups.iter().filter(|group| of(group)).map(|group| &group.settings).collect();
        !settings.is_empty() && differing(&settings).iter().any(|other| other == key)
    };
    let within_algorithm = |group: &Group| differs(&|other| other.algorithm() == group.algorithm());
    differs(&|group| group.settings.contains_key(key)) || groups.iter().any(within_algorithm)
}

/// Returns the values of keys by group: groups are columns, or rows if there are more groups than keys.
fn table(keys: &[&str], groups: &[Group]) -> String {
    let value = |key: &str, group: &Group| match group.settings.get(key) {
        Some(value) => escaped(&shown(value)),
        None => "-".to_owned(),
    };
    let key = |key: &str| format!("<code>{}</code>", escaped(key));
    let names: Vec<String> = groups.iter().enumerate().map(|(index, group)| name(index, group)).collect();
    if groups.len() > keys.len() {
        let mut table =
            Table::new(std::iter::once("setting".to_owned()).chain(keys.iter().map(|name| key(name))), 1);
        for (name, group) in names.into_iter().zip(groups) {
            table.push(std::iter::once(name).chain(keys.iter().map(|key| value(key, group))).collect());
        }
        return table.html();
    }
    let mut table = Table::new(std::iter::once("key".to_owned()).chain(names), 1);
    for name in keys {
        table.push(std::iter::once(key(name)).chain(groups.iter().map(|group| value(name, group))).collect());
    }
    table.html()
}
