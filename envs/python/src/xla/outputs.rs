//! The results of calls: a batch as a list of arrays.

use super::call::{Element, Failure, Flag, Results};
use crate::columns::{self, Column, Rows, Values};
use crate::environments::Environments;

/// An array in the results: its place in Python's result, its element type as NumPy names it, and its shape.
pub(crate) type Output = (Vec<&'static str>, &'static str, Vec<usize>);

/// A destination of arrays: the memory of XLA, or a list of their element types and shapes.
pub(super) trait Sink {
    /// Takes the next array, whose rows have the shape `row_shape`.
    fn put<T: Element>(
        &mut self,
        path: &[&'static str],
        rows: usize,
        row_shape: &[usize],
        values: impl Iterator<Item = T>,
    ) -> Result<(), Failure>;

    /// Takes the next array, whose rows are these bytes.
    fn put_rows<'r>(
        &mut self,
        path: &[&'static str],
        row_shape: &[usize],
        rows: impl ExactSizeIterator<Item = &'r [u8]>,
    ) -> Result<(), Failure>;
}

impl Sink for Results<'_> {
    fn put<T: Element>(
        &mut self,
        _path: &[&'static str],
        rows: usize,
        row_shape: &[usize],
        values: impl Iterator<Item = T>,
    ) -> Result<(), Failure> {
        self.write(rows * row_shape.iter().product::<usize>(), values)
    }

    fn put_rows<'r>(
        &mut self,
        _path: &[&'static str],
        row_shape: &[usize],
        rows: impl ExactSizeIterator<Item = &'r [u8]>,
    ) -> Result<(), Failure> {
        self.write_rows(row_shape.iter().product(), rows)
    }
}

/// The paths, element types and shapes of the arrays.
#[derive(Default)]
struct Forms(Vec<Output>);

impl Sink for Forms {
    fn put<T: Element>(
        &mut self,
        path: &[&'static str],
        rows: usize,
        row_shape: &[usize],
        _values: impl Iterator<Item = T>,
    ) -> Result<(), Failure> {
        self.0.push((path.to_vec(), T::NAME, [&[rows], row_shape].concat()));
        Ok(())
    }

    fn put_rows<'r>(
        &mut self,
        path: &[&'static str],
        row_shape: &[usize],
        rows: impl ExactSizeIterator<Item = &'r [u8]>,
    ) -> Result<(), Failure> {
        self.0.push((path.to_vec(), u8::NAME, [&[rows.len()], row_shape].concat()));
        Ok(())
    }
}

/// Returns the paths, element types and shapes of the results of a reset, after the handle.
pub(crate) fn reset_outputs(envs: &Environments, rows: &Rows<'_>) -> Vec<Output> {
    let mut forms = Forms::default();
    // `Forms` never fails.
    let _ = put_reset(envs, rows, &mut forms);
    forms.0
}

/// Returns the paths, element types and shapes of the results of a step, after the handle.
pub(crate) fn step_outputs(envs: &Environments, rows: &Rows<'_>) -> Vec<Output> {
    let mut forms = Forms::default();
    // `Forms` never fails.
    let _ = put_step(envs, rows, &mut forms);
    forms.0
}

/// Puts the observations and info of a reset.
pub(super) fn put_reset(envs: &Environments, rows: &Rows<'_>, sink: &mut impl Sink) -> Result<(), Failure> {
    let observations = &rows.batch.observations;
    sink.put_rows(&["observations"], &envs.shape, (0..rows.len()).map(|row| observations.row(row)))?;
    put_columns(rows, columns::OF_ALE_PY, sink)?;
    if envs.extra_info { put_columns(rows, columns::EXTRA, sink) } else { Ok(()) }
}

/// Puts the results of a step. Since the number of arrays cannot depend on their values, statistics of episodes and
/// final observations are among them even if no episode ended.
pub(super) fn put_step(envs: &Environments, rows: &Rows<'_>, sink: &mut impl Sink) -> Result<(), Failure> {
    let (batch, len) = (rows.batch, rows.len());
    sink.put(&["rewards"], len, &[], batch.rewards.iter().map(|&reward| reward as i32))?;
    sink.put(&["terminated"], len, &[], flags(&batch.terminated))?;
    sink.put(&["truncated"], len, &[], flags(&batch.truncated))?;
    put_reset(envs, rows, sink)?;
    if envs.extra_info {
        put_columns(rows, columns::OF_EPISODES, sink)?;
    }
    let finals = &batch.final_observations;
    if finals.rows() > 0 {
        sink.put_rows(&["info", "final_obs"], &envs.shape, (0..len).map(|row| finals.row(row)))?;
    }
    Ok(())
}

fn flags(flags: &[bool]) -> impl Iterator<Item = Flag> {
    flags.iter().map(|&flag| Flag::from(flag))
}

fn put_columns(rows: &Rows<'_>, columns: &[Column], sink: &mut impl Sink) -> Result<(), Failure> {
    let len = rows.len();
    for column in columns {
        let path: Vec<_> = ["info"].into_iter().chain(column.group).chain([column.name]).collect();
        let indices = 0..len;
        match column.values {
            Values::I32(value) => sink.put(&path, len, &[], indices.map(|row| value(rows, row)))?,
            Values::I64(value) => sink.put(&path, len, &[], indices.map(|row| value(rows, row) as i32))?,
            Values::F64(value) => sink.put(&path, len, &[], indices.map(|row| value(rows, row) as f32))?,
            Values::Bool(value) => {
                sink.put(&path, len, &[], indices.map(|row| Flag::from(value(rows, row))))?;
            }
            Values::ActionMask => {
                let masks: Vec<&[bool]> = indices.map(|row| rows.action_mask(row)).collect();
                let width = masks.first().map_or(0, |mask| mask.len());
                sink.put(&path, len, &[width], masks.concat().into_iter().map(Flag::from))?;
            }
            Values::Ram => sink.put(&path, len, &[ale::RAM], indices.flat_map(|row| rows.ram(row)))?,
        }
    }
    Ok(())
}
