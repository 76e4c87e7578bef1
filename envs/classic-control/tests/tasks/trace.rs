//! Comparison with traces recorded from Gymnasium.

use rl_env::{Action, ActionKind, Dtype, Env, Space};

/// The number of terminations and truncations in a trace.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) terminations: usize,
    pub(crate) truncations: usize,
}

/// Plays the actions of a trace and compares observations, rewards, flags, and `info` as text at the end of the line.
pub(crate) fn play<E: Env>(name: &str, trace: &str, env: &mut E, info: impl Fn(E::Info) -> String) -> Counts {
    let mut row = vec![0; env.observation_space().byte_len()];
    let mut counts = Counts::default();
    for (line, text) in (1..).zip(trace.lines()) {
        let parts: Vec<&str> = text.split(" | ").collect();
        let words: Vec<&str> = parts[0].split(' ').collect();
        if words[0] == "reset" {
            env.reset(words[1].parse().ok(), &mut row);
            assert_eq!(observation(env.observation_space(), &row), parts[1], "{name}, line {line}");
            assert_eq!(info(env.info()), parts[2..].join(" | "), "{name}, line {line}");
            continue;
        }
        let step = if ActionKind::of(env.action_space()) == Some(ActionKind::Continuous) {
            let floats: Vec<f32> = words[1..].iter().map(|word| float(word)).collect();
            env.step(Action::Continuous(&floats), &mut row)
        } else {
            env.step(Action::Discrete(&[words[1].parse().unwrap()]), &mut row)
        };
        let step = step.unwrap();
        let flags: Vec<&str> = parts[1].split(' ').collect();
        let (terminated, truncated) = (flags[1] == "1", flags[2] == "1");
        assert_eq!(step.raw_reward, float(flags[0]), "{name}, line {line}: reward");
        assert_eq!(observation(env.observation_space(), &row), parts[2], "{name}, line {line}: observation");
        assert_eq!(info(env.info()), parts[3..].join(" | "), "{name}, line {line}: info");
        assert_eq!(step.terminated, terminated, "{name}, line {line}");
        assert_eq!(step.truncated, truncated && !terminated, "{name}, line {line}");
        counts.terminations += usize::from(step.terminated);
        counts.truncations += usize::from(step.truncated);
    }
    counts
}

fn float(word: &str) -> f32 {
    f32::from_bits(u32::from_str_radix(word, 16).unwrap())
}

/// Formats an observation as in the traces.
fn observation(space: &Space, row: &[u8]) -> String {
    let mut words = Vec::new();
    for leaf in space.leaves() {
        for index in 0..leaf.space.num_elements() {
            let value = leaf.element(row, index);
            words.push(match leaf.dtype {
                Dtype::F32 => format!("{:08x}", (value as f32).to_bits()),
                _ => value.to_string(),
            });
        }
    }
    words.join(" ")
}
