use burn::tensor::Device;
use kernels::on_cpu;
use serde::{Deserialize, Serialize};
use settings::{Settings, above, between, choices, settings};

use super::layout::MIN_PICTURE_SIDE;
use super::{Bf16Arithmetic, ImageShape, ObservationLayout, Precision};
use crate::networks::value_scale::{LEAST_DEVIATION, TaskScales};
use crate::{ConfigError, ValueScale};

choices! {
    /// The convolutional torso.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum TorsoKind {
        /// Three convolutions (Mnih et al. 2015).
        #[default]
        Nature = "nature",
        /// Fifteen convolutions, most of them in residual blocks (Espeholt et al. 2018,
        /// <https://arxiv.org/abs/1802.01561>).
        Impala = "impala",
        /// Two convolutions with large strides (van Hasselt et al. 2019, <https://arxiv.org/abs/1906.05243>).
        DataEfficient = "data_efficient",
        /// Three convolutions with 2 x 2 kernels, for grids of symbols such as those of MiniGrid.
        Small = "small",
    }
}

choices! {
    /// The output layers of a network that plays several games.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum HeadKind {
        /// One head for each game.
        #[default]
        PerGame = "per_game",
        /// One head over the 18 actions of the console. Actions that a game does not have are masked.
        Shared = "shared",
    }
}

choices! {
    /// The source of the standard deviations of continuous actions.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Deviation {
        /// Parameters of each game.
        #[default]
        Parameter = "parameter",
        /// Outputs of the network.
        State = "state",
    }
}

/// The largest width of a layer.
const MOST_UNITS: f64 = 65_536.0;

