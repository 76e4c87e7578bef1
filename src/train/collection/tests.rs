//! The idle time of a device, simulated by calls and steps of given durations.

use std::io::Write;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ale::RgbImage;
use algorithms::networks::{NamedWeights, NetworkDescription, TrainedNetwork, TransferError, Transferred};
use algorithms::{LearnerError, SpecError, VectorSpec};
use rl_env::{
    Action, Actions, AutoresetMode, Batch, Env, EnvError, ResetSeeds, Space, Step, VectorEnv, VectorError,
};
use vector::{BatchOrder, PoolOptions, PoolVectorEnv};

use super::Collection;
use crate::environments::Environments;
use crate::learner::{Learner, Player};
use crate::telemetry::Sample;
use crate::train::clock::Phases;

const NUM_ENVS: usize = 8;
const THREADS: usize = 2;

/// An environment whose steps take a given time, during which its thread sleeps.
struct Sleeping {
    step: Duration,
    space: Space,
    actions: Space,
}

impl Env for Sleeping {
    type Info = ();

    fn observation_space(&self) -> &Space {
        &self.space
    }

    fn action_space(&self) -> &Space {
        &self.actions
    }

    fn reset(&mut self, _: Option<u64>, observation: &mut [u8]) {
        observation.fill(0);
    }

    fn step(&mut self, _: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        sleep(self.step);
        observation.fill(0);
        Ok(Step::reward(0.0))
    }

    fn info(&self) {}

    fn observe(&self, observation: &mut [u8]) {
        observation.fill(0);
    }

    fn snapshot(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), EnvError> {
        Ok(())
    }
}

impl Environments for PoolVectorEnv<Sleeping> {
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        self.send_to(actions, env_ids)
    }

    fn screen(&self, _: usize) -> Result<Option<RgbImage>, VectorError> {
        Ok(None)
    }

    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        PoolVectorEnv::limit_steps(self, env, steps)
    }
}

/// A learner on a device that takes a given time for each call, during which the host sleeps.
struct OnDevice {
    spec: VectorSpec,
    call: Duration,
    actions: Vec<i32>,
    /// The time for which the device was busy.
    working: Duration,
}

impl algorithms::Learner for OnDevice {
    fn spec(&self) -> &VectorSpec {
        &self.spec
    }

    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError> {
        let began = Instant::now();
        sleep(self.call);
        self.working += began.elapsed();
        self.actions = vec![0; batch.len()];
        Ok(Actions::Discrete(&self.actions))
    }

    fn observe(&mut self, _: &Batch) -> Result<(), LearnerError> {
        Ok(())
    }

    fn can_act(&self, _: &Batch) -> bool {
        true
    }

    fn is_ready(&self) -> bool {
        false
    }

    fn is_idle(&self) -> bool {
        false
    }

    fn updates(&self) -> u64 {
        0
    }

    fn is_complete(&self) -> bool {
        false
    }

    fn write_state(&self, _: &mut dyn Write) -> Result<(), LearnerError> {
        Ok(())
    }

    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        Ok(Vec::new())
    }

    fn description(&self) -> NetworkDescription {
        unreachable!("nothing asks for it")
    }

    fn start_from(&mut self, _: &TrainedNetwork) -> Result<Transferred, TransferError> {
        unreachable!("nothing asks for it")
    }
}

impl Learner for OnDevice {
    fn update_unless(&mut self, _: &dyn Fn() -> bool) -> Result<Option<Vec<Sample>>, LearnerError> {
        Ok(None)
    }

    fn player(&self, _: &VectorSpec, _: bool, _: u64) -> Result<Box<dyn Player>, SpecError> {
        unreachable!("nothing asks for it")
    }
}

/// Returns the fraction of the time for which a device is idle if it takes `call` for each batch of `batch_size`
/// environments, and a step of an environment takes `step`.
fn waiting(batch_size: usize, call: Duration, step: Duration) -> f64 {
    let env = || Sleeping { step, space: Space::floats(1, 0.0, 1.0), actions: Space::discrete(2) };
    let envs = (0..NUM_ENVS).map(|_| ("sleeping".to_owned(), env())).collect();
    let pool = PoolOptions {
        batch_size,
        batch_order: BatchOrder::InTurn,
        num_threads: THREADS,
        autoreset_mode: AutoresetMode::SameStep,
        ..PoolOptions::default()
    };
    let mut environments = PoolVectorEnv::new(envs, pool).expect("environments");
    let spec = VectorSpec::of(&environments).expect("a specification");
    let mut learner = OnDevice { spec, call, actions: Vec::new(), working: Duration::ZERO };
    environments.reset(ResetSeeds::From(0)).expect("a reset");
    let mut collection = Collection::begin(&mut environments).expect("the first batches");
    let (began, mut steps) = (Instant::now(), 0);
    while steps < 20 * NUM_ENVS {
        let mut phases = Phases::default();
        let batch = collection.step(&mut environments, &mut learner, &mut phases, false).expect("a step");
        steps += batch.map_or(0, Batch::len);
    }
    1.0 - learner.working.as_secs_f64() / began.elapsed().as_secs_f64()
}

#[test]
fn a_device_waits_less_if_halves_of_the_environments_take_turns() {
    // All environments of a batch take 16 ms, those of a half 8 ms.
    let step = Duration::from_millis(4);
    for call in [2, 8, 16].map(Duration::from_millis) {
        let [together, halves] = [NUM_ENVS, NUM_ENVS / 2].map(|batch_size| waiting(batch_size, call, step));
        println!("a call of {call:?}: the device waits {together:.2} together, {halves:.2} in halves");
        // A busy machine prolongs steps and calls alike.
        assert!(halves < together - 0.05, "{halves} and {together}");
    }
}
