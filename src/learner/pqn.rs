use algorithms::pqn::{Pqn, PqnAgent, PqnConfig, PqnMetrics};
use algorithms::{SpecError, VectorSpec};
use rl_env::ActionKind;
use settings::Section;

use super::algorithm::Descriptor;
use super::on_policy::{RolloutAlgorithm, RolloutSections};
use super::player::Player;
use super::value_player::ValuePlayer;
use crate::telemetry::{Metric, Sample};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    title: "PQN",
    about: "Train an agent with PQN: Q-learning without a replay buffer",
    actions: &[ActionKind::Discrete],
    learning_rate: "learning_rate",
    examples: &["ale-train pqn", "ale-train pqn --games pong --num-envs 32"],
    sections: &[Section::of::<PqnConfig>("pqn")],
    read: RolloutSections::<PqnAgent>::read,
};

impl RolloutAlgorithm for PqnAgent {
    const SECTION: &str = "pqn";

    fn with_total_steps(config: &PqnConfig, total_steps: u64) -> PqnConfig {
        PqnConfig { total_steps, ..config.clone() }
    }

    fn for_trial(config: &PqnConfig, num_steps: usize) -> PqnConfig {
        let config = Self::with_total_steps(config, u64::MAX);
        PqnConfig { num_steps, num_minibatches: 1, update_epochs: 1, ..config }
    }

    fn samples(_: &VectorSpec, metrics: &PqnMetrics) -> Vec<Sample> {
        let values = [
            (Metric::LearningRate, metrics.learning_rate),
            (Metric::Epsilon, metrics.epsilon),
            (Metric::TdLoss, f64::from(metrics.td_loss)),
            (Metric::QValues, f64::from(metrics.q_values)),
            (Metric::GradientNorm, f64::from(metrics.grad_norm)),
            (Metric::DeadUnits, f64::from(metrics.dead_units)),
        ];
        values.into_iter().map(|(metric, value)| Sample::new(metric, value)).collect()
    }

    fn player(pqn: &Pqn, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        let epsilon = if greedy { 0.0 } else { pqn.config().eval_epsilon.into() };
        Ok(Box::new(ValuePlayer::new(pqn.policy(spec)?, epsilon, seed)))
    }
}