settings! {
    /// The network of an agent, for every algorithm.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct PolicyConfig {
        /// The convolutional torso for each image of an observation. `nature` has three convolutions (Mnih et al.
        /// 2015), `impala` fifteen in residual blocks (Espeholt et al. 2018), `data_efficient` two with large strides
        /// (van Hasselt et al. 2019). `small` has three with 2 x 2 kernels for grids of symbols such as MiniGrid's,
        /// whose bytes it does not divide by 255. Images with a side of less than 36 pixels have it too, unless
        /// `impala` is set. Vectors go through fully connected layers instead.
        pub torso: TorsoKind = TorsoKind::Nature; fixed "the shape of the network depends on it",
        /// Multiplier of the number of channels of the convolutions.
        pub width: f64 = 1.0 => above(0.0).up_to(64.0); fixed "the shape of the network depends on it",
        /// True if every layer is normalised before its activation (Ba et al. 2016,
        /// <https://arxiv.org/abs/1607.06450>). If absent, PQN normalises and the other algorithms do not.
        pub layer_norm: Option<bool> = None; fixed "the shape of the network depends on it",
        /// The output layers for several games. `per_game` has a head for each game. `shared` has one head over the 18
        /// actions of the console, which masks the actions that a game does not have. In both cases PPO has a value
        /// output for each game.
        pub head: HeadKind = HeadKind::PerGame; fixed "the shape of the network depends on it",
        /// Size of a learned embedding of the game, an additional input of the last hidden layer; 0 for none.
        pub game_embedding: usize = 0 => between(0.0, MOST_UNITS); fixed "the shape of the network depends on it",
        /// Width of the last hidden layer. If absent: 512 for `nature` and 256 for the other torsos. For vectors, both
        /// hidden layers have this width, and the default is 64 with PPO, 128 with DQN and PQN, and 256 with SAC.
        pub hidden_size: Option<usize> = None => between(1.0, MOST_UNITS); fixed "the shape of the network depends on it",
        /// Size of an LSTM after the last hidden layer; 0 for none. PPO only. Minibatches then consist of whole
        /// environments, of which there must be at least `ppo.num_minibatches`.
        pub lstm: usize = 0 => between(0.0, MOST_UNITS); fixed "the shape of the network depends on it",
        /// The source of the standard deviations of continuous actions: parameters of each game, independent of the
        /// observation, or outputs of the network next to the means. PPO only.
        pub deviation: Deviation = Deviation::Parameter; fixed "the shape of the network depends on it",
        /// True if continuous actions are tanh of normally distributed numbers, scaled to the bounds of the action
        /// space. Otherwise actions out of bounds are clipped. PPO only; SAC always squashes actions.
        pub squash_actions: bool = false; fixed "the network learned actions in this scale",
        /// True if each element of the observations is normalised by its running mean and standard deviation in each
        /// task and clipped to +-10. With PPO, the statistics are those of all steps before the last update; with SAC,
        /// those of all steps so far. Not supported by other algorithms, nor for images.
        pub normalize_observations: bool = false; fixed "the network learned from observations in this scale",
        /// The scale in which values are learned, so that rewards need no clipping (`environments.reward_clipping`).
        /// `popart` normalises them by the mean and standard deviation of each game's returns (van Hasselt et al. 2016,
        /// Hessel et al. 2018). For action values, it needs a head for each game and is not possible with `c51`. `h` is
        /// the function of Pohlen et al. 2018, `symlog` a symmetric logarithm (Hafner et al. 2023).
        pub value_scale: ValueScale = ValueScale::None; fixed "the network learned its values in this scale",
        /// Weight of one sample in the moving statistics of `value_scale = "popart"`. The statistics of a game cover
        /// about its last `1 / popart_beta` samples. Before there are that many, all samples count about the same.
        pub popart_beta: f64 = 3e-4 => above(0.0).up_to(1.0),
        /// The least standard deviation by which `value_scale = "popart"` divides the returns of a game. Without a
        /// floor, the values of a game that never scores are scaled up until their errors are most of the gradient. If
        /// absent in a new run: 1 with clipped rewards, whose returns need no scaling up, else 0.0001.
        pub popart_floor: Option<f64> = None => above(0.0).up_to(1e6); fixed "the network learned its values in this scale",
        /// Floating-point format of the layers that process images; parameters, sums, normalisations, heads and losses
        /// keep 32 bits. `wgpu` and `vulkan` support `f16`, `cuda` supports `f16` and `bf16`, the CPU supports `bf16`.
        pub precision: Precision = Precision::F32,
        /// The order in which the CPU sums products with `precision = "bf16"`: that of the instructions of AMX, or of
        /// those of AVX-512 BF16. If absent in a new run: the faster one of this processor. A run keeps its order, so
        /// that it continues bit for bit on any processor; one without the instructions computes the same more slowly.
        pub bf16_arithmetic: Option<Bf16Arithmetic> = None,
    }
}

impl PolicyConfig {
    /// The settings on which the layers depend that algorithms have in common.
    pub const OF_COMMON_LAYERS: [&str; 5] = ["torso", "width", "layer_norm", "game_embedding", "hidden_size"];
    /// The settings on which the other layers of an algorithm depend, and the meaning of their weights.
    pub const OF_OTHER_LAYERS: [&str; 6] =
        ["head", "lstm", "deviation", "squash_actions", "normalize_observations", "value_scale"];

