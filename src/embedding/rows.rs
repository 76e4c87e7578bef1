use anyhow::{Result, ensure};
use rl_env::ObservationBuffer;

/// Copies rows, one after the other, to a buffer. `what` names them in the error about a wrong number of bytes.
pub(super) fn fill(buffer: &mut ObservationBuffer, given: &[u8], what: &str) -> Result<()> {
    let (rows, row_bytes) = (buffer.rows(), buffer.row_bytes());
    ensure!(
        given.len() == rows * row_bytes,
        "{} bytes of {what} are not those of {rows} environments, which have {row_bytes} each",
        given.len()
    );
    let given = given.chunks(row_bytes.max(1));
    buffer.rows_mut().zip(given).for_each(|(row, given)| row.copy_from_slice(given));
    Ok(())
}
