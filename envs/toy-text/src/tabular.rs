use std::sync::Arc;

use rl_env::{Action, Env, EnvError, Pcg64, Space, Step, snapshot};
use serde::{Deserialize, Serialize};

/// A possible outcome of an action in a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The probability of the outcome.
    pub probability: f64,
    /// The next state.
    pub next: usize,
    /// The reward.
    pub reward: f64,
    /// True if the episode terminates.
    pub terminated: bool,
}

/// Additional data about a step of a [`Tabular`] environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TabularInfo {
    /// The probability of the last outcome (Gymnasium's `prob`); 1 after a reset.
    pub probability: f64,
    /// The reward of the last step in Gymnasium's precision; 0 after a reset or a restored snapshot.
    #[serde(skip)]
    pub reward: f64,
}

/// A finite Markov decision process given by a table. Observations are the indices of states.
#[derive(Clone, Debug)]
pub struct Tabular {
    observation_space: Space,
    action_space: Space,
    table: Arc<Table>,
    pub(crate) state: State,
}

/// The process, shared by copies of an environment.
#[derive(Debug)]
struct Table {
    num_actions: usize,
    /// The cumulative probabilities of the first state.
    start: Vec<f64>,
    /// The actions of state 0, then those of state 1, and so on.
    choices: Vec<Choice>,
}

/// The possible outcomes of one action in one state.
#[derive(Debug)]
struct Choice {
    outcomes: Vec<Outcome>,
    /// The cumulative probabilities of the outcomes.
    cumulative: Vec<f64>,
}

/// The mutable state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) generator: Pcg64,
    /// The index of the current state.
    pub(crate) index: usize,
    info: TabularInfo,
}

impl Tabular {
    /// Creates a process that starts in state `s` with probability `start[s]` and in which action `a` in state `s` has
    /// the possible `outcomes(s, a)`. The seed is 0 until a reset sets another.
    ///
    /// # Panics
    ///
    /// If an action has no outcomes, or the next state of an outcome does not exist.
    pub fn new(start: &[f64], num_actions: usize, outcomes: impl Fn(usize, usize) -> Vec<Outcome>) -> Self {
        let num_states = start.len();
        let choices = (0..num_states).flat_map(|state| (0..num_actions).map(move |action| (state, action)));
        let choices: Vec<Choice> =
            choices.map(|(state, action)| Choice::new(outcomes(state, action))).collect();
        let leads_astray = |choice: &Choice| choice.outcomes.iter().any(|outcome| outcome.next >= num_states);
        assert!(!choices.iter().any(leads_astray), "the next state of an outcome does not exist");
        assert!(!choices.iter().any(|choice| choice.outcomes.is_empty()), "an action has no outcomes");
        Self {
            observation_space: Space::discrete(num_states),
            action_space: Space::discrete(num_actions),
            table: Arc::new(Table { num_actions, start: cumulative(start), choices }),
            state: State { generator: Pcg64::new(0), index: 0, info: TabularInfo::default() },
        }
    }

    /// Returns the index of the current state.
    pub fn state(&self) -> usize {
        self.state.index
    }

    pub(crate) fn num_states(&self) -> usize {
        self.table.start.len()
    }

    /// Returns the possible outcomes of each action in a state.
    pub(crate) fn outcomes_of(&self, state: usize) -> impl Iterator<Item = &[Outcome]> {
        let count = self.table.num_actions;
        self.table.choices[state * count..(state + 1) * count].iter().map(|choice| choice.outcomes.as_slice())
    }

    /// Returns the probability of each state after a reset.
    pub(crate) fn start_probabilities(&self) -> impl Iterator<Item = f64> {
        let before = [0.0].into_iter().chain(self.table.start.iter().copied());
        self.table.start.iter().zip(before).map(|(sum, before)| sum - before)
    }
}

impl Choice {
    fn new(outcomes: Vec<Outcome>) -> Self {
        let probabilities: Vec<f64> = outcomes.iter().map(|outcome| outcome.probability).collect();
        Self { outcomes, cumulative: cumulative(&probabilities) }
    }
}

fn cumulative(probabilities: &[f64]) -> Vec<f64> {
    let sums = probabilities.iter().scan(0.0, |sum, probability| {
        *sum += probability;
        Some(*sum)
    });
    sums.collect()
}

impl Env for Tabular {
    type Info = TabularInfo;

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        let state = &mut self.state;
        if let Some(seed) = seed {
            state.generator = Pcg64::new(seed);
        }
        state.index = state.generator.categorical(&self.table.start);
        state.info = TabularInfo { probability: 1.0, reward: 0.0 };
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let action = action.to_index(&self.action_space)? as usize;
        let state = &mut self.state;
        let choice = &self.table.choices[state.index * self.table.num_actions + action];
        let outcome = choice.outcomes[state.generator.categorical(&choice.cumulative)];
        state.index = outcome.next;
        state.info = TabularInfo { probability: outcome.probability, reward: outcome.reward };
        self.observe(observation);
        Ok(Step { terminated: outcome.terminated, ..Step::reward(outcome.reward as f32) })
    }

    fn info(&self) -> TabularInfo {
        self.state.info
    }

    fn observe(&self, observation: &mut [u8]) {
        observation.copy_from_slice(&(self.state.index as i64).to_ne_bytes());
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&self.state)
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let state: State = snapshot::decode(snapshot)?;
        if state.index >= self.table.start.len() {
            return Err(EnvError::BadSnapshot(format!("state {} does not exist", state.index)));
        }
        self.state = state;
        Ok(())
    }
}
