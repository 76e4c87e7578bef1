use algorithms::dqn::{Dqn, DqnMetrics, Policy};
use algorithms::networks::NamedWeights;
use algorithms::{Learner as _, LearnerError, SpecError, VectorSpec};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_env::Batch;

use super::{Learner, Player, Reading};
use crate::telemetry::{Metric, Sample};

/// Gradient steps between two reports: there is an update every few steps.
const REPORT_INTERVAL: u64 = 250;

/// DQN, and what the application adds to it.
pub(super) struct DqnLearner {
    dqn: Dqn,
    /// Whether checkpoints hold the replay.
    replay_in_checkpoint: bool,
}

impl DqnLearner {
    pub(super) fn new(dqn: Dqn, replay_in_checkpoint: bool) -> Self {
        Self { dqn, replay_in_checkpoint }
    }
}

impl algorithms::Learner for DqnLearner {
    fn spec(&self) -> &VectorSpec {
        self.dqn.spec()
    }

    fn act(&mut self, batch: &Batch) -> Result<&[i32], LearnerError> {
        self.dqn.act(batch)
    }

    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        self.dqn.observe(batch)
    }

    fn can_act(&self, batch: &Batch) -> bool {
        self.dqn.can_act(batch)
    }

    fn is_ready(&self) -> bool {
        self.dqn.is_ready()
    }

    fn updates(&self) -> u64 {
        self.dqn.updates()
    }

    fn is_complete(&self) -> bool {
        self.dqn.is_complete()
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn state(&self) -> Result<Vec<u8>, LearnerError> {
        if self.replay_in_checkpoint { self.dqn.state() } else { self.dqn.state_without_replay() }
    }

    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        self.dqn.torch_weights()
    }
}

impl Learner for DqnLearner {
    fn update(&mut self) -> Result<Vec<Sample>, LearnerError> {
        let before = self.dqn.updates();
        let metrics = self.dqn.update()?;
        // Told by the count alone, so that a run that was resumed reports at the same moments.
        let reports = before == 0 || before / REPORT_INTERVAL < self.dqn.updates() / REPORT_INTERVAL;
        Ok(if reports { samples(&metrics, self.dqn.config().learning_rate) } else { Vec::new() })
    }

    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        let epsilon = if greedy { 0.0 } else { self.dqn.config().eval_epsilon.into() };
        Ok(Box::new(ValuePlayer::new(self.dqn.policy(spec)?, epsilon, seed)))
    }
}

/// Takes the actions of the highest values, but now and then any other.
pub(super) struct ValuePlayer {
    policy: Policy,
    epsilon: f64,
    rng: ChaCha8Rng,
}

impl ValuePlayer {
    pub(super) fn new(policy: Policy, epsilon: f64, seed: u64) -> Self {
        Self { policy, epsilon, rng: ChaCha8Rng::seed_from_u64(seed) }
    }
}

impl Player for ValuePlayer {
    fn act(&mut self, batch: &Batch) -> Result<Vec<i32>, LearnerError> {
        self.policy.epsilon_greedy(batch, self.epsilon, &mut self.rng)
    }

    fn readings(&self, batch: &Batch) -> Result<Vec<Reading>, LearnerError> {
        Ok(self.policy.values(batch)?.into_iter().map(Reading::Values).collect())
    }
}

fn samples(metrics: &DqnMetrics, learning_rate: f64) -> Vec<Sample> {
    let values = [
        (Metric::LearningRate, learning_rate),
        (Metric::Epsilon, metrics.epsilon),
        (Metric::TdLoss, f64::from(metrics.td_loss)),
        (Metric::QValues, f64::from(metrics.q_values)),
        (Metric::GradientNorm, f64::from(metrics.grad_norm)),
        (Metric::ReplaySteps, metrics.replay_steps as f64),
    ];
    values.into_iter().map(|(metric, value)| Sample::new(metric, value)).collect()
}
