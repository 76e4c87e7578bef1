use crate::{Action, Env, EnvError, Space, Step};

/// An environment of any type, for places that choose environments at run time.
pub type BoxedEnv = WithoutInfo<dyn Env<Info = ()>>;

/// An environment in a box, without what it reports beside observation and step, so that all are of one type.
pub struct WithoutInfo<E: ?Sized>(Box<E>);

impl BoxedEnv {
    /// Puts an environment into a box.
    pub fn new(env: impl Env + 'static) -> Self {
        WithoutInfo(Box::new(WithoutInfo(Box::new(env))))
    }
}

impl<E: Env + ?Sized> Env for WithoutInfo<E> {
    type Info = ();

    fn observation_space(&self) -> &Space {
        self.0.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.0.action_space()
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        self.0.reset(seed, observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        self.0.step(action, observation)
    }

    fn advance(&mut self, action: Action<'_>, scratch: &mut [u8]) -> Result<Step, EnvError> {
        self.0.advance(action, scratch)
    }

    fn info(&self) {}

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
