use serde::{Deserialize, Serialize};

use super::Precision;
use crate::config_error::check;
use crate::value_scale::TaskScales;
use crate::{ConfigError, ValueScale};

/// The convolutions that see pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TorsoKind {
    /// Three convolutions (Mnih et al. 2015).
    #[default]
    Nature,
    /// Fifteen convolutions, most of them in residual blocks (Espeholt et al. 2018, <https://arxiv.org/abs/1802.01561>).
    Impala,
}

/// How several games share a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadKind {
    /// Each game has its own head.
    #[default]
    PerGame,
    /// All games have one head over the actions of all; those that are not a game's own are masked.
    Shared,
}

/// What the network of an agent looks like, whatever it learns by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyConfig {
    /// The convolutions that see pictures; vectors have fully connected layers instead.
    pub torso: TorsoKind,
    /// The factor of the convolutions' channels: more than 0.
    pub width: f64,
    /// Whether every layer is normalised before its rectifier (Ba et al. 2016, <https://arxiv.org/abs/1607.06450>);
    /// absent for what the algorithm is known with: PQN does, the others do not.
    pub layer_norm: Option<bool>,
    /// How several games share the network.
    pub head: HeadKind,
    /// Learned numbers of each game that the last hidden layer reads beside the features; 0 for none.
    pub game_embedding: usize,
    /// Width of the last hidden layer: 1 or more; absent for what the torso is known with.
    pub hidden_size: Option<usize>,
    /// Numbers that the network remembers from step to step (long short-term memory behind the last hidden layer); 0 for none.
    pub lstm: usize,
    /// The scale that values are learned in.
    pub value_scale: ValueScale,
    /// How much of a game's statistics an update renews where `value_scale` is `popart`: above 0 to 1.
    pub popart_beta: f64,
    /// The numbers that layers behind pictures calculate with on a device.
    pub precision: Precision,
}

impl Default for PolicyConfig {
    fn default() -> Self {
        Self {
            torso: TorsoKind::Nature,
            width: 1.0,
            layer_norm: None,
            head: HeadKind::PerGame,
            game_embedding: 0,
            hidden_size: None,
            lstm: 0,
            value_scale: ValueScale::None,
            popart_beta: 3e-4,
            precision: Precision::F32,
        }
    }
}

impl PolicyConfig {
    /// Checks every field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let possible = self.width.is_finite() && self.width > 0.0;
        check("width", &self.width, possible, "a number above 0")?;
        let beta = self.popart_beta;
        check("popart_beta", &beta, beta > 0.0 && beta <= 1.0, "above 0 and at most 1")?;
        match self.hidden_size {
            Some(size) => check("hidden_size", &size, size >= 1, "1 or more, or absent"),
            None => Ok(()),
        }
    }

    /// Checks that values of actions can be learned so: a replay has no memories, and values can be adapted to a new scale of one
    /// game only where no other game shares them.
    pub fn validate_action_values(&self) -> Result<(), ConfigError> {
        check("lstm", &self.lstm, self.lstm == 0, "0; only PPO has recurrent networks")?;
        let possible = self.value_scale != ValueScale::PopArt || self.head == HeadKind::PerGame;
        let allowed = "none, h or symlog where head = \"shared\": popart adapts the action values of each game by themselves";
        check("value_scale", &"popart", possible, allowed)
    }

    /// Checks what PPO needs beside that: the steps of an environment stay together where the network is recurrent.
    pub fn validate_minibatches(&self, num_minibatches: usize, num_envs: usize) -> Result<(), ConfigError> {
        let possible = self.lstm == 0 || num_minibatches <= num_envs;
        let allowed =
            format!("0 where num_minibatches = {num_minibatches} is more than {num_envs} environments");
        check("lstm", &self.lstm, possible, allowed)
    }

    /// The scales of the values of so many tasks.
    pub(crate) fn scales(&self, num_tasks: usize) -> TaskScales {
        TaskScales::new(self.value_scale, self.popart_beta, num_tasks)
    }

    /// So many channels as there are in the paper, times the width; one at least.
    pub(super) fn channels(&self, of_paper: usize) -> usize {
        ((of_paper as f64 * self.width).round() as usize).max(1)
    }

    /// Width of the last hidden layer behind pictures.
    pub(super) fn image_hidden_size(&self) -> usize {
        self.hidden_size.unwrap_or(match self.torso {
            TorsoKind::Nature => 512,
            TorsoKind::Impala => 256,
        })
    }
}
