//! Moving observations out of a batch.

use std::mem;

use rl_env::{Env, ObservationBuffer, VectorError};

use super::PoolVectorEnv;

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// Moves the observations out of the last batch, so that they can be kept without a copy.
    ///
    /// `spare`, a buffer of the same shape with arbitrary contents, replaces them in [`batch`](Self::batch) and becomes
    /// the memory of a later batch.
    pub fn take_observations(
        &mut self,
        mut spare: ObservationBuffer,
    ) -> Result<ObservationBuffer, VectorError> {
        let last = self.last_batch();
        let observations = &mut self.batches[last].observations;
        VectorError::check_len("rows of the spare buffer", spare.rows(), observations.rows())?;
        VectorError::check_len(
            "bytes in a row of the spare buffer",
            spare.row_bytes(),
            observations.row_bytes(),
        )?;
        self.pool.task().replace_observations(last, &mut spare);
        Ok(mem::replace(observations, spare))
    }
}
