use classic_control::StartError;
use rl_env::{Action, Env, EnvError, Step, snapshot};

use super::begins::Begins;
use super::details::{Details, Reported};

/// The first bytes of a snapshot: a mark, and the number of its format. The first format had no mark; it began with a
/// number of steps, whose encoding never begins with these bytes.
const FORMAT: [u8; 6] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2];

/// An environment whose type is chosen at run time, with an optional step limit.
pub(crate) struct TaskEnv(Box<dyn Task>);

/// What [`TaskEnv`] boxes.
trait Task: Env<Info = Details> {
    fn start_within(&mut self, bounds: &[(&str, f64)]) -> Result<(), StartError>;
}

impl TaskEnv {
    /// Boxes an environment with these rules for the ends of its episodes.
    pub(crate) fn new<E: Env<Info: Reported> + Begins + 'static>(env: E, ends: Ends) -> Self {
        Self(Box::new(Limited { env, ends, progress: Progress::default(), reward: 0.0, terminated: false }))
    }

    /// Replaces bounds of the first state in the next reset.
    pub(crate) fn start_within(&mut self, bounds: &[(&str, f64)]) -> Result<(), StartError> {
        self.0.start_within(bounds)
    }
}

impl Env for TaskEnv {
    type Info = Details;

    rl_env::forward!(
        0: observation_space, action_space, reset, autoreset, step, advance, info, observe, snapshot, restore
    );
}

/// The rules for the ends of episodes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends {
    /// The number of steps after which an episode is truncated.
    pub(crate) limit: Option<u32>,
    /// True if an episode continues after its end, which then only the details report.
    pub(crate) continues: bool,
    /// True if steps that terminate an episode again earn nothing.
    pub(crate) pays_once: bool,
}

/// The course of an episode.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Steps in the episode.
    elapsed: u32,
    /// True if a step has terminated it.
    has_terminated: bool,
}

/// An environment with a step limit. Unlike with [`rl_env::TimeLimit`], its info also reports the limit if the step
/// that reaches it terminates the episode, as Gymnasium does.
struct Limited<E> {
    env: E,
    ends: Ends,
    progress: Progress,
    /// The reward of the last step; 0 after a reset.
    reward: f32,
    /// True if the last step terminated the episode.
    terminated: bool,
}

impl<E> Limited<E> {
    fn is_truncated(&self) -> bool {
        self.ends.limit.is_some_and(|limit| self.progress.elapsed >= limit)
    }

    /// Returns true if the last step earned nothing because it was not the first to terminate the episode.
    fn is_unpaid(&self) -> bool {
        self.ends.pays_once && self.progress.has_terminated && self.terminated
    }

    fn begin(&mut self) {
        (self.progress, self.reward, self.terminated) = (Progress::default(), 0.0, false);
    }

    fn count(&mut self, step: Step) -> Step {
        self.progress.elapsed = self.progress.elapsed.saturating_add(1);
        self.progress.has_terminated |= self.terminated;
        (self.reward, self.terminated) = (step.reward, step.terminated);
        if self.ends.continues {
            return Step { terminated: false, truncated: false, ..step };
        }
        Step { truncated: self.is_truncated() && !step.terminated, ..step }
    }
}

impl<E: Env<Info: Reported> + Begins> Task for Limited<E> {
    fn start_within(&mut self, bounds: &[(&str, f64)]) -> Result<(), StartError> {
        self.env.start_within(bounds)
    }
}

impl<E: Env<Info: Reported>> Env for Limited<E> {
    type Info = Details;

    rl_env::forward!(env: observation_space, action_space, observe);

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        self.begin();
        self.env.reset(seed, observation);
    }

    fn autoreset(&mut self, observation: &mut [u8]) {
        self.begin();
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
        let mut details = Details::new(&self.env.info(), self.reward);
        if self.is_unpaid() {
            details.reward = 0.0;
        }
        details.has_ended = self.ends.continues && self.terminated;
        details.truncated = self.is_truncated();
        details.elapsed = self.progress.elapsed;
        details
    }

    fn snapshot(&self) -> Vec<u8> {
        let has_terminated = self.progress.has_terminated || self.terminated;
        let state = snapshot::encode(&(self.progress.elapsed, has_terminated, self.env.snapshot()));
        [FORMAT.as_slice(), &state].concat()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let Some(state) = snapshot.strip_prefix(&FORMAT) else {
            return Err(EnvError::BadSnapshot("it was saved by another version of ale-train".to_owned()));
        };
        let (elapsed, has_terminated, env): (u32, bool, Vec<u8>) = snapshot::decode(state)?;
        self.env.restore(&env)?;
        self.begin();
        self.progress = Progress { elapsed, has_terminated };
        Ok(())
    }
}
