use algorithms::dqn::{Distribution, Dqn, DqnAgent, DqnConfig, DqnMetrics};
use algorithms::{SpecError, VectorSpec};
use rl_env::ActionKind;
use settings::Section;

use super::algorithm::Descriptor;
use super::off_policy::{Minibatches, ReplayAlgorithm, ReplaySections, TrialSizes};
use super::player::Player;
use super::replay_storage::ReplaySettings;
use super::value_player::ValuePlayer;
use crate::telemetry::{Metric, Sample};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    title: "DQN",
    about: "Train an agent with DQN or its extensions up to Rainbow",
    actions: &[ActionKind::Discrete],
    learning_rate: "learning_rate",
    examples: &[
        "ale-train dqn",
        "ale-train dqn --games pong",
        "ale-train dqn --preset rainbow-dqn --games pong",
        "ale-train dqn --games pong --set dqn.double=true",
    ],
    sections: &[Section::of::<DqnConfig>("dqn"), Section::of::<ReplaySettings>("replay")],
    read: ReplaySections::<DqnAgent>::read,
};

impl ReplayAlgorithm for DqnAgent {
    const SECTION: &str = "dqn";

    fn total_steps(config: &DqnConfig) -> u64 {
        config.total_steps
    }

    fn minibatches(config: &DqnConfig) -> Minibatches {
        let DqnConfig { batch_size, n_step, learning_starts, train_ratio, .. } = *config;
        Minibatches { batch_size, n_step, learning_starts, train_ratio }
    }

    fn resized(config: &DqnConfig, total_steps: u64, sizes: Option<TrialSizes>) -> DqnConfig {
        let config = DqnConfig { total_steps, ..config.clone() };
        let Some(TrialSizes { learning_starts, buffer_size, train_ratio }) = sizes else { return config };
        DqnConfig { learning_starts, buffer_size, train_ratio, ..config }
    }

    fn outputs_per_action(config: &DqnConfig) -> usize {
        match config.distribution {
            Distribution::Mean => 1,
            Distribution::C51 | Distribution::Quantile => config.num_atoms,
        }
    }

    fn samples(dqn: &Dqn, metrics: &DqnMetrics) -> Vec<Sample> {
        let values = [
            (Metric::LearningRate, dqn.config().learning_rate),
            (Metric::Epsilon, metrics.epsilon),
            (Metric::TdLoss, f64::from(metrics.td_loss)),
            (Metric::QValues, f64::from(metrics.q_values)),
            (Metric::GradientNorm, f64::from(metrics.grad_norm)),
            (Metric::DeadUnits, f64::from(metrics.dead_units)),
            (Metric::ReplaySteps, metrics.replay_steps as f64),
        ];
        values.into_iter().map(|(metric, value)| Sample::new(metric, value)).collect()
    }

    fn player(dqn: &Dqn, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        let epsilon = if greedy { 0.0 } else { dqn.config().eval_epsilon.into() };
        Ok(Box::new(ValuePlayer::new(dqn.policy(spec)?, epsilon, seed)))
    }
}
