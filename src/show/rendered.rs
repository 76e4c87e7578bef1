use ale::RgbImage;
use anyhow::{Context, Result};
use rl_env::{Actions, ResetSeeds, Space};

use super::{Description, ShownEnv, ShownStep};
use crate::environments::Environments;

/// The frames per second of environments that do not say how many they have: Gymnasium's default.
const FRAMES_PER_SECOND: f64 = 30.0;
/// The maximum number of components of a continuous action that are shown.
const COMPONENTS: usize = 3;

/// A vector environment of one environment that renders frames.
pub(super) struct Rendered {
    environments: Box<dyn Environments>,
    title: &'static str,
    /// The number of options of each choice; none for continuous actions.
    choices: Vec<usize>,
}

impl Rendered {
    /// Shows the only environment of `environments`, which must not be reset automatically.
    pub(super) fn new(environments: Box<dyn Environments>, title: &'static str) -> Self {
        let choices = match &environments.action_spaces()[0] {
            &Space::Discrete { n, .. } => vec![n],
            Space::MultiDiscrete { nvec, .. } => nvec.clone(),
            _ => Vec::new(),
        };
        Self { environments, title, choices }
    }

    pub(super) fn description(&self) -> Result<Description> {
        let steps_per_second = self.environments.steps_per_second(0)?;
        Ok(Description {
            title: self.title.to_owned(),
            steps_per_second: steps_per_second.unwrap_or(FRAMES_PER_SECOND),
            aspect_ratio: None,
            has_joystick: false,
            options: option_names(&self.choices),
            observation_bytes: self.environments.single_observation_space().byte_len(),
        })
    }
}

impl ShownEnv for Rendered {
    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) -> Result<()> {
        let batch = self.environments.reset(seed.map_or(ResetSeeds::Continue, ResetSeeds::From))?;
        observation.copy_from_slice(batch.observations.row(0));
        Ok(())
    }

    fn step(&mut self, actions: Actions<'_>, observation: &mut [u8]) -> Result<ShownStep> {
        let batch = self.environments.step(actions)?;
        observation.copy_from_slice(batch.observations.row(0));
        Ok(ShownStep {
            reward: f64::from(batch.raw_rewards[0]),
            ends_episode: batch.terminated[0] || batch.truncated[0],
            action: label(actions),
            chosen: chosen(&self.choices, actions),
        })
    }

    fn screen(&self) -> Result<RgbImage> {
        self.environments.screen(0)?.with_context(|| format!("{} has no screen", self.title))
    }
}

/// Returns the names of the options of all choices.
fn option_names(choices: &[usize]) -> Vec<String> {
    let names = |(choice, &options): (usize, &usize)| {
        let prefix = if choices.len() > 1 { format!("choice {}: ", choice + 1) } else { String::new() };
        (0..options).map(move |option| format!("{prefix}{option}")).collect::<Vec<_>>()
    };
    choices.iter().enumerate().flat_map(names).collect()
}

/// Returns the indices of the options that an action consists of.
fn chosen(choices: &[usize], actions: Actions<'_>) -> Vec<usize> {
    let mut first = 0;
    let index = |(&options, &option): (&usize, &i32)| {
        let index = first + option as usize;
        first += options;
        index
    };
    choices.iter().zip(actions.discrete().unwrap_or_default()).map(index).collect()
}

/// Returns an action as text.
fn label(actions: Actions<'_>) -> String {
    let parts: Vec<String> = match actions {
        Actions::Discrete(choices) => choices.iter().map(i32::to_string).collect(),
        Actions::Continuous(components) => {
            let shown = components.iter().take(COMPONENTS).map(|component| format!("{component:.2}"));
            shown.chain((components.len() > COMPONENTS).then(|| "...".to_owned())).collect()
        }
    };
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_follow_each_other_choice_by_choice() {
        assert_eq!(option_names(&[3]), ["0", "1", "2"]);
        assert_eq!(option_names(&[2, 1]), ["choice 1: 0", "choice 1: 1", "choice 2: 0"]);
        assert_eq!(chosen(&[3], Actions::Discrete(&[2])), [2]);
        assert_eq!(chosen(&[2, 3, 2], Actions::Discrete(&[1, 2, 0])), [1, 4, 5]);
        assert!(option_names(&[]).is_empty() && chosen(&[], Actions::Continuous(&[0.5])).is_empty());
    }

    #[test]
    fn long_actions_are_shortened() {
        assert_eq!(label(Actions::Discrete(&[1, 0])), "1 0");
        assert_eq!(label(Actions::Continuous(&[0.5, -0.125, 2.0])), "0.50 -0.12 2.00");
        assert_eq!(label(Actions::Continuous(&[0.5; 17])), "0.50 0.50 0.50 ...");
    }
}
