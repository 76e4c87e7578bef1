use classic_control::ControlInfo;
use toy_text::{TabularInfo, TaxiInfo};

/// Data about a step that [`rl_env::Step`] has no room for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details {
    /// The reward in Gymnasium's precision; 0 after a reset.
    pub(crate) reward: f64,
    /// True if the step terminated an episode that continues after its end.
    pub(crate) has_ended: bool,
    /// True if the step reached the step limit, even if it also terminated the episode.
    pub(crate) truncated: bool,
    /// The number of steps of the episode.
    pub(crate) elapsed: u32,
    values: [f64; mujoco::Info::CAPACITY],
    len: usize,
}

impl Details {
    /// Creates details of an environment's info. `reward` is used if the info has no more precise one.
    pub(crate) fn new(info: &impl Reported, reward: f32) -> Self {
        let reward = info.reward().unwrap_or(reward.into());
        let mut details = Self { reward, ..Self::default() };
        for (slot, value) in details.values.iter_mut().zip(info.values()) {
            *slot = value;
            details.len += 1;
        }
        details
    }

    /// Returns the values of the info dictionary. After a reset there may be fewer.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values[..self.len]
    }
}

/// An environment with values for the info dictionary.
pub(crate) trait Reported {
    /// Returns the reward of the last step, unless it is exact as `f32`.
    fn reward(&self) -> Option<f64> {
        None
    }

    /// Iterates over the values of the info dictionary.
    fn values(&self) -> impl Iterator<Item = f64>;
}

impl Reported for () {
    fn values(&self) -> impl Iterator<Item = f64> {
        std::iter::empty()
    }
}

impl Reported for ControlInfo {
    fn reward(&self) -> Option<f64> {
        Some(self.reward)
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        std::iter::empty()
    }
}

impl Reported for TabularInfo {
    fn reward(&self) -> Option<f64> {
        Some(self.reward)
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        std::iter::once(self.probability)
    }
}

impl Reported for TaxiInfo {
    fn values(&self) -> impl Iterator<Item = f64> {
        std::iter::once(self.probability).chain(self.action_mask.map(f64::from))
    }
}

impl Reported for mujoco::Info {
    fn reward(&self) -> Option<f64> {
        Some(self.reward)
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.iter().map(|(_, value)| value)
    }
}
