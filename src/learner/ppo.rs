use algorithms::ppo::{Policy, Ppo, PpoMetrics, RecurrentState};
use algorithms::{LearnerError, SpecError, VectorSpec};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_env::Batch;

use super::{Learner, Player, Reading};
use crate::telemetry::{Metric, Sample};

impl Learner for Ppo {
    fn update(&mut self) -> Result<Vec<Sample>, LearnerError> {
        self.update().map(|metrics| samples(&metrics))
    }

    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        let policy = self.policy(spec)?;
        let memory = policy.initial_state();
        Ok(Box::new(PolicyPlayer { policy, past: memory.clone(), memory, greedy, rng }))
    }
}

/// Draws actions as a policy says, or takes the most probable ones.
struct PolicyPlayer {
    policy: Policy,
    memory: RecurrentState,
    /// What was remembered before the last action, which is what that was chosen with.
    past: RecurrentState,
    greedy: bool,
    rng: ChaCha8Rng,
}

impl Player for PolicyPlayer {
    fn act(&mut self, batch: &Batch) -> Result<Vec<i32>, LearnerError> {
        self.past.clone_from(&self.memory);
        self.policy.act(batch, &mut self.memory, self.greedy, &mut self.rng)
    }

    fn readings(&self, batch: &Batch) -> Result<Vec<Reading>, LearnerError> {
        let (log_probs, values) = self.policy.log_probs_and_values(batch, &self.past)?;
        let reading = |(log_probs, value): (Vec<f32>, f32)| {
            let probabilities = log_probs.into_iter().map(f32::exp).collect();
            Reading::Policy { probabilities, value }
        };
        Ok(log_probs.into_iter().zip(values).map(reading).collect())
    }
}

fn samples(metrics: &PpoMetrics) -> Vec<Sample> {
    let values = [
        (Metric::LearningRate, metrics.learning_rate),
        (Metric::ValueLoss, f64::from(metrics.value_loss)),
        (Metric::PolicyLoss, f64::from(metrics.policy_loss)),
        (Metric::Entropy, f64::from(metrics.entropy)),
        (Metric::OldApproxKl, f64::from(metrics.old_approx_kl)),
        (Metric::ApproxKl, f64::from(metrics.approx_kl)),
        (Metric::Clipfrac, f64::from(metrics.clipfrac)),
        (Metric::ExplainedVariance, f64::from(metrics.explained_variance)),
        (Metric::GradientNorm, f64::from(metrics.grad_norm)),
    ];
    values.into_iter().map(|(metric, value)| Sample::new(metric, value)).collect()
}
