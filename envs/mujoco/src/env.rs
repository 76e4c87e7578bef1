use std::cell::RefCell;

use rl_env::{Action, Env, EnvError, Pcg64, RgbImage, Space, Step, snapshot};
use serde::{Deserialize, Serialize};

use crate::info::Info;
use crate::renderer::error::RenderError;
use crate::renderer::{Renderer, View};
use crate::simulation::{Simulation, State};
use crate::task::Task;

/// A MuJoCo task without a time limit. For the same seed and actions, observations, rewards and terminations equal
/// Gymnasium's bit for bit. The last bit of norms may differ on processors where NumPy computes them in a different
/// order. [`Step`] has the rewards as `f32`, [`Info::reward`] as `f64`.
pub struct MujocoEnv {
    task: Task,
    simulation: Simulation,
    generator: Pcg64,
    info: Info,
    /// Created for the first picture.
    renderer: RefCell<Option<Renderer>>,
}

#[derive(Serialize, Deserialize)]
struct Snapshot {
    generator: Pcg64,
    state: State,
    reward: f64,
    values: Vec<f64>,
}

impl MujocoEnv {
    /// Creates an environment with seed 0.
    pub fn new(task: &Task) -> Self {
        let simulation = Simulation::new(task.model().clone());
        Self {
            task: task.clone(),
            simulation,
            generator: Pcg64::new(0),
            info: Info::default(),
            renderer: RefCell::new(None),
        }
    }

    /// Draws the current state. With [`View::Fixed`], the picture equals Gymnasium's if both use the same library for
    /// OpenGL and both have drawn their first picture of the same state, which determines where the camera is.
    pub fn draw(&self, view: View) -> Result<RgbImage, RenderError> {
        let mut renderer = self.renderer.borrow_mut();
        if renderer.is_none() {
            *renderer = Some(Renderer::new(self.task.model().clone(), self.task.camera(), &self.simulation)?);
        }
        renderer.as_mut().expect("it was created").draw(&self.simulation, view)
    }

    /// Returns the info with this reward and these values.
    fn info_of(&self, reward: f64, values: &[f64]) -> Info {
        Info::new(self.task.rules().reward_rule.names(), reward, values)
    }
}

impl Env for MujocoEnv {
    type Info = Info;

    fn observation_space(&self) -> &Space {
        self.task.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.task.action_space()
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        if let Some(seed) = seed {
            self.generator = Pcg64::new(seed);
        }
        let rules = self.task.rules();
        let (positions, velocities) = rules.start.draw(self.simulation.model(), &mut self.generator);
        self.simulation.start(&positions, &velocities);
        self.info = self.info_of(0.0, &rules.reward_rule.reset_values(&self.simulation));
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let step = self.advance(action, &mut [])?;
        self.observe(observation);
        Ok(step)
    }

    fn advance(&mut self, action: Action<'_>, _scratch: &mut [u8]) -> Result<Step, EnvError> {
        let action = action.to_float_slice(self.task.action_space())?;
        let reward_rule = &self.task.rules().reward_rule;
        let before = reward_rule.tracked_values(&self.simulation);
        self.simulation.advance(action, self.task.frame_skip());
        let outcome = reward_rule.evaluate(&self.simulation, before, action);
        self.info = self.info_of(outcome.reward, &outcome.values);
        Ok(Step { terminated: outcome.terminated, ..Step::reward(outcome.reward as f32) })
    }

    fn info(&self) -> Info {
        self.info.clone()
    }

    fn observe(&self, observation: &mut [u8]) {
        let mut elements = observation.as_chunks_mut::<{ size_of::<f64>() }>().0.iter_mut();
        for part in &self.task.rules().observation {
            part.write(&self.simulation, |value| {
                if let Some(element) = elements.next() {
                    *element = value.to_ne_bytes();
                }
            });
        }
    }

    /// Draws the current state with a camera that [follows](View::Following) the agent.
    fn render(&self) -> Result<Option<RgbImage>, EnvError> {
        self.draw(View::Following).map(Some).map_err(|error| EnvError::Failed(error.to_string()))
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&Snapshot {
            generator: self.generator.clone(),
            state: self.simulation.state(),
            reward: self.info.reward,
            values: self.info.values().to_vec(),
        })
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let Snapshot { generator, state, reward, values } = snapshot::decode(snapshot)?;
        if values.len() > self.task.rules().reward_rule.names().len() {
            return Err(EnvError::BadSnapshot(format!("it reports {} values", values.len())));
        }
        self.simulation.restore(&state)?;
        self.generator = generator;
        self.info = self.info_of(reward, &values);
        Ok(())
    }
}
