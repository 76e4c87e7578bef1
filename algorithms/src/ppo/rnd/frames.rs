use kernels::ObservationLayout;
use rl_env::Space;

use super::config::RndConfig;
use crate::networks::layout_of;

/// The part of an observation that intrinsic rewards depend on: the newest frame of a stack, or a whole vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::ppo) struct Frames {
    pub(in crate::ppo) layout: ObservationLayout,
}

impl Frames {
    /// Returns the newest frames of observations of `layout`, of `channels` channels; 0 for all.
    pub(in crate::ppo) fn of(layout: ObservationLayout, channels: usize) -> Self {
        let layout = match layout {
            ObservationLayout::Images { channels: all, height, width } => {
                let channels = if channels == 0 { all } else { channels.min(all) };
                ObservationLayout::Images { channels, height, width }
            }
            layout => layout,
        };
        Self { layout }
    }

    /// Returns the number of bytes of a frame.
    pub(super) fn bytes(self) -> usize {
        self.layout.row_bytes()
    }

    /// Returns the newest frame of an observation, whose channels are in order of time.
    pub(super) fn newest(self, observation: &[u8]) -> &[u8] {
        &observation[observation.len() - self.bytes()..]
    }
}

impl RndConfig {
    /// Returns the number of bytes that a rollout holds for each step besides those of PPO; 0 if intrinsic rewards are
    /// not enabled.
    pub fn step_bytes(&self, observations: &Space) -> usize {
        let layout = layout_of(observations).ok().filter(|_| self.enabled);
        layout.map_or(0, |layout| Frames::of(layout, self.channels).bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_frame_is_the_last_one_of_a_stack() {
        let stack = ObservationLayout::Images { channels: 3, height: 1, width: 2 };
        let observation = [1, 2, 3, 4, 5, 6];
        for (channels, expected) in
            [(1, &[5, 6][..]), (2, &[3, 4, 5, 6]), (0, &observation), (7, &observation)]
        {
            assert_eq!(Frames::of(stack, channels).newest(&observation), expected);
        }
        let vector = ObservationLayout::Bytes { length: 6 };
        assert_eq!(Frames::of(vector, 1).newest(&observation), observation);
    }
}