    /// Checks every field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.check()
    }

    /// Checks that no setting is used that only PPO supports. A replay buffer stores no recurrent state.
    fn validate_without_ppo(&self) -> Result<(), ConfigError> {
        ConfigError::unless(self.lstm == 0, "lstm", &self.lstm, "0; only PPO has recurrent networks")?;
        let (deviation, squashes) = (self.deviation, self.squash_actions);
        let is_default = deviation == Deviation::Parameter;
        ConfigError::unless(is_default, "deviation", &deviation.name(), "parameter; only PPO allows state")?;
        ConfigError::unless(!squashes, "squash_actions", &squashes, "false; only PPO has this setting")
    }

    /// Checks that the network can learn action values. `PopArt` can rescale the outputs of one game only if no other
    /// game shares them.
    pub fn validate_action_values(&self) -> Result<(), ConfigError> {
        self.validate_without_ppo()?;
        let allowed = "false; only PPO and SAC normalise observations";
        let normalizes = self.normalize_observations;
        ConfigError::unless(!normalizes, "normalize_observations", &normalizes, allowed)?;
        let is_possible = self.value_scale != ValueScale::PopArt || self.head == HeadKind::PerGame;
        let allowed = "none, h or symlog with head = \"shared\"; popart needs a head for each game";
        ConfigError::unless(is_possible, "value_scale", &"popart", allowed)
    }

    /// Checks that the network can learn by SAC.
    pub fn validate_soft_actor_critic(&self) -> Result<(), ConfigError> {
        self.validate_without_ppo()?;
        let is_plain = self.value_scale == ValueScale::None;
        ConfigError::unless(is_plain, "value_scale", &self.value_scale.name(), "none with SAC")?;
        let embedding = self.game_embedding;
        ConfigError::unless(embedding == 0, "game_embedding", &embedding, "0; SAC has no embeddings")
    }

    /// Checks that there are enough environments for PPO with a recurrent network, which keeps the steps of an
    /// environment together.
    pub fn validate_minibatches(&self, num_minibatches: usize, num_envs: usize) -> Result<(), ConfigError> {
        let is_possible = self.lstm == 0 || num_minibatches <= num_envs;
        let allowed = format!("0 if num_minibatches ({num_minibatches}) exceeds the {num_envs} environments");
        ConfigError::unless(is_possible, "lstm", &self.lstm, allowed)
    }

    /// Checks that observations of `layout` can be normalised if they should be.
    pub(crate) fn validate_observations(&self, layout: ObservationLayout) -> Result<(), ConfigError> {
        let is_possible = !self.normalize_observations || !layout.has_images();
        let allowed = "false for images, whose bytes are divided by 255";
        ConfigError::unless(is_possible, "normalize_observations", &self.normalize_observations, allowed)
    }

    /// Returns the value scales of `num_tasks` tasks.
    pub(crate) fn scales(&self, num_tasks: usize) -> TaskScales {
        let floor = self.popart_floor.unwrap_or(LEAST_DEVIATION);
        TaskScales::new(self.value_scale, self.popart_beta, floor, num_tasks)
    }

    /// Returns the arithmetic of the layers that process images, if `device` is a CPU and they multiply 16-bit numbers.
    pub(super) fn arithmetic_on(&self, device: &Device) -> Option<Bf16Arithmetic> {
        self.bf16_arithmetic.filter(|_| self.precision == Precision::Bf16 && on_cpu(device))
    }

    /// Returns the published number of channels times the width, but at least 1.
    pub(super) fn channels(&self, published: usize) -> usize {
        ((published as f64 * self.width).round() as usize).max(1)
    }

    /// Returns the torso for observations of `layout`, of which the first image counts.
    pub fn torso_for(&self, layout: ObservationLayout) -> TorsoKind {
        layout.images().next().map_or(self.torso, |image| self.torso_for_image(image))
    }

    /// Returns the torso for an image: [`Small`](TorsoKind::Small) if it is too small for the configured one.
    pub fn torso_for_image(&self, image: ImageShape) -> TorsoKind {
        match self.torso {
            TorsoKind::Nature | TorsoKind::DataEfficient
                if image.height.min(image.width) < MIN_PICTURE_SIDE =>
            {
                TorsoKind::Small
            }
            torso => torso,
        }
    }

    /// Returns the width of the last hidden layer after image observations that `torso` reads.
    pub(super) fn image_hidden_size(&self, torso: TorsoKind) -> usize {
        self.hidden_size.unwrap_or(match torso {
            TorsoKind::Nature => 512,
            TorsoKind::Impala | TorsoKind::DataEfficient | TorsoKind::Small => 256,
        })
    }
}
