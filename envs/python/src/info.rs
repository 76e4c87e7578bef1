//! The info dictionaries.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::columns::{self, Column, Rows, Values};
use crate::received;

/// Returns the info of the last batch: the entries of ale-py, and if `extra` the others.
pub(crate) fn of_batch<'py>(py: Python<'py>, rows: &Rows<'_>, extra: bool) -> PyResult<Bound<'py, PyDict>> {
    let info = PyDict::new(py);
    add(&info, rows, columns::OF_ALE_PY)?;
    if extra {
        add(&info, rows, columns::EXTRA)?;
        if rows.batch.episodes.iter().any(Option::is_some) {
            add(&info, rows, columns::OF_EPISODES)?;
        }
    }
    Ok(info)
}

fn add(info: &Bound<'_, PyDict>, rows: &Rows<'_>, columns: &[Column]) -> PyResult<()> {
    for column in columns {
        let name = PyString::intern(info.py(), column.name);
        let values = array(info.py(), rows, &column.values)?;
        match column.group {
            None => info.set_item(name, values)?,
            Some(group) => within(info, group)?.set_item(name, values)?,
        }
    }
    Ok(())
}

/// Returns a dictionary within info, which is created if it is missing.
fn within<'py>(info: &Bound<'py, PyDict>, group: &str) -> PyResult<Bound<'py, PyDict>> {
    if let Some(existing) = info.get_item(group)? {
        return Ok(existing.cast_into()?);
    }
    let created = PyDict::new(info.py());
    info.set_item(group, &created)?;
    Ok(created)
}

/// Returns the values of all rows.
fn array<'py>(py: Python<'py>, rows: &Rows<'_>, values: &Values) -> PyResult<Bound<'py, PyAny>> {
    let indices = 0..rows.len();
    Ok(match values {
        Values::I32(value) => received::column(py, indices.map(|row| value(rows, row))).into_any(),
        Values::I64(value) => received::column(py, indices.map(|row| value(rows, row))).into_any(),
        Values::F64(value) => received::column(py, indices.map(|row| value(rows, row))).into_any(),
        Values::Bool(value) => received::column(py, indices.map(|row| value(rows, row))).into_any(),
        Values::ActionMask => {
            let masks: Vec<&[bool]> = indices.map(|row| rows.action_mask(row)).collect();
            let shape = [masks.len(), masks.first().map_or(0, |mask| mask.len())];
            PyArray1::from_vec(py, masks.concat()).reshape(shape)?.into_any()
        }
        Values::Ram => {
            let bytes: Vec<u8> = indices.flat_map(|row| rows.ram(row)).collect();
            PyArray1::from_vec(py, bytes).reshape([rows.len(), ale::RAM])?.into_any()
        }
    })
}
