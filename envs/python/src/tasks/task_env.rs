use rl_env::{Action, Env, EnvError, Space, Step, snapshot};

use super::details::{Details, Reported};

/// An environment whose type is chosen at run time, with an optional step limit.
pub(crate) struct TaskEnv(Box<dyn Env<Info = Details>>);

impl TaskEnv {
    /// Boxes an environment and truncates its episodes after `limit` steps.
    pub(crate) fn new<E: Env<Info: Reported> + 'static>(env: E, limit: Option<u32>) -> Self {
        Self(Box::new(Limited { env, limit, elapsed: 0, reward: 0.0 }))
    }
}

impl Env for TaskEnv {
    type Info = Details;

    fn observation_space(&self) -> &Space {
        self.0.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.0.action_space()
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        self.0.reset(seed, observation);
    }

    fn autoreset(&mut self, observation: &mut [u8]) {
        self.0.autoreset(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        self.0.step(action, observation)
    }

    fn advance(&mut self, action: Action<'_>, scratch: &mut [u8]) -> Result<Step, EnvError> {
        self.0.advance(action, scratch)
    }

    fn info(&self) -> Details {
        self.0.info()
    }

    fn observe(&self, observation: &mut [u8]) {
        self.0.observe(observation);
    }

    fn snapshot(&self) -> Vec<u8> {
        self.0.snapshot()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.0.restore(snapshot)
    }
}

/// An environment with a step limit. Unlike with [`rl_env::TimeLimit`], its info also reports the limit if the step
/// that reaches it terminates the episode, as Gymnasium does.
struct Limited<E> {
    env: E,
    limit: Option<u32>,
    /// Steps in the current episode.
    elapsed: u32,
    /// The reward of the last step; 0 after a reset.
    reward: f32,
}

impl<E> Limited<E> {
    fn is_over(&self) -> bool {
        self.limit.is_some_and(|limit| self.elapsed >= limit)
    }

    fn count(&mut self, step: Step) -> Step {
        self.elapsed = self.elapsed.saturating_add(1);
        self.reward = step.reward;
        Step { truncated: self.is_over() && !step.terminated, ..step }
    }
}

impl<E: Env<Info: Reported>> Env for Limited<E> {
    type Info = Details;

    fn observation_space(&self) -> &Space {
        self.env.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.env.action_space()
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        self.elapsed = 0;
        self.reward = 0.0;
        self.env.reset(seed, observation);
    }

    fn autoreset(&mut self, observation: &mut [u8]) {
        self.elapsed = 0;
        self.reward = 0.0;
        self.env.autoreset(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let step = self.env.step(action, observation)?;
        Ok(self.count(step))
    }

    fn advance(&mut self, action: Action<'_>, scratch: &mut [u8]) -> Result<Step, EnvError> {
        let step = self.env.advance(action, scratch)?;
        Ok(self.count(step))
    }

    fn info(&self) -> Details {
        Details::new(&self.env.info(), self.reward, self.elapsed, self.is_over())
    }

    fn observe(&self, observation: &mut [u8]) {
        self.env.observe(observation);
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&(self.elapsed, self.env.snapshot()))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let (elapsed, env): (u32, Vec<u8>) = snapshot::decode(snapshot)?;
        self.env.restore(&env)?;
        self.elapsed = elapsed;
        self.reward = 0.0;
        Ok(())
    }
}
