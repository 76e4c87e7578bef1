//! The entries of info dictionaries, built as Gymnasium's vector environments build them.

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::details::Details;
use crate::received;

/// The element type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    F64,
    F32,
    I64,
    I8,
    /// An integer after a reset, otherwise `f64`. In Gymnasium the first environment determines the type of the entry,
    /// and the values of the others are converted to it.
    F64ExceptReset,
}

/// One entry of the info dictionary, with a mask in the entry `_NAME`.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    name: String,
    /// The index of the first of [`Details::values`].
    first: usize,
    /// The number of values of an array.
    len: Option<usize>,
    kind: Kind,
}

impl Field {
    /// Returns the entries for values of these names. Values with the names `x_0`, `x_1` and so on are the array `x`.
    pub(crate) fn of_names(names: &[&str], kind: impl Fn(&str) -> Kind) -> Vec<Self> {
        let mut fields: Vec<Self> = Vec::new();
        for (first, name) in names.iter().enumerate() {
            let numbered = name.rsplit_once('_').filter(|(_, number)| number.parse::<usize>().is_ok());
            let name = numbered.map_or(*name, |(array, _)| array);
            match (fields.last_mut(), numbered) {
                (Some(Self { name: array, len: Some(len), .. }), Some(_)) if array == name => *len += 1,
                _ => fields.push(Self {
                    name: name.to_owned(),
                    first,
                    len: numbered.map(|_| 1),
                    kind: kind(name),
                }),
            }
        }
        fields
    }

    /// Returns the name, the type of the elements and the shape of a row of the entry in infos without masks.
    pub(crate) fn described(&self) -> (&str, &'static str, Vec<usize>) {
        let dtype = match self.kind_without_masks() {
            Kind::F64 | Kind::F64ExceptReset => "float64",
            Kind::F32 => "float32",
            Kind::I64 => "int64",
            Kind::I8 => "int8",
        };
        (&self.name, dtype, self.len.into_iter().collect())
    }

    /// Returns the type of the elements in infos without masks, which does not depend on the rows.
    fn kind_without_masks(&self) -> Kind {
        if self.kind == Kind::F64ExceptReset { Kind::F64 } else { self.kind }
    }

    /// Returns the values of a row, if it has them.
    fn values_in_row<'a>(&self, details: &'a Details) -> Option<&'a [f64]> {
        details.values().get(self.first..self.first + self.len.unwrap_or(1))
    }

    /// Returns the array of an entry with elements of this kind, zero in rows without values.
    fn array<'py>(
        &self,
        py: Python<'py>,
        rows: &[Option<&Details>],
        kind: Kind,
    ) -> PyResult<Bound<'py, PyAny>> {
        match kind {
            Kind::F64 => self.converted(py, rows, |value| value),
            Kind::F32 => self.converted(py, rows, |value| value as f32),
            Kind::I64 => self.converted(py, rows, |value| value as i64),
            Kind::I8 => self.converted(py, rows, |value| value as i8),
            Kind::F64ExceptReset => match rows.iter().flatten().next() {
                Some(details) if details.elapsed == 0 => self.converted(py, rows, |value| value as i64),
                _ => self.converted(py, rows, |value| value),
            },
        }
    }

    fn converted<'py, T: Element + Copy + Default>(
        &self,
        py: Python<'py>,
        rows: &[Option<&Details>],
        convert: impl Fn(f64) -> T,
    ) -> PyResult<Bound<'py, PyAny>> {
        let width = self.len.unwrap_or(1);
        let mut elements = Vec::with_capacity(rows.len() * width);
        for row in rows {
            match row.and_then(|details| self.values_in_row(details)) {
                Some(values) => elements.extend(values.iter().map(|&value| convert(value))),
                None => elements.resize(elements.len() + width, T::default()),
            }
        }
        let flat = PyArray1::from_slice(py, &elements);
        Ok(match self.len {
            None => flat.into_any(),
            Some(width) => flat.reshape([rows.len(), width])?.into_any(),
        })
    }
}

/// Adds the entries that some of the rows have, each with its mask. Rows of `None` have no entries.
pub(crate) fn add(info: &Bound<'_, PyDict>, fields: &[Field], rows: &[Option<&Details>]) -> PyResult<()> {
    let py = info.py();
    for field in fields {
        let has = |row: Option<&Details>| row.is_some_and(|details| field.values_in_row(details).is_some());
        let mask: Vec<bool> = rows.iter().map(|row| has(*row)).collect();
        if mask.contains(&true) {
            info.set_item(PyString::intern(py, &field.name), field.array(py, rows, field.kind)?)?;
            info.set_item(format!("_{}", field.name), received::column(py, mask))?;
        }
    }
    Ok(())
}

/// Adds all entries without masks, as in EnvPool. They are zero in rows that do not have them.
pub(crate) fn add_without_masks(
    info: &Bound<'_, PyDict>,
    fields: &[Field],
    rows: &[Option<&Details>],
) -> PyResult<()> {
    for field in fields {
        let array = field.array(info.py(), rows, field.kind_without_masks())?;
        info.set_item(PyString::intern(info.py(), &field.name), array)?;
    }
    Ok(())
}
