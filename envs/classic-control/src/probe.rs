use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{Action, Env, EnvError, Space, Step, snapshot};
use serde::{Deserialize, Serialize};

use crate::control::write_floats;

/// The ability of a learner that a [`Probe`] tests. Each kind requires one ability more than the previous one, so that
/// the first failure locates the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeKind {
    /// One step, observation 0, reward 1. The value must be 1. Tests the value loss and its optimizer.
    ConstantValue,
    /// One step, observation +1 or -1, reward equal to the observation. The value must equal the observation. Tests the
    /// flow of gradients through the network.
    ValueFromObservation,
    /// Two steps, observations 0 then 1, rewards 0 then 1. The values must be gamma and 1. Tests returns.
    DiscountedValue,
    /// One step, observation 0; action 1 earns 1, action 0 earns -1. The policy must take action 1. Tests advantages
    /// and the policy loss.
    BestAction,
    /// One step, observation +1 or -1; action 1 is correct for +1, action 0 for -1. The correct action earns 1, the
    /// other -1. The policy must depend on the observation. Tests that observations and actions are not mixed up
    /// between rows.
    ActionFromObservation,
    /// Three steps, observation +1 or -1, then 0 twice. In the last step, action 1 is correct if the first observation
    /// was +1, action 0 if it was -1. The correct action earns 1, the other -1. Only a recurrent policy can solve it.
    Memory,
    /// One step, observation +1 or -1. The action is two choices of two and of three options, of which (1, 2) is
    /// correct for +1 and (0, 1) for -1. The correct action earns 1, all others -1. Tests policies and values of
    /// several choices.
    Combination,
}

impl ProbeKind {
    /// All kinds that require no memory and have a single choice, simplest first.
    pub const ALL: [Self; 5] = [
        Self::ConstantValue,
        Self::ValueFromObservation,
        Self::DiscountedValue,
        Self::BestAction,
        Self::ActionFromObservation,
    ];

    fn action_space(self) -> Space {
        match self {
            Self::ConstantValue | Self::ValueFromObservation | Self::DiscountedValue => Space::discrete(1),
            Self::BestAction | Self::ActionFromObservation | Self::Memory => Space::discrete(2),
            Self::Combination => Space::multi_discrete([2, 3]),
        }
    }

    fn num_steps(self) -> u8 {
        match self {
            Self::DiscountedValue => 2,
            Self::Memory => 3,
            _ => 1,
        }
    }
}

/// A tiny task with a known solution, which a correct learner finds within seconds.
///
/// The observation is one float; episodes terminate after one to three steps. The idea is from Andy Jones, "Debugging
/// RL, Without the Agonizing Pain" (2021).
#[derive(Clone, Debug)]
pub struct Probe {
    observation_space: Space,
    action_space: Space,
    state: State,
}

/// The mutable state, and the kind, so that a snapshot is never restored to a different task.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    kind: ProbeKind,
    rng: ChaCha8Rng,
    observation: f32,
    /// The first observation of the episode.
    first_observation: f32,
    /// The number of steps in the episode.
    steps: u8,
}

impl Probe {
    /// Creates a probe with seed 0.
    pub fn new(kind: ProbeKind) -> Self {
        Self {
            observation_space: Space::floats(1, -1.0, 1.0),
            action_space: kind.action_space(),
            state: State {
                kind,
                rng: ChaCha8Rng::seed_from_u64(0),
                observation: 0.0,
                first_observation: 0.0,
                steps: 0,
            },
        }
    }
}

impl State {
    fn start_episode(&mut self) {
        self.steps = 0;
        self.observation = match self.kind {
            ProbeKind::ConstantValue | ProbeKind::DiscountedValue | ProbeKind::BestAction => 0.0,
            ProbeKind::ValueFromObservation
            | ProbeKind::ActionFromObservation
            | ProbeKind::Memory
            | ProbeKind::Combination => {
                if self.rng.random() {
                    1.0
                } else {
                    -1.0
                }
            }
        };
        self.first_observation = self.observation;
    }

    fn reward(&self, action: &[i32]) -> f32 {
        let sign = if action[0] == 1 { 1.0 } else { -1.0 };
        match self.kind {
            ProbeKind::ConstantValue => 1.0,
            ProbeKind::ValueFromObservation | ProbeKind::DiscountedValue => self.observation,
            ProbeKind::BestAction => sign,
            ProbeKind::ActionFromObservation => sign * self.observation,
            ProbeKind::Memory if self.steps == 2 => sign * self.first_observation,
            ProbeKind::Memory => 0.0,
            ProbeKind::Combination => {
                let correct = if self.observation > 0.0 { [1, 2] } else { [0, 1] };
                if action == correct { 1.0 } else { -1.0 }
            }
        }
    }
}

