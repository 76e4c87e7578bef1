use crate::{Action, Env, EnvError, Space, Step};

/// An environment whose type is chosen at run time.
pub type BoxedEnv = WithoutInfo<dyn Env<Info = ()>>;

/// A boxed environment with [`Env::Info`] erased, so that all have the same type.
pub struct WithoutInfo<E: ?Sized>(Box<E>);

impl BoxedEnv {
    /// Boxes an environment.
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

    fn autoreset(&mut self, observation: &mut [u8]) {
        self.0.autoreset(observation);
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
