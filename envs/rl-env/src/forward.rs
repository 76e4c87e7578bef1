/// Implements methods of [`Env`](crate::Env) by those of a field, for wrappers that do not change them:
///
/// ```text
/// impl<E: Env> Env for Wrapper<E> {
///     type Info = E::Info;
///     forward!(env: action_space, info, snapshot, restore);
/// ```
#[macro_export]
macro_rules! forward {
    ($field:tt: $($method:ident),+) => { $($crate::forward!(@$method $field);)+ };
    (@observation_space $field:tt) => {
        fn observation_space(&self) -> &$crate::Space { self.$field.observation_space() }
    };
    (@action_space $field:tt) => {
        fn action_space(&self) -> &$crate::Space { self.$field.action_space() }
    };
    (@reset $field:tt) => {
        fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) { self.$field.reset(seed, observation); }
    };
    (@autoreset $field:tt) => {
        fn autoreset(&mut self, observation: &mut [u8]) { self.$field.autoreset(observation); }
    };
    (@step $field:tt) => {
        fn step(
            &mut self, action: $crate::Action<'_>, observation: &mut [u8],
        ) -> Result<$crate::Step, $crate::EnvError> {
            self.$field.step(action, observation)
        }
    };
    (@advance $field:tt) => {
        fn advance(
            &mut self, action: $crate::Action<'_>, scratch: &mut [u8],
        ) -> Result<$crate::Step, $crate::EnvError> {
            self.$field.advance(action, scratch)
        }
    };
    (@info $field:tt) => {
        fn info(&self) -> Self::Info { self.$field.info() }
    };
    (@observe $field:tt) => {
        fn observe(&self, observation: &mut [u8]) { self.$field.observe(observation); }
    };
    (@render $field:tt) => {
        fn render(&self) -> Result<Option<$crate::RgbImage>, $crate::EnvError> { self.$field.render() }
    };
    (@snapshot $field:tt) => {
        fn snapshot(&self) -> Vec<u8> { self.$field.snapshot() }
    };
    (@restore $field:tt) => {
        fn restore(&mut self, snapshot: &[u8]) -> Result<(), $crate::EnvError> { self.$field.restore(snapshot) }
    };
}