impl Env for Probe {
    type Info = ();

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        if let Some(seed) = seed {
            self.state.rng = ChaCha8Rng::seed_from_u64(seed);
        }
        self.state.start_episode();
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let action = action.to_indices(&self.action_space)?;
        let reward = self.state.reward(action);
        self.state.steps = self.state.steps.saturating_add(1);
        if self.state.kind == ProbeKind::DiscountedValue {
            self.state.observation = 1.0;
        }
        if self.state.kind == ProbeKind::Memory {
            self.state.observation = 0.0;
        }
        self.observe(observation);
        Ok(Step { terminated: self.state.steps >= self.state.kind.num_steps(), ..Step::reward(reward) })
    }

    fn info(&self) {}

    fn observe(&self, observation: &mut [u8]) {
        write_floats(&[self.state.observation], observation);
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&self.state)
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let state: State = snapshot::decode(snapshot)?;
        if state.kind != self.state.kind {
            return Err(EnvError::BadSnapshot(format!(
                "it belongs to the probe {:?}, not to {:?}",
                state.kind, self.state.kind
            )));
        }
        self.state = state;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first observation, and the reward and termination of each step, of an episode that repeats `action`.
    fn episode(env: &mut Probe, action: &[i32]) -> (f32, Vec<(f32, bool)>) {
        let mut row = [0; 4];
        env.reset(None, &mut row);
        let first = f32::from_ne_bytes(row);
        let mut steps: Vec<(f32, bool)> = Vec::new();
        while steps.last().is_none_or(|&(_, terminated)| !terminated) {
            let step = env.step(Action::Discrete(action), &mut row).unwrap();
            assert!(!step.truncated);
            steps.push((step.reward, step.terminated));
        }
        (first, steps)
    }

    #[test]
    fn probes_have_the_documented_rewards() {
        let mut seen = [false; 2];
        for kind in ProbeKind::ALL.into_iter().chain([ProbeKind::Memory]) {
            let mut env = Probe::new(kind);
            for _ in 0..20 {
                let &Space::Discrete { n, .. } = env.action_space() else { unreachable!("a single choice") };
                for action in 0..n as i32 {
                    let (first, steps) = episode(&mut env, &[action]);
                    let sign = 2.0 * action as f32 - 1.0;
                    let expected = match kind {
                        ProbeKind::ConstantValue => (0.0, vec![(1.0, true)]),
                        ProbeKind::ValueFromObservation => (first, vec![(first, true)]),
                        ProbeKind::DiscountedValue => (0.0, vec![(0.0, false), (1.0, true)]),
                        ProbeKind::BestAction => (0.0, vec![(sign, true)]),
                        ProbeKind::ActionFromObservation => (first, vec![(sign * first, true)]),
                        ProbeKind::Memory => (first, vec![(0.0, false), (0.0, false), (sign * first, true)]),
                        ProbeKind::Combination => unreachable!("it has several choices"),
                    };
                    assert_eq!((first, steps), expected, "{kind:?}");
                    if first != 0.0 {
                        seen[usize::from(first > 0.0)] = true;
                    }
                }
            }
        }
        assert_eq!(seen, [true; 2], "both observations occur");
    }

    #[test]
    fn one_combination_is_correct_for_each_observation() {
        let mut env = Probe::new(ProbeKind::Combination);
        let mut seen = [false; 2];
        for action in [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]].repeat(20) {
            let (first, steps) = episode(&mut env, &action);
            let correct = if first == 1.0 { [1, 2] } else { [0, 1] };
            assert_eq!(steps, [(if action == correct { 1.0 } else { -1.0 }, true)]);
            seen[usize::from(first == 1.0)] |= action == correct;
        }
        assert_eq!(seen, [true; 2], "both observations occur with the correct action");
        assert!(env.step(Action::Discrete(&[0, 3]), &mut [0; 4]).is_err());
    }

    #[test]
    fn snapshots_continue_equally_and_belong_to_their_kind() {
        let mut env = Probe::new(ProbeKind::ValueFromObservation);
        env.reset(Some(9), &mut [0; 4]);
        let mut copy = Probe::new(ProbeKind::ValueFromObservation);
        copy.restore(&env.snapshot()).unwrap();
        for _ in 0..20 {
            assert_eq!(episode(&mut env, &[0]), episode(&mut copy, &[0]));
        }
        let error = Probe::new(ProbeKind::BestAction).restore(&env.snapshot()).unwrap_err();
        assert!(error.to_string().contains("ValueFromObservation"), "{error}");
    }
}
