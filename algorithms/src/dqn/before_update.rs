use burn::module::Module;

use super::Dqn;
use crate::engine::off_policy;
use crate::engine::training::Mark;
use crate::experience::replay::Priorities;
use crate::networks::QNetwork;
use crate::networks::value_scale::TaskScales;

/// Everything that an update changes, with its value before the update.
pub(super) struct BeforeUpdate {
    training: Mark<QNetwork>,
    target: QNetwork,
    scales: TaskScales,
    priorities: Priorities,
    off_policy: off_policy::BeforeUpdate,
}

impl BeforeUpdate {
    pub(super) fn of(dqn: &Dqn, off_policy: off_policy::BeforeUpdate) -> Self {
        Self {
            training: dqn.training.mark(),
            target: dqn.target.clone(),
            scales: dqn.actor.head().scales.clone(),
            priorities: dqn.off_policy.replay.priorities(),
            off_policy,
        }
    }

    pub(super) fn restore(self, dqn: &mut Dqn) {
        dqn.training.return_to(self.training);
        dqn.target = self.target;
        *dqn.actor.scales_mut() = self.scales;
        dqn.actor.set_network(dqn.training.network.valid());
        dqn.off_policy.replay.set_priorities(self.priorities);
        dqn.off_policy.undo_update(self.off_policy);
    }
}
