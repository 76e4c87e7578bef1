use rand_chacha::ChaCha8Rng;

use super::Sac;
use super::temperature::Temperature;
use crate::networks::{SquashedActor, TwinCritic};
use crate::training::Mark;

/// Everything that an update changes, as it was before.
pub(super) struct BeforeUpdate {
    actor: Mark<SquashedActor>,
    critics: Mark<TwinCritic>,
    temperature: Mark<Temperature>,
    target: TwinCritic,
    replay_rng: ChaCha8Rng,
    noise_rng: ChaCha8Rng,
    updates: u64,
    due: f64,
}

impl BeforeUpdate {
    pub(super) fn of(sac: &Sac) -> Self {
        Self {
            actor: sac.actor.mark(),
            critics: sac.critics.mark(),
            temperature: sac.temperature.mark(),
            target: sac.target.clone(),
            replay_rng: sac.replay_rng.clone(),
            noise_rng: sac.noise_rng.clone(),
            updates: sac.updates,
            due: sac.due,
        }
    }

    pub(super) fn restore(self, sac: &mut Sac) {
        sac.actor.return_to(self.actor);
        sac.critics.return_to(self.critics);
        sac.temperature.return_to(self.temperature);
        sac.target = self.target;
        (sac.replay_rng, sac.noise_rng) = (self.replay_rng, self.noise_rng);
        (sac.updates, sac.due) = (self.updates, self.due);
        sac.use_trained_network();
    }
}
