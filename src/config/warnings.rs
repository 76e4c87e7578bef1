//! Warnings about experiments that are valid but probably mistakes.

use algorithms::ValueScale;

use super::experiment::Experiment;
use super::games::Games;
use crate::threads::too_many_threads;

impl Experiment {
    /// Returns a sentence for each probable mistake.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let found = [
            too_many_threads(self.run.num_threads),
            self.late_start(),
            self.unscaled_clipping(),
            self.unused_stickiness(),
        ];
        self.notes.iter().cloned().chain(found.into_iter().flatten()).collect()
    }

    /// Warns if training ends before learning starts.
    fn late_start(&self) -> Option<String> {
        let (algorithm, frames_per_step) = (self.run.algorithm, self.frames_per_step());
        let (starts, steps) = (self.algorithm.learning_starts(), self.total_frames() / frames_per_step);
        (starts >= steps).then(|| {
            format!(
                "nothing will be learned: {algorithm}.learning_starts = {starts}, but {} frames are {steps} steps; set \
                 experiment.total_frames above {} or {algorithm}.learning_starts lower",
                self.total_frames(),
                starts.saturating_mul(frames_per_step)
            )
        })
    }

    /// Warns if sticky actions are set for tasks that do not have them.
    fn unused_stickiness(&self) -> Option<String> {
        let keys = [
            ("environments", Some(self.environments.repeat_action_probability)),
            ("evaluation", self.evaluation.repeat_action_probability),
        ];
        let is_atari = matches!(self.games, Games::Atari(_));
        let (section, _) =
            keys.into_iter().find(|(_, value)| !is_atari && value.is_some_and(|value| value > 0.0))?;
        Some(format!(
            "{section}.repeat_action_probability has no effect: only Atari games have sticky actions"
        ))
    }

    /// Warns if values are clipped to a range that is made for clipped rewards.
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
