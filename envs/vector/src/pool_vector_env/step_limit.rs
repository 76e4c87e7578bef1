use rl_env::{Env, VectorError};

use super::PoolVectorEnv;

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// Lets an environment make so many steps more, and then rest; `None` for no limit, as it is at first.
    ///
    /// The last of these steps cuts the episode off ([`Batch::truncated`](rl_env::Batch::truncated), unless the step
    /// terminates it); that its statistics are not reported, and that it is not reset, tells it from the end of an episode.
    /// From then on the environment costs nothing but its row: whatever action it is given, the row shows the same
    /// observation again, with reward 0, and is no transition ([`Batch::autoreset`](rl_env::Batch::autoreset)). A sequence
    /// of actions counts as one step, a reset as none; a [`snapshot`](rl_env::VectorEnv::snapshot) does not hold the limit.
    pub fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        self.check_not_broken()?;
        self.check_idle(env)?;
        self.pool.task().lock(env).steps_left = steps;
        Ok(())
    }
}
