use pulp::Arch;

use crate::products::{Grid, Panels, PositionSums};

/// Sums the rows of a matrix.
pub(super) fn sums_of_rows(matrix: &Panels, rows: usize) -> Vec<f32> {
    let mut result = Panels::zeros(1, matrix.columns());
    for index in 0..matrix.count() {
        let grid = Grid { height: 1, width: rows, row_step: 0, step: matrix.width() };
        let (values, sums) = (matrix.panel(index), result.panel_mut(index));
        Arch::new().dispatch(PositionSums { values, grid, sums });
    }
    result.into_matrix()
}
