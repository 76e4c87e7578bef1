//! Sending actions: to the environments of the last batch, to chosen ones, one action each or whole sequences.

use rl_env::{Actions, Env, EnvError};

use crate::PoolVectorEnv;
use crate::action_sequence::{part, total_len};
use crate::pool_vector_env::check_len;

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// Gives one action to each of these environments, in this order, and returns at once. Any that are not under way
    /// may be named, each once; `actions` holds their actions one after another.
    ///
    /// With batches in order the results still stand in the order of the environments, and `recv` can be called once all
    /// have been sent to. On an error nothing is sent.
    pub fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), EnvError> {
        self.dispatch(actions, Some(env_ids), None)
    }

    /// Gives a sequence of actions (a macro-action) to each of these environments, as [`send_to`](Self::send_to) does;
    /// `lengths` says how many, at least one each.
    ///
    /// An environment performs its sequence as one step: the row shows the last observation and the sums of the
    /// rewards. A sequence ends early with the action that terminates or truncates the episode (or reports a lost life
    /// as a termination); [`Batch::steps`](rl_env::Batch::steps) says how many were performed.
    pub fn send_sequences(
        &mut self,
        actions: Actions<'_>,
        lengths: &[usize],
        env_ids: &[usize],
    ) -> Result<(), EnvError> {
        check_len("lengths of action sequences", lengths.len(), env_ids.len())?;
        self.dispatch(actions, Some(env_ids), Some(lengths))
    }

    /// Action `i` goes to the environment of row `i` of the last batch.
    pub(crate) fn send_to_last_batch(&mut self, actions: Actions<'_>) -> Result<(), EnvError> {
        self.dispatch(actions, None, None)
    }

    /// Sends to these environments or, if none are named, to those of the last batch.
    fn dispatch(
        &mut self,
        actions: Actions<'_>,
        env_ids: Option<&[usize]>,
        lengths: Option<&[usize]>,
    ) -> Result<(), EnvError> {
        self.check_ready("send needs a reset before it")?;
        let env_ids = env_ids.unwrap_or(&self.batches[self.last_batch()].env_ids);
        let length = |target: usize| lengths.map_or(1, |lengths| lengths[target]);
        for (target, &env) in env_ids.iter().enumerate() {
            // Marked at once, so that an environment that is named twice is noticed.
            if let Err(error) = self.check_idle(env) {
                mark(&mut self.under_way, &env_ids[..target], false);
                return Err(error);
            }
            self.under_way[env] = true;
        }
        let accepted = self.accept(actions, env_ids, length);
        if accepted.is_err() {
            mark(&mut self.under_way, env_ids, false);
            return accepted;
        }
        self.num_under_way += env_ids.len();
        self.pool.task().arrivals.expect(env_ids.len());
        if env_ids.len() == self.under_way.len() {
            self.pool.start_round(env_ids.len());
        } else {
            self.pool.enqueue(env_ids.iter().copied());
        }
        Ok(())
    }

    /// Checks the actions and copies them into the environments' slots.
    fn accept(
        &self,
        actions: Actions<'_>,
        env_ids: &[usize],
        length: impl Fn(usize) -> usize,
    ) -> Result<(), EnvError> {
        let slots = self.pool.task();
        let len = |target: usize, env: usize| length(target).saturating_mul(self.action_lens[env]);
        let expected = env_ids
            .iter()
            .enumerate()
            .fold(0_usize, |sum, (target, &env)| sum.saturating_add(len(target, env)));
        check_len("action values", total_len(actions), expected)?;
        let mut start = 0;
        for (target, &env) in env_ids.iter().enumerate() {
            let len = len(target, env);
            slots.lock(env).accept(env, part(actions, start, len), slots.mode())?;
            start += len;
        }
        Ok(())
    }
}

fn mark(under_way: &mut [bool], env_ids: &[usize], value: bool) {
    for &env in env_ids {
        under_way[env] = value;
    }
}
