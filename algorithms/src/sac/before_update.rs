use super::Sac;
use super::temperature::Temperature;
use crate::engine::off_policy;
use crate::engine::training::Mark;
use crate::networks::{SquashedActor, TwinCritic};

/// Everything that an update changes, with its value before the update.
pub(super) struct BeforeUpdate {
    actor: Mark<SquashedActor>,
    critics: Mark<TwinCritic>,
    temperature: Mark<Temperature>,
    target: TwinCritic,
    off_policy: off_policy::BeforeUpdate,
}

impl BeforeUpdate {
    pub(super) fn of(sac: &Sac, off_policy: off_policy::BeforeUpdate) -> Self {
        Self {
            actor: sac.actor.mark(),
            critics: sac.critics.mark(),
            temperature: sac.temperature.mark(),
            target: sac.target.clone(),
            off_policy,
        }
    }

    pub(super) fn restore(self, sac: &mut Sac) {
        sac.actor.return_to(self.actor);
        sac.critics.return_to(self.critics);
        sac.temperature.return_to(self.temperature);
        sac.target = self.target;
        sac.off_policy.undo_update(self.off_policy);
        sac.use_trained_network();
    }
}
