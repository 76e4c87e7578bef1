use std::collections::BTreeSet;

use super::super::group::Group;
use super::super::html::{Table, escaped, name};
use super::super::labels::{differing, shown};
use super::super::runs::Settings;

/// Returns the section with the settings that differ, followed by a collapsed list of all settings.
pub(super) fn settings(groups: &[Group]) -> String {
    let settings: Vec<&Settings> = groups.iter().map(|group| &group.settings).collect();
    let keys: BTreeSet<&String> = settings.iter().flat_map(|settings| settings.keys()).collect();
    let main: Vec<&str> =
        keys.iter().map(|key| key.as_str()).filter(|key| is_comparable(key, groups)).collect();
    let differing = if main.is_empty() { String::new() } else { table(&main, groups) };
    let keys: Vec<&str> = keys.iter().map(|key| key.as_str()).collect();
    format!(
        "<h2>Settings</h2>\n{differing}<details><summary>All settings</summary>\n{}</details>\n",
        table(&keys, groups)
    )
}

/// Returns true if groups differ in the value of a key, and not only because another algorithm lacks the key.
fn is_comparable(key: &str, groups: &[Group]) -> bool {
    let have_key = groups.iter().filter(|group| group.settings.contains_key(key));
    differ(key, have_key)
        || groups.iter().any(|group| {
            let same_algorithm = groups.iter().filter(|other| other.algorithm() == group.algorithm());
            differ(key, same_algorithm)
        })
}

/// Returns true if groups differ in the value of a key.
fn differ<'a>(key: &str, groups: impl Iterator<Item = &'a Group>) -> bool {
    let settings: Vec<&Settings> = groups.map(|group| &group.settings).collect();
    !settings.is_empty() && differing(&settings).iter().any(|other| other == key)
}

/// Returns the values of keys by group: groups are columns, or rows if there are more groups than keys.
fn table(keys: &[&str], groups: &[Group]) -> String {
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

/// Returns the value of a key as text in HTML.
fn value(key: &str, group: &Group) -> String {
    group.settings.get(key).map_or_else(|| "-".to_owned(), |value| escaped(&shown(value)))
}
