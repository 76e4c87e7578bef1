use ale::RgbImage;
use anyhow::Result;
use rl_env::{ActionBuffer, Space};

use crate::environments::Environments;
use crate::telemetry::Media;

/// The maximum number of screens in a strip.
const SCREENS: usize = 8;

/// An observer of an evaluation that collects screens and actions.
#[derive(Default)]
pub(crate) struct Spectator {
    tasks: Vec<Watched>,
}

/// Observations of one task.
struct Watched {
    name: String,
    /// The environment whose first episode is shown.
    env: usize,
    /// The number of times that each action was taken, in all environments of the task; empty for several choices and
    /// for continuous actions.
    actions: Vec<u64>,
    strip: Option<Strip>,
    is_over: bool,
}

impl Spectator {
    /// Observes the environments after a step with these actions.
    pub(super) fn observe(&mut self, environments: &dyn Environments, actions: &ActionBuffer) -> Result<()> {
        if self.tasks.is_empty() {
            self.tasks = watched(environments);
        }
        let batch = environments.batch();
        // Continuous actions are not counted.
        let mut elements = actions.discrete();
        for (row, &env) in batch.env_ids.iter().enumerate() {
            let task = &mut self.tasks[environments.task_ids()[env]];
            let num_elements = environments.action_spaces()[env].num_elements();
            if let Some((action, rest)) =
                elements.and_then(|elements| elements.split_at_checked(num_elements))
            {
                elements = Some(rest);
                // An environment that was reset or rests ignores its action.
                let action = action.first().filter(|_| !batch.autoreset[row]);
                if let Some(count) = action.and_then(|&action| task.actions.get_mut(action as usize)) {
                    *count += 1;
                }
            }
            if env != task.env || task.is_over {
                continue;
            }
            // After the end of the episode, the screen shows the next one.
            task.is_over = batch.episodes[row].is_some();
            if task.is_over {
                continue;
            }
            let strip = task.strip.get_or_insert_default();
            if strip.wants_next()
                && let Some(screen) = environments.screen(env)?
            {
                strip.push(screen);
            }
        }
        Ok(())
    }

    /// Adds the observations of further tasks.
    pub(super) fn join(&mut self, other: Self) {
        self.tasks.extend(other.tasks);
    }

    /// Returns a strip of screens of the first episode of each task, and the distribution of its actions.
    pub(crate) fn media(self) -> Vec<Media> {
        let has_several = self.tasks.len() > 1;
        let media = self.tasks.iter().flat_map(|task| {
            let suffix = if has_several { format!("/{}", task.name) } else { String::new() };
            [task.action_histogram(&suffix), task.strip_image(&suffix)]
        });
        media.flatten().collect()
    }
}

impl Watched {
    fn new(task: usize, name: &str, environments: &dyn Environments) -> Self {
        let env = environments.task_ids().iter().position(|&id| id == task).unwrap_or(0);
        let actions = match environments.action_spaces()[env] {
            Space::Discrete { n, .. } => n,
            _ => 0,
        };
        Self { name: name.to_owned(), env, actions: vec![0; actions], strip: None, is_over: false }
    }

    fn action_histogram(&self, suffix: &str) -> Option<Media> {
        let counts = (0..).zip(&self.actions);
        let taken =
            counts.flat_map(|(action, &count)| std::iter::repeat_n(f64::from(action), count as usize));
        let tag = format!("evaluation/actions{suffix}");
        (!self.actions.is_empty()).then(|| Media::Histogram { tag, values: taken.collect() })
    }

    fn strip_image(&self, suffix: &str) -> Option<Media> {
        let image = self.strip.as_ref().and_then(Strip::image)?;
        Some(Media::Image { tag: format!("evaluation/episode{suffix}"), image })
    }
}

fn watched(environments: &dyn Environments) -> Vec<Watched> {
    let tasks = environments.tasks().iter().enumerate();
    tasks.map(|(task, name)| Watched::new(task, name, environments)).collect()
}

/// Evenly spaced screens of an episode of unknown length.
#[derive(Default)]
struct Strip {
    screens: Vec<RgbImage>,
    /// The number of steps so far.
    steps: u64,
    /// The number of steps that are skipped between two screens.
    pause: u64,
}

impl Strip {
    /// Counts a step. Returns true if the strip includes its screen.
    fn wants_next(&mut self) -> bool {
        let wants = self.steps.is_multiple_of(self.pause + 1);
        self.steps += 1;
        wants
    }

    /// Adds a screen. A full strip first drops every second one.
    fn push(&mut self, screen: RgbImage) {
        if self.screens.len() == SCREENS {
            let mut index = 0;
            self.screens.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.pause = 2 * self.pause + 1;
        }
        self.screens.push(screen);
    }

    /// Returns the screens side by side, or nothing if the strip is empty.
    fn image(&self) -> Option<RgbImage> {
        let first = self.screens.first()?;
        Some(RgbImage {
            height: first.height,
            width: first.width * self.screens.len(),
            pixels: (0..first.height).flat_map(|y| self.row(y)).collect(),
        })
    }

    /// Returns row `y` of all screens.
    fn row(&self, y: usize) -> impl Iterator<Item = u8> {
        let rows =
            self.screens.iter().map(move |screen| &screen.pixels[3 * y * screen.width..][..3 * screen.width]);
        rows.flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_is_spread_evenly_over_an_episode_of_any_length() {
        for (steps, expected) in [(3, vec![0, 1, 2]), (9, vec![0, 2, 4, 6, 8]), (40, vec![0, 8, 16, 24, 32])]
        {
            let mut strip = Strip::default();
            for step in 0..steps {
                if strip.wants_next() {
                    strip.push(RgbImage { height: 2, width: 1, pixels: vec![step, 0, 0, 100 + step, 0, 0] });
                }
            }
            let image = strip.image().unwrap();
            assert_eq!((image.height, image.width), (2, expected.len()));
            let reds: Vec<u8> = image.pixels.iter().step_by(3).copied().collect();
            let below: Vec<u8> = expected.iter().map(|step| 100 + step).collect();
            assert_eq!(reds, [expected, below].concat());
        }
        assert!(Strip::default().image().is_none());
    }
}
