//! The number of calls of a device.

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

/// Asserts the waits of all steps, the uploads and launches of steps that only act, and the calls of the update.
/// `launches` are the numbers of kernels in WGSL.
fn assert_counts(counts: &Counts, uploads: u64, uploads_of_update: u64, launches: [u64; 2]) {
    println!("{counts:?}");
    let Counts { steps, update } = counts;
    assert!(steps.iter().all(|step| (1..=2).contains(&step.waits)), "{steps:?}");
    // The others also evaluate final observations or the last observations of the rollout.
    let acting: Vec<&DeviceCalls> = steps.iter().filter(|step| step.waits == 1).collect();
    assert!(acting.iter().all(|step| step.uploads == uploads) && !acting.is_empty(), "{steps:?}");
    assert_eq!((update.uploads, update.waits), (uploads_of_update, 1));
    assert!(acting.iter().all(|step| step.launches <= launches[0]), "{steps:?}");
    assert!(update.launches <= launches[1], "{update:?}");
}

#[test]
fn ppo_waits_for_a_device_once_per_act_and_once_per_update() {
    let recurrent = PolicyConfig { lstm: 8, ..PolicyConfig::default() };
    let minibatches = (ppo_config().update_epochs * ppo_config().num_minibatches) as u64;
    // Acting uploads observations and random numbers and, with an LSTM, its hidden states, its cells and the episode
    // starts. A minibatch uploads its rows, its advantages and the groups of rows by task and, with an LSTM, hidden
    // states, cells, episode starts and the rows that are transitions. Each update uploads the targets.
    for (policy, uploads, of_minibatch, launches) in [
        (PolicyConfig::default(), 2, 3, [[43, 5583], [49, 6927]]),
        (recurrent, 5, 6, [[77, 32_035], [83, 33_379]]),
    ] {
        for (spec, launches) in [vectors(), images()].into_iter().zip(launches) {
            let spec = VectorSpec { autoreset_mode: AutoresetMode::SameStep, ..spec };
            let (_, counts) = on_cpu_and_devices(|device| {
                let mut ppo = Ppo::new(ppo_config(), policy.clone(), spec.clone(), device, 7).unwrap();
                count_calls(&mut ppo, &spec, |ppo| {
                    ppo.update().unwrap();
                })
            });
            for counts in counts {
                assert_counts(&counts, uploads, 6 + minibatches * of_minibatch, launches);
            }
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
    for counts in counts {
        assert_counts(&counts, 1, minibatches * 7, [87, 10_935]);
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
