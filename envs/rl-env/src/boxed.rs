use crate::Env;

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

    crate::forward!(
        0: observation_space, action_space, reset, autoreset, step, advance, observe, render, snapshot, restore
    );

    fn info(&self) {}
}
