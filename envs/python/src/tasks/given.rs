use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The value of an argument.
#[derive(Clone, Debug, FromPyObject)]
pub(crate) enum Argument {
    Flag(bool),
    Number(f64),
    Text(String),
    Pair([f64; 2]),
    Triple([f64; 3]),
    Texts(Vec<String>),
}

/// The arguments that the user gave for an environment.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    id: String,
    /// The names and values, which are `None` for Python's None.
    values: Vec<(String, Option<Argument>)>,
}

impl Given {
    /// Reads a dictionary. Raises a `TypeError` for a value of a type that no argument has.
    pub(crate) fn new(id: &str, arguments: &Bound<'_, PyDict>) -> PyResult<Self> {
        let values = arguments.iter().map(|(name, value)| {
            let name: String = name.extract()?;
            let kind = value.get_type().name()?;
            let value = value.extract().map_err(|_| {
                PyTypeError::new_err(format!(
                    "{name} of {id} must be a bool, a number, a str, two or three numbers or a list of str, not {kind}"
                ))
            })?;
            Ok((name, value))
        });
        Ok(Self { id: id.to_owned(), values: values.collect::<PyResult<_>>()? })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Option<&Argument>)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_ref()))
    }

    /// Raises a `TypeError` for an argument whose name is not in `known`.
    pub(crate) fn require_names(&self, known: &[&str]) -> PyResult<()> {
        let Some((name, _)) = self.iter().find(|(name, _)| !known.contains(name)) else {
            return Ok(());
        };
        let id = &self.id;
        let known = match known {
            [] => "it takes no arguments".to_owned(),
            known => format!("its arguments are {}", known.join(", ")),
        };
        Err(PyTypeError::new_err(format!("{id} has no argument {name:?}; {known}")))
    }

    fn find(&self, name: &str) -> Option<&Option<Argument>> {
        self.values.iter().find(|(given, _)| given == name).map(|(_, value)| value)
    }

    /// Returns true if an argument was given as None.
    pub(crate) fn is_none(&self, name: &str) -> bool {
        matches!(self.find(name), Some(None))
    }

    fn must_be(&self, name: &str, expected: &str) -> PyErr {
        PyTypeError::new_err(format!("{name} of {} must be {expected}", self.id))
    }

    /// Returns a finite number.
    pub(crate) fn number(&self, name: &str, default: f64) -> PyResult<f64> {
        match self.find(name) {
            None => Ok(default),
            Some(Some(Argument::Number(number))) if number.is_finite() => Ok(*number),
            Some(_) => Err(self.must_be(name, "a finite number")),
        }
    }

    /// Returns a probability.
    pub(crate) fn probability(&self, name: &str, default: f64) -> PyResult<f64> {
        let probability = self.number(name, default)?;
        if (0.0..=1.0).contains(&probability) {
            return Ok(probability);
        }
        Err(self.invalid(&format!("{name} is {probability}, but must be between 0 and 1")))
    }

    /// Returns three finite numbers.
    pub(crate) fn triple(&self, name: &str, default: [f64; 3]) -> PyResult<[f64; 3]> {
        match self.find(name) {
            None => Ok(default),
            Some(Some(Argument::Triple(numbers))) if numbers.iter().all(|number| number.is_finite()) => {
                Ok(*numbers)
            }
            Some(_) => Err(self.must_be(name, "three finite numbers")),
        }
    }

    pub(crate) fn flag(&self, name: &str, default: bool) -> PyResult<bool> {
        match self.find(name) {
            None => Ok(default),
            Some(Some(Argument::Flag(flag))) => Ok(*flag),
            Some(_) => Err(self.must_be(name, "True or False")),
        }
    }

    /// Returns a text, or `None` if it was not given or given as None.
    pub(crate) fn text(&self, name: &str) -> PyResult<Option<&str>> {
        match self.find(name) {
            None | Some(None) => Ok(None),
            Some(Some(Argument::Text(text))) => Ok(Some(text)),
            Some(_) => Err(self.must_be(name, "a str")),
        }
    }

    /// Returns a list of texts, or `None` if it was not given or given as None.
    pub(crate) fn texts(&self, name: &str) -> PyResult<Option<&[String]>> {
        match self.find(name) {
            None | Some(None) => Ok(None),
            Some(Some(Argument::Texts(texts))) => Ok(Some(texts)),
            Some(_) => Err(self.must_be(name, "a list of str")),
        }
    }

    /// Returns the `ValueError` of an argument, with the id of the environment.
    pub(crate) fn invalid(&self, message: &str) -> PyErr {
        PyValueError::new_err(format!("{}: {message}", self.id))
    }
}
