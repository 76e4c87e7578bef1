use algorithms::pqn::{Pqn, PqnMetrics};
use algorithms::{LearnerError, SpecError, VectorSpec};

use super::dqn::ValuePlayer;
use super::{Learner, Player};
use crate::telemetry::{Metric, Sample};

impl Learner for Pqn {
    fn update(&mut self) -> Result<Vec<Sample>, LearnerError> {
        self.update().map(|metrics| samples(&metrics))
    }

    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        let epsilon = if greedy { 0.0 } else { self.config().eval_epsilon.into() };
        Ok(Box::new(ValuePlayer::new(self.policy(spec)?, epsilon, seed)))
    }
}

fn samples(metrics: &PqnMetrics) -> Vec<Sample> {
    let values = [
        (Metric::LearningRate, metrics.learning_rate),
        (Metric::Epsilon, metrics.epsilon),
        (Metric::TdLoss, f64::from(metrics.td_loss)),
        (Metric::QValues, f64::from(metrics.q_values)),
        (Metric::GradientNorm, f64::from(metrics.grad_norm)),
    ];
    values.into_iter().map(|(metric, value)| Sample::new(metric, value)).collect()
}
