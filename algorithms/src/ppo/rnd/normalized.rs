use burn::tensor::{Device, Tensor};

use super::state::Rnd;
use crate::engine::on_policy::OnPolicy;
use crate::networks::observation_statistics::Normalizer;
use crate::networks::{ActorCritic, RowTasks};

/// The largest absolute value of an element of a normalised frame, as in the paper.
const MAX_NORMALIZED: f32 = 5.0;

/// Returns the normalised frames after the steps of some entries, `[entries, length]`.
pub(super) fn normalized_frames(
    on_policy: &OnPolicy<ActorCritic>,
    rnd: &Rnd,
    entries: &[usize],
    normalizer: &Normalizer,
    device: &Device,
) -> Tensor<2> {
    let tasks = entries.iter().map(|&entry| on_policy.task(entry));
    let rows = RowTasks::new(tasks, &on_policy.spec.tasks, device);
    let frames = rnd.frames.layout.tensor(entries.iter().map(|&entry| rnd.frame(entry)), device);
    normalizer.apply(frames, &rows).clamp(-MAX_NORMALIZED, MAX_NORMALIZED)
}
