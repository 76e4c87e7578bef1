//! Warnings about experiments that are valid but probably mistakes.

use algorithms::ValueScale;
use algorithms::networks::Bf16Arithmetic;

use super::experiment::{Experiment, without_effect};
use super::experiment_games::Games;
use super::sections::EnvironmentSettings;
use crate::learner::to_table;
use crate::threads::too_many_threads;

/// The keys of `environments` that only emulated games use, except for `frame_skip`, which is 1 for other tasks.
const EMULATION_KEYS: [&str; 13] = [
    "repeat_action_probability",
    "img_height",
    "img_width",
    "stack_num",
    "maxpool",
    "noop_max",
    "use_fire_reset",
    "fire_after_lost_life",
    "episodic_life",
    "reward_clipping",
    "full_action_space",
    "factored_actions",
    "max_num_frames_per_episode",
];

impl Experiment {
    /// Returns a sentence for each probable mistake.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let warnings = [
            too_many_threads(self.run.num_threads),
            self.late_start(),
            self.unscaled_clipping(),
            self.unused_emulation(),
            self.slow_arithmetic(),
        ];
        self.notes.iter().cloned().chain(warnings.into_iter().flatten()).collect()
    }

    /// Returns a warning if training ends before learning starts.
    fn late_start(&self) -> Option<String> {
        let (algorithm, frames_per_step) = (self.run.algorithm, self.frames_per_step());
        let (starts, steps) = (self.algorithm.learning_starts(), self.total_frames() / frames_per_step);
        (starts >= steps).then(|| {
            format!(
                "nothing will be learned: {algorithm}.learning_starts = {starts}, but {} frames are {steps} steps; set \
                 experiment.total_frames above {} or lower {algorithm}.learning_starts",
                self.total_frames(),
                starts.saturating_mul(frames_per_step)
            )
        })
    }

    /// Returns a warning if this processor has no instructions for the 16-bit products of the run.
    fn slow_arithmetic(&self) -> Option<String> {
        let arithmetic = self.policy.bf16_arithmetic?;
        (self.has_16_bit_products() && !arithmetic.is_native()).then(|| {
            format!(
                "this processor has no instructions for policy.bf16_arithmetic = \"{}\": training is slower than with \
                 policy.precision = \"f32\"",
                arithmetic.name()
            )
        })
    }

    /// Returns a warning if a run with precision `bf16` continues in 32 bits on the CPU, because it began without a
    /// `policy.bf16_arithmetic`.
    pub(crate) fn unused_precision(&self) -> Option<String> {
        (self.has_16_bit_products() && self.policy.bf16_arithmetic.is_none()).then(|| {
            format!(
                "policy.precision = \"bf16\" has no effect on the CPU without policy.bf16_arithmetic; add --set \
                 policy.bf16_arithmetic={}",
                Bf16Arithmetic::here().name()
            )
        })
    }

    /// Returns a warning if keys of the emulation are set for tasks that are not emulated.
    fn unused_emulation(&self) -> Option<String> {
        if matches!(self.games, Games::Atari(_)) {
            return None;
        }
        let (current, defaults) =
            (to_table(&self.environments).ok()?, to_table(&EnvironmentSettings::default()).ok()?);
        let changed = EMULATION_KEYS.into_iter().filter(|key| current.get(*key) != defaults.get(*key));
        let mut keys: Vec<String> = changed.map(|key| format!("environments.{key}")).collect();
        if self.evaluation.repeat_action_probability.is_some_and(|value| value > 0.0) {
            keys.push("evaluation.repeat_action_probability".to_owned());
        }
        (!keys.is_empty()).then(|| without_effect(&keys))
    }

    /// Returns a warning if values are clipped to a range that is made for clipped rewards.
    fn unscaled_clipping(&self) -> Option<String> {
        let is_atari = matches!(self.games, Games::Atari(_));
        let is_scaled = self.environments.reward_clipping || self.policy.value_scale != ValueScale::None;
        let algorithm = self.run.algorithm;
        (is_atari && !is_scaled && self.algorithm.clips_values()).then(|| {
            format!(
                "{algorithm}.clip_vloss = true limits the change of a value to {algorithm}.clip_coef, which is far below \
                 unclipped rewards; set {algorithm}.clip_vloss = false or a policy.value_scale"
            )
        })
    }
}
