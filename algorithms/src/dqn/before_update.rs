use burn::module::Module;
use rand_chacha::ChaCha8Rng;

use super::Dqn;
use crate::networks::QNetwork;
use crate::replay::Priorities;
use crate::training::Mark;
use crate::value_scale::TaskScales;

/// Everything that an update changes, as it was before.
pub(super) struct BeforeUpdate {
    training: Mark<QNetwork>,
    target: QNetwork,
    scales: TaskScales,
    priorities: Priorities,
    replay_rng: ChaCha8Rng,
    noise_rng: ChaCha8Rng,
    updates: u64,
    due: f64,
}

impl BeforeUpdate {
    pub(super) fn of(dqn: &Dqn) -> Self {
        Self {
            training: dqn.training.mark(),
            target: dqn.target.clone(),
            scales: dqn.actor.head().scales.clone(),
            priorities: dqn.replay.priorities(),
            replay_rng: dqn.replay_rng.clone(),
            noise_rng: dqn.noise_rng.clone(),
            updates: dqn.updates,
            due: dqn.due,
        }
    }

    pub(super) fn restore(self, dqn: &mut Dqn) {
        dqn.training.return_to(self.training);
        dqn.target = self.target;
        *dqn.actor.scales_mut() = self.scales;
        dqn.actor.set_network(dqn.training.network.valid());
        dqn.replay.set_priorities(self.priorities);
        (dqn.replay_rng, dqn.noise_rng) = (self.replay_rng, self.noise_rng);
        (dqn.updates, dqn.due) = (self.updates, self.due);
    }
}
