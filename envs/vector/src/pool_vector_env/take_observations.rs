//! Handing observations over for good.

use std::mem;

use rl_env::{Env, ObservationBuffer, VectorError};

use super::{PoolVectorEnv, check_len};

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// Takes the observations out of the batch that was received last, so that they can be kept without a copy.
    ///
    /// `spare`, of the same form and with any contents, comes in their place: first in [`batch`](Self::batch), then as the
    /// memory of a later batch.
    pub fn take_observations(
        &mut self,
        mut spare: ObservationBuffer,
    ) -> Result<ObservationBuffer, VectorError> {
        let last = self.last_batch();
        let observations = &mut self.batches[last].observations;
        check_len("rows of the spare buffer", spare.rows(), observations.rows())?;
        check_len("bytes in a row of the spare buffer", spare.row_bytes(), observations.row_bytes())?;
        self.pool.task().replace_observations(last, &mut spare);
        Ok(mem::replace(observations, spare))
    }
}
