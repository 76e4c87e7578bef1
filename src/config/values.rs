//! Normalises the values of keys: converts the notations that users may write to the one from which an experiment is
//! deserialised.

use std::slice;

use anyhow::{Result, bail};
use rl_env::nearest;
use settings::{Choice, ConfigError, Field, Kind, whole_number_in};
use toml::Value;

/// The value that unsets an optional key which a layer below sets.
pub(crate) const ABSENT: &str = "absent";

/// Returns true for the value that unsets a key.
pub(super) fn unsets(field: &Field, value: &Value) -> bool {
    field.is_optional && is_absent(value)
}

pub(super) fn is_absent(value: &Value) -> bool {
    value.as_str() == Some(ABSENT)
}

/// Returns a value in normalised form: whole numbers such as `1e7` and `"10M"` as integers, switches as the choices
/// that they stand for, names separated by commas as a list. Fails if the value is not of the kind of the key.
pub(super) fn read_value(key: &str, field: &Field, value: &Value) -> Result<Value> {
    if unsets(field, value) {
        return Ok(value.clone());
    }
    let read = match field.kind {
        Kind::Integer { .. } => return integer(key, field, value),
        Kind::Integers { .. } => integers(key, field, value),
        Kind::Float => float(value),
        Kind::Boolean => value.as_bool().map(Value::Boolean),
        Kind::Text => value.as_str().map(|text| Value::String(text.to_owned())),
        Kind::List => list(value),
        Kind::Choice(choices) => return choice(key, field, choices, value),
        Kind::Table { .. } => value.is_table().then(|| value.clone()),
        Kind::Items { .. } => items(value),
        Kind::Section { .. } | Kind::Tables { .. } => Some(value.clone()),
    };
    read.ok_or_else(|| ConfigError::new(key, value, field.allowed()).into())
}

fn integer(key: &str, field: &Field, value: &Value) -> Result<Value> {
    let text = match value {
        Value::Integer(integer) => integer.to_string(),
        // Floats are shown without an exponent.
        Value::Float(float) => float.to_string(),
        Value::String(text) => text.clone(),
        _ => String::new(),
    };
    let range = field.whole_numbers().unwrap_or(0..=u64::MAX);
    let or_absent = if field.is_optional { format!(", or {ABSENT}") } else { String::new() };
    let integer = whole_number_in(&text, &range)
        .map_err(|allowed| ConfigError::new(key, value, format!("{allowed}{or_absent}")))?;
    Ok(Value::Integer(i64::try_from(integer)?))
}

/// Returns a number, or a list of numbers if there are several.
fn integers(key: &str, field: &Field, value: &Value) -> Option<Value> {
    let of_text: Vec<Value>;
    let values = match value {
        Value::Array(values) => values,
        Value::String(text) => {
            of_text = text.split(',').map(|number| Value::String(number.trim().to_owned())).collect();
            &of_text
        }
        single => slice::from_ref(single),
    };
    let mut read = values.iter().map(|value| integer(key, field, value).ok()).collect::<Option<Vec<_>>>()?;
    match read.len() {
        0 => None,
        1 => read.pop(),
        _ => Some(Value::Array(read)),
    }
}

fn float(value: &Value) -> Option<Value> {
    match value {
        Value::Integer(integer) => Some(Value::Float(*integer as f64)),
        Value::Float(_) => Some(value.clone()),
        // TOML does not allow `.5` and `1.`.
        Value::String(text) => text.parse().ok().map(Value::Float),
        _ => None,
    }
}

fn list(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => {
            Some(Value::Array(text.split(',').map(|name| Value::String(name.trim().to_owned())).collect()))
        }
        Value::Array(names) if names.iter().all(Value::is_str) => Some(value.clone()),
        _ => None,
    }
}

fn items(value: &Value) -> Option<Value> {
    match value {
        Value::Array(items) if items.iter().all(|item| item.is_str() || item.is_table()) => {
            Some(value.clone())
        }
        _ => list(value),
    }
}

fn choice(key: &str, field: &Field, choices: &[Choice], value: &Value) -> Result<Value> {
    if let Some(choice) = choices.iter().find(|choice| selects(value, choice)) {
        return Ok(Value::String(choice.name.to_owned()));
    }
    let error = ConfigError::new(key, value, field.allowed());
    let names = choices.iter().map(|choice| choice.name);
    match value.as_str().and_then(|name| nearest(name, names).first().copied()) {
        Some(near) => bail!("{error}; did you mean {near}?"),
        None => Err(error.into()),
    }
}

/// Returns true if a value selects a choice, by its name or as a switch.
fn selects(value: &Value, choice: &Choice) -> bool {
    match value {
        Value::String(name) => choice.name == name,
        Value::Boolean(switch) => choice.switch == Some(*switch),
        _ => false,
    }
}
