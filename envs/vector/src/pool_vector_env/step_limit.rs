use rl_env::{Env, VectorError};

use super::PoolVectorEnv;

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// Limits an environment to `steps` more steps; `None` removes the limit.
    ///
    /// The last step sets [`Batch::truncated`](rl_env::Batch::truncated) unless it reports a termination, such as the
    /// end of the episode or the loss of a life. The episode does not end because of the limit: no statistics are
    /// reported and the environment is not reset. After it the environment ignores its actions: its row repeats the
    /// observation with reward 0 and is marked as not a transition ([`Batch::autoreset`](rl_env::Batch::autoreset)). A
    /// sequence of actions counts as one step and a reset as none. A [`snapshot`](rl_env::VectorEnv::snapshot) does not
    /// contain the limit.
    pub fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        self.phase.check_usable()?;
        self.check_idle(env)?;
        self.pool.task().lock(env).steps_left = steps;
        Ok(())
    }
}
