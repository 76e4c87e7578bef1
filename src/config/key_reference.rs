//! The page with every key, `docs/src/reference/configuration.md`.

use std::fmt::Write;

use anyhow::Result;
use settings::{Field, Kind, Limits, paragraph};
use toml::{Table, Value};

use super::schema::{Keys, keys};
use super::values::ABSENT;
use super::written::Sections;
use crate::learner::{Algorithm, to_table};

const INTRODUCTION: &str = "\
# Configuration

All keys of an experiment, as printed by `ale-train config --reference`. An experiment is a TOML file with these
sections, read by `--config`; `--set section.key=value` changes one key. A key that is left out takes the value of the
preset that a `preset` key before the first section names, such as `preset = \"many-ppo\"`, or otherwise its default.
The value `absent` unsets an optional key that a preset sets.
`ale-train config` with the flags of `ale-train ppo` prints the experiment that they describe. For another algorithm,
add `--set experiment.algorithm=dqn` (or `pqn`, `sac`). `ale-train resume --set` changes keys of a run, except for those
that are fixed.
";

/// Returns the page in Markdown.
pub(crate) fn reference() -> Result<String> {
    let mut defaults = to_table(&Sections::default())?;
    for algorithm in Algorithm::ALL {
        defaults.extend((algorithm.descriptor().read)(&Table::new())?.to_toml()?);
    }
    let mut page = INTRODUCTION.to_owned();
    for Keys { section, lines, fields } in keys() {
        // Writing to a string cannot fail.
        let _ = write!(
            page,
            "\n## [{section}]\n\n{}\n\n| key | type | default | values | meaning |\n|---|---|---|---|---|\n",
            paragraph(lines)
        );
        let defaults = section.split('.').try_fold(&defaults, |table, name| table.get(name)?.as_table());
        for field in fields {
            let default = defaults.and_then(|section| section.get(field.name));
            let default = default.map_or_else(|| ABSENT.to_owned(), shown);
            let (name, kind, values, about) = (field.name, kind(field.kind), values(field), field.about());
            let about = if field.fixed.is_some() { about + " Fixed once a run has begun." } else { about };
            let _ = writeln!(page, "| `{name}` | {kind} | {default} | {values} | {about} |");
        }
    }
    Ok(page)
}

/// Returns the name of a type in TOML.
fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer { .. } => "integer",
        Kind::Integers { .. } => "integer or list of integers",
        Kind::Float => "float",
        Kind::Boolean => "boolean",
        Kind::Text | Kind::Choice(_) => "string",
        Kind::List => "list of strings",
        Kind::Items { .. } => "list",
        Kind::Table { .. } | Kind::Section { .. } | Kind::Tables { .. } => "table",
    }
}

/// Returns the values that are allowed.
fn values(field: &Field) -> String {
    let values = match field.kind {
        Kind::Integer { .. } | Kind::Integers { .. } if field.limits == Limits::NONE => {
            "0 or more".to_owned()
        }
        Kind::Integer { .. } | Kind::Integers { .. } | Kind::Float => field.limits.to_string(),
        Kind::Choice(choices) => {
            choices.iter().map(|choice| format!("`{}`", choice.name)).collect::<Vec<_>>().join(", ")
        }
        Kind::Boolean
        | Kind::Text
        | Kind::List
        | Kind::Table { .. }
        | Kind::Items { .. }
        | Kind::Section { .. }
        | Kind::Tables { .. } => String::new(),
    };
    match (field.is_optional, values.as_str()) {
        (false, _) => values,
        (true, "") => "may be absent".to_owned(),
        (true, _) => format!("{values}, or absent"),
    }
}

/// Formats a default. In TOML, an `f32` would have more digits than were written.
fn shown(value: &Value) -> String {
    match value {
        Value::Float(number) => format!("`{:?}`", *number as f32),
        value => format!("`{value}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_up_to_date() {
        let page = include_str!("../../docs/src/reference/configuration.md");
        let message = "write it with `ale-train config --reference > docs/src/reference/configuration.md`";
        assert!(page == reference().unwrap(), "{message}");
    }

    #[test]
    fn every_key_is_documented() {
        for keys in keys() {
            assert!(!paragraph(keys.lines).is_empty(), "{}", keys.section);
            for field in keys.fields {
                assert!(field.about().ends_with('.'), "{}.{}", keys.section, field.name);
            }
        }
    }
}
