//! The numbers of calls of a device: uploads, kernel launches, and waits for results.

use rl_env::AutoresetMode;

use super::{images, on_cpu_and_devices, ppo_config, vectors};
use crate::dqn::{Dqn, DqnConfig};
use crate::networks::PolicyConfig;
use crate::ppo::Ppo;
use crate::pqn::{Pqn, PqnConfig};
use crate::testing::RandomEnvs;
use crate::{DeviceCalls, Learner, VectorSpec};

/// The device calls of a learner during its second rollout and update.
#[derive(Debug, PartialEq)]
struct Counts {
    /// The calls of each pair of `act` and `observe`.
    steps: Vec<DeviceCalls>,
    update: DeviceCalls,
}

/// Trains a learner for two rollouts and updates. Returns the device calls of the second ones.
fn count_calls<L: Learner>(learner: &mut L, spec: &VectorSpec, update: impl Fn(&mut L)) -> Counts {
    let mut envs = RandomEnvs::new(spec.clone());
    loop {
        let mut steps = Vec::new();
        while !learner.is_ready() {
            let before = DeviceCalls::of_thread();
            learner.act(&envs.batch).unwrap();
            envs.step();
            learner.observe(&envs.batch).unwrap();
            steps.push(DeviceCalls::of_thread() - before);
        }
        let before = DeviceCalls::of_thread();
        update(learner);
        let update = DeviceCalls::of_thread() - before;
        if learner.updates() == 2 {
            return Counts { steps, update };
        }
    }
}

/// The expected calls of a step that only acts, and of an update.
struct Expected {
    uploads_of_step: u64,
    uploads_of_update: u64,
    /// Upper bounds of the launches. Kernels in WGSL need the most.
    launches_of_step: u64,
    launches_of_update: u64,
}

/// Asserts the waits of all steps, the uploads and launches of steps that only act, and the calls of the update.
fn assert_counts(counts: &Counts, expected: &Expected) {
    println!("{counts:?}");
    let Counts { steps, update } = counts;
    assert!(steps.iter().all(|step| (1..=2).contains(&step.waits)), "{steps:?}");
    // The other steps wait twice, because they also evaluate final observations or the last ones of the rollout.
    let acting: Vec<&DeviceCalls> = steps.iter().filter(|step| step.waits == 1).collect();
    assert!(
        acting.iter().all(|step| step.uploads == expected.uploads_of_step) && !acting.is_empty(),
        "{steps:?}"
    );
    assert_eq!((update.uploads, update.waits), (expected.uploads_of_update, 1));
    assert!(acting.iter().all(|step| step.launches <= expected.launches_of_step), "{steps:?}");
    assert!(update.launches <= expected.launches_of_update, "{update:?}");
}

#[test]
fn ppo_waits_for_a_device_once_per_act_and_once_per_update() {
    const UPLOADS_OF_TARGETS: u64 = 6;
    let minibatches = (ppo_config().update_epochs * ppo_config().num_minibatches) as u64;
    for (lstm, spec, launches_of_step, launches_of_update) in [
        (0, vectors(), 43, 5583),
        (0, images(), 49, 6927),
        (8, vectors(), 77, 32_035),
        (8, images(), 83, 33_379),
    ] {
        // Acting uploads observations and random numbers. With an LSTM, it also uploads hidden states, cells and the
        // episode starts. A minibatch uploads its rows, its advantages and the groups of rows by task. With an LSTM, it
        // also uploads hidden states, cells, episode starts and the rows that are transitions.
        let (uploads_of_step, uploads_of_minibatch) = if lstm == 0 { (2, 3) } else { (5, 6) };
        let uploads_of_update = UPLOADS_OF_TARGETS + uploads_of_minibatch * minibatches;
        let expected = Expected { uploads_of_step, uploads_of_update, launches_of_step, launches_of_update };
        let policy = PolicyConfig { lstm, ..PolicyConfig::default() };
        let spec = VectorSpec { autoreset_mode: AutoresetMode::SameStep, ..spec };
        let (_, counts) = on_cpu_and_devices(|device| {
            let mut ppo = Ppo::new(ppo_config(), policy.clone(), spec.clone(), device, 7).unwrap();
            count_calls(&mut ppo, &spec, |ppo| {
                ppo.update().unwrap();
            })
        });
        for counts in counts {
            assert_counts(&counts, &expected);
        }
    }
}

#[test]
fn pqn_waits_for_a_device_once_per_act_and_once_per_update() {
    let config = PqnConfig { total_steps: 320, num_steps: 16, ..PqnConfig::default() };
    let minibatches = (config.update_epochs * config.num_minibatches) as u64;
    let spec = VectorSpec { autoreset_mode: AutoresetMode::SameStep, ..images() };
    let (_, counts) = on_cpu_and_devices(|device| {
        let mut pqn = Pqn::new(config.clone(), PolicyConfig::default(), spec.clone(), device, 7).unwrap();
        count_calls(&mut pqn, &spec, |pqn| {
            pqn.update().unwrap();
        })
    });
    let expected = Expected {
        uploads_of_step: 1,
        uploads_of_update: 7 * minibatches,
        launches_of_step: 87,
        launches_of_update: 10_935,
    };
    for counts in counts {
        assert_counts(&counts, &expected);
    }
}

#[test]
fn dqn_waits_for_a_device_once_per_act_and_twice_per_gradient_step() {
    let config = DqnConfig {
        buffer_size: 120,
        batch_size: 8,
        learning_starts: 8,
        double: true,
        prioritized: true,
        ..DqnConfig::default()
    };
    let (_, counts) = on_cpu_and_devices(|device| {
        let mut dqn = Dqn::new(config.clone(), PolicyConfig::default(), images(), device, 7).unwrap();
        count_calls(&mut dqn, &images(), |dqn| {
            dqn.update().unwrap();
        })
    });
    for Counts { steps, update } in counts {
        assert!(steps.iter().all(|step| step.waits <= 1), "{steps:?}");
        assert_eq!(update.waits, 2);
    }
}
