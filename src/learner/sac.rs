use algorithms::sac::{Policy, Sac, SacAgent, SacConfig, SacMetrics};
use algorithms::{LearnerError, SpecError, VectorSpec};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_env::{ActionBuffer, ActionKind, Batch};
use settings::Section;

use super::algorithm::Descriptor;
use super::off_policy::{Minibatches, ReplayAlgorithm, ReplaySections, TrialSizes};
use super::player::{Player, Reading};
use super::replay_storage::ReplaySettings;
use crate::telemetry::{Metric, Sample};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    title: "SAC",
    about: "Train an agent with SAC: off-policy, for continuous actions",
    actions: &[ActionKind::Continuous],
    learning_rate: "q_lr",
    examples: &[
        "ale-train sac",
        "ale-train sac --games HalfCheetah-v5",
        "ale-train sac --games MountainCarContinuous-v0",
        "ale-train sac --games Pendulum-v1 --set sac.policy_frequency=1",
    ],
    sections: &[Section::of::<SacConfig>("sac"), Section::of::<ReplaySettings>("replay")],
    read: ReplaySections::<SacAgent>::read,
};

impl ReplayAlgorithm for SacAgent {
    const SECTION: &str = "sac";

    fn total_steps(config: &SacConfig) -> u64 {
        config.total_steps
    }

    fn minibatches(config: &SacConfig) -> Minibatches {
        let SacConfig { batch_size, learning_starts, train_ratio, .. } = *config;
        Minibatches { batch_size, n_step: 1, learning_starts, train_ratio }
    }

    fn resized(config: &SacConfig, total_steps: u64, sizes: Option<TrialSizes>) -> SacConfig {
        let config = SacConfig { total_steps, ..config.clone() };
        let Some(TrialSizes { learning_starts, buffer_size, train_ratio }) = sizes else { return config };
        SacConfig { learning_starts, buffer_size, train_ratio, ..config }
    }

    fn samples(_: &Sac, metrics: &SacMetrics) -> Vec<Sample> {
        let actor = metrics.actor;
        let values = [
            (Metric::QfLoss, Some(metrics.qf_loss)),
            (Metric::Qf1Values, Some(metrics.qf_values[0])),
            (Metric::Qf2Values, Some(metrics.qf_values[1])),
            (Metric::ActorLoss, actor.map(|actor| actor.actor_loss)),
            (Metric::Entropy, actor.map(|actor| actor.entropy)),
            (Metric::Alpha, Some(metrics.alpha)),
            (Metric::AlphaLoss, actor.and_then(|actor| actor.alpha_loss)),
            (Metric::GradientNorm, Some(metrics.grad_norm)),
            (Metric::DeadUnits, Some(metrics.dead_units)),
            (Metric::ReplaySteps, Some(metrics.replay_steps as f32)),
        ];
        let sample = |(metric, value): (Metric, Option<f32>)| Some(Sample::new(metric, f64::from(value?)));
        values.into_iter().filter_map(sample).collect()
    }

    fn player(sac: &Sac, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Ok(Box::new(SquashedPlayer { policy: sac.policy(spec)?, greedy, rng }))
    }
}

/// Samples actions from a policy, or takes those of its means.
struct SquashedPlayer {
    policy: Policy,
    greedy: bool,
    rng: ChaCha8Rng,
}

impl Player for SquashedPlayer {
    fn act(&mut self, batch: &Batch) -> Result<ActionBuffer, LearnerError> {
        let actions =
            if self.greedy { self.policy.greedy(batch) } else { self.policy.sample(batch, &mut self.rng) };
        actions.map(ActionBuffer::Continuous)
    }

    fn reseed(&mut self, seed: u64) {
        self.rng = ChaCha8Rng::seed_from_u64(seed);
    }

    fn readings(&self, batch: &Batch) -> Result<Vec<Reading>, LearnerError> {
        let reading = |value| Reading::Policy { probabilities: Vec::new(), value };
        Ok(self.policy.values(batch)?.into_iter().map(reading).collect())
    }
}
