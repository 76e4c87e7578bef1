use serde::{Deserialize, Serialize};

use crate::ObservationBuffer;

/// The actions of a batch, concatenated row by row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Actions<'a> {
    /// Integers, one for each element of the row's action space.
    Discrete(&'a [i32]),
    /// Floats, one for each element of the row's action space.
    Continuous(&'a [f32]),
}

/// Actions that own their elements.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionBuffer {
    /// Integers, as in [`Actions::Discrete`].
    Discrete(Vec<i32>),
    /// Floats, as in [`Actions::Continuous`].
    Continuous(Vec<f32>),
}

impl From<Vec<i32>> for ActionBuffer {
    fn from(elements: Vec<i32>) -> Self {
        Self::Discrete(elements)
    }
}

impl From<Vec<f32>> for ActionBuffer {
    fn from(elements: Vec<f32>) -> Self {
        Self::Continuous(elements)
    }
}

impl ActionBuffer {
    /// Borrows the actions.
    pub fn as_actions(&self) -> Actions<'_> {
        match self {
            Self::Discrete(elements) => Actions::Discrete(elements),
            Self::Continuous(elements) => Actions::Continuous(elements),
        }
    }

    /// Returns the elements of discrete actions.
    pub fn discrete(&self) -> Option<&[i32]> {
        self.as_actions().discrete()
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        match self {
            Self::Discrete(elements) => elements.clear(),
            Self::Continuous(elements) => elements.clear(),
        }
    }
}

impl<'a> Actions<'a> {
    /// Returns the number of elements.
    pub fn num_elements(self) -> usize {
        match self {
            Self::Discrete(elements) => elements.len(),
            Self::Continuous(elements) => elements.len(),
        }
    }

    /// Returns the elements of discrete actions.
    pub fn discrete(self) -> Option<&'a [i32]> {
        match self {
            Self::Discrete(elements) => Some(elements),
            Self::Continuous(_) => None,
        }
    }
}

/// Statistics of a finished episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodeStats {
    /// The sum of the raw (unclipped) rewards.
    pub total_reward: f64,
    /// The number of steps (decisions of the agent, not emulated frames).
    pub length: u64,
}

/// The results of a step, one row for each environment that has finished it.
///
/// Every field has one entry per row, except [`final_observations`](Self::final_observations) in most modes. If a batch
/// holds all environments, row `i` is environment `i`; otherwise the vector environment determines the order.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The index of the environment of each row.
    pub env_ids: Vec<usize>,
    /// The observation of each row.
    pub observations: ObservationBuffer,
    /// The reward for the learner, after any clipping.
    pub rewards: Vec<f32>,
    /// The reward before clipping.
    pub raw_rewards: Vec<f32>,
    /// True if the episode terminated with this step.
    pub terminated: Vec<bool>,
    /// True if the episode was truncated with this step.
    pub truncated: Vec<bool>,
    /// True if the row is not a transition: the environment was reset under
    /// [`AutoresetMode::NextStep`](crate::AutoresetMode::NextStep), or has used up its steps.
    pub autoreset: Vec<bool>,
    /// True if `terminated` concerns the learner only, as for a lost life, and the episode continues without a reset.
    /// `EnvPool` reports such a row as a discount of zero.
    pub continues: Vec<bool>,
    /// The number of actions performed: 1 for a step, up to the length of an action sequence, 0 for a reset.
    pub steps: Vec<u32>,
    /// Statistics of the episode that ended with this step.
    pub episodes: Vec<Option<EpisodeStats>>,
    /// Wall-clock seconds of the episode that ended with this step, since its reset or since its environment was
    /// restored; 0 where none ended. All other results of an environment depend only on seeds and actions.
    pub episode_seconds: Vec<f64>,
    /// Under [`AutoresetMode::SameStep`](crate::AutoresetMode::SameStep): the last observation of the episode that
    /// ended with this step, or the current observation where none ended. Has no rows in other modes.
    pub final_observations: ObservationBuffer,
    /// The action mask of each observation; has no rows if the environments have no masks.
    ///
    /// A mask has a byte for each option of each choice, one choice after the other: 1 if the option is allowed in this
    /// state, else 0. [`Space::Discrete`](crate::Space::Discrete) is a single choice, and
    /// [`Space::MultiDiscrete`](crate::Space::MultiDiscrete) has a choice for each element. Masks of environments with
    /// fewer options end with zeros.
    pub action_masks: ObservationBuffer,
    /// The action mask of each final observation; has rows if there are both masks and final observations.
    pub final_action_masks: ObservationBuffer,
}

impl Batch {
    /// Creates a batch of `rows` rows with observations of `row_bytes` bytes, with or without final observations, and
    /// without action masks.
    pub fn new(rows: usize, row_bytes: usize, with_final: bool) -> Self {
        Self {
            env_ids: (0..rows).collect(),
            observations: ObservationBuffer::new(rows, row_bytes),
            rewards: vec![0.0; rows],
            raw_rewards: vec![0.0; rows],
            terminated: vec![false; rows],
            truncated: vec![false; rows],
            autoreset: vec![false; rows],
            continues: vec![false; rows],
            steps: vec![0; rows],
            episodes: vec![None; rows],
            episode_seconds: vec![0.0; rows],
            final_observations: ObservationBuffer::new(if with_final { rows } else { 0 }, row_bytes),
            action_masks: ObservationBuffer::new(0, 0),
            final_action_masks: ObservationBuffer::new(0, 0),
        }
    }

    /// Adds action masks of `mask_bytes` bytes, which allow nothing yet.
    #[must_use]
    pub fn with_action_masks(mut self, mask_bytes: usize) -> Self {
        self.action_masks = ObservationBuffer::new(self.len(), mask_bytes);
        self.final_action_masks = ObservationBuffer::new(self.final_observations.rows(), mask_bytes);
        self
    }

    /// Returns true if the rows have action masks.
    pub fn has_action_masks(&self) -> bool {
        self.action_masks.rows() > 0
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.env_ids.len()
    }

    /// Returns true if the batch has no rows.
    pub fn is_empty(&self) -> bool {
        self.env_ids.is_empty()
    }
}
