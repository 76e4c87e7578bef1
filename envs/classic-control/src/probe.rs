use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{Action, Env, EnvError, Space, Step, snapshot};
use serde::{Deserialize, Serialize};

use crate::control::write_floats;

/// What a [`Probe`] asks of a learner. Each kind needs what the one before it needs, and one thing more; the first
/// that a learner fails names the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeKind {
    /// One step, observation 0, reward 1. The value is 1, or the value loss and its optimiser are wrong.
    ConstantValue,
    /// One step, observation +1 or -1, rewarded with the observation. The value is the observation, or gradients
    /// do not reach the whole network.
    ValueFromObservation,
    /// Two steps, observations 0 then 1, rewards 0 then 1. The values are gamma and 1, or returns are wrong.
    DiscountedValue,
    /// One step, observation 0; action 1 is rewarded with 1, action 0 with -1. The policy takes action 1, or
    /// advantages or the policy loss are wrong.
    BestAction,
    /// One step, observation +1 or -1; action 1 is right for +1, action 0 for -1; right earns 1, wrong -1. The
    /// policy follows the observation, or observations and actions are mixed up on their way.
    ActionFromObservation,
    /// Three steps, observations +1 or -1, then 0 twice; in the last step action 1 is right if the first observation was
    /// +1, action 0 if it was -1; right earns 1, wrong -1. The policy knows, or it does not remember. Only a recurrent one
    /// can.
    Memory,
}

impl ProbeKind {
    /// All kinds that need no memory, the simplest first.
    pub const ALL: [Self; 5] = [
        Self::ConstantValue,
        Self::ValueFromObservation,
        Self::DiscountedValue,
        Self::BestAction,
        Self::ActionFromObservation,
    ];

    fn num_actions(self) -> usize {
        match self {
            Self::ConstantValue | Self::ValueFromObservation | Self::DiscountedValue => 1,
            Self::BestAction | Self::ActionFromObservation | Self::Memory => 2,
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

/// A tiny task with a known answer, that a right learner solves within seconds.
///
/// The observation is one float; episodes terminate after one or two steps. The idea is Andy Jones' ("Debugging RL,
/// without the agonizing pain", 2021).
#[derive(Clone, Debug)]
pub struct Probe {
    observation_space: Space,
    action_space: Space,
    state: State,
}

/// All that changes, and the kind, so that a snapshot is never restored into another task.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    kind: ProbeKind,
    rng: ChaCha8Rng,
    observation: f32,
    /// The first observation of this episode.
    first: f32,
    /// Steps in this episode.
    steps: u8,
}

impl Probe {
    /// An unseeded environment: until a seed comes with a reset it behaves as if seeded with 0.
    pub fn new(kind: ProbeKind) -> Self {
        Self {
            observation_space: Space::floats(1, -1.0, 1.0),
            action_space: Space::discrete(kind.num_actions()),
            state: State { kind, rng: ChaCha8Rng::seed_from_u64(0), observation: 0.0, first: 0.0, steps: 0 },
        }
    }
}

impl State {
    fn start_episode(&mut self) {
        self.steps = 0;
        self.observation = match self.kind {
            ProbeKind::ConstantValue | ProbeKind::DiscountedValue | ProbeKind::BestAction => 0.0,
            ProbeKind::ValueFromObservation | ProbeKind::ActionFromObservation | ProbeKind::Memory => {
                if self.rng.random() { 1.0 } else { -1.0 }
            }
        };
        self.first = self.observation;
    }

    fn reward(&self, action: i32) -> f32 {
        let sign = if action == 1 { 1.0 } else { -1.0 };
        match self.kind {
            ProbeKind::ConstantValue => 1.0,
            ProbeKind::ValueFromObservation | ProbeKind::DiscountedValue => self.observation,
            ProbeKind::BestAction => sign,
            ProbeKind::ActionFromObservation => sign * self.observation,
            ProbeKind::Memory if self.steps == 2 => sign * self.first,
            ProbeKind::Memory => 0.0,
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
        let action = action.to_index(&self.action_space)?;
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
                "it is of the probe {:?}, this is {:?}",
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

    /// Observation and the (reward, terminated) of each step of one episode in which `action` is repeated.
    fn episode(env: &mut Probe, action: i32) -> (f32, Vec<(f32, bool)>) {
        let mut row = [0; 4];
        env.reset(None, &mut row);
        let first = f32::from_ne_bytes(row);
        let mut steps: Vec<(f32, bool)> = Vec::new();
        while steps.last().is_none_or(|&(_, terminated)| !terminated) {
            let step = env.step(Action::Discrete(&[action]), &mut row).unwrap();
            assert!(!step.truncated);
            steps.push((step.reward, step.terminated));
        }
        (first, steps)
    }

    #[test]
    fn every_probe_is_the_task_that_it_says() {
        let mut seen = [false; 2];
        for kind in ProbeKind::ALL.into_iter().chain([ProbeKind::Memory]) {
            let mut env = Probe::new(kind);
            for _ in 0..20 {
                for action in 0..kind.num_actions() as i32 {
                    let (first, steps) = episode(&mut env, action);
                    let sign = 2.0 * action as f32 - 1.0;
                    let expected = match kind {
                        ProbeKind::ConstantValue => (0.0, vec![(1.0, true)]),
                        ProbeKind::ValueFromObservation => (first, vec![(first, true)]),
                        ProbeKind::DiscountedValue => (0.0, vec![(0.0, false), (1.0, true)]),
                        ProbeKind::BestAction => (0.0, vec![(sign, true)]),
                        ProbeKind::ActionFromObservation => (first, vec![(sign * first, true)]),
                        ProbeKind::Memory => (first, vec![(0.0, false), (0.0, false), (sign * first, true)]),
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
    fn snapshots_continue_alike_and_belong_to_their_kind() {
        let mut env = Probe::new(ProbeKind::ValueFromObservation);
        env.reset(Some(9), &mut [0; 4]);
        let mut copy = Probe::new(ProbeKind::ValueFromObservation);
        copy.restore(&env.snapshot()).unwrap();
        for _ in 0..20 {
            assert_eq!(episode(&mut env, 0), episode(&mut copy, 0));
        }
        let error = Probe::new(ProbeKind::BestAction).restore(&env.snapshot()).unwrap_err();
        assert!(error.to_string().contains("ValueFromObservation"), "{error}");
    }
}
