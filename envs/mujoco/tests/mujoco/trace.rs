//! Comparison with traces recorded from Gymnasium by `data/record_traces.py`.

use mujoco::{Info, Installation, MujocoEnv, Task, Value};
use rl_env::{Action, Env, Pcg64, Space, Step, TimeLimit};

/// The number of steps, terminations and truncations in a trace.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) steps: usize,
    pub(crate) terminations: usize,
    pub(crate) truncations: usize,
}

/// Plays the cases of a trace and compares every digest.
pub(crate) fn play(installation: &Installation, id: &str, trace: &str) -> Counts {
    let mut counts = Counts::default();
    for case in trace.split("make ").skip(1) {
        let (arguments, lines) = case.split_once('\n').unwrap();
        let mut words = arguments.split_whitespace();
        let seed = words.next().unwrap().parse().unwrap();
        let arguments: Vec<(&str, Value)> = words.map(argument).collect();
        let task = Task::load(installation, id, &arguments).unwrap();
        let mut player = Player::new(&task, seed);
        for (line, text) in (1..).zip(lines.lines()) {
            player.line(text, &mut counts).unwrap_or_else(|| panic!("{id}, {arguments:?}: bad line {text}"));
            assert_eq!(player.shown, text, "{id}, {arguments:?}, line {line} of the case");
        }
    }
    counts
}

/// Parses an argument as Python prints it.
fn argument(text: &str) -> (&str, Value) {
    let (name, value) = text.split_once('=').unwrap();
    let number = |text: &str| text.parse::<f64>();
    let value = match (value, value.split_once(':')) {
        ("True" | "False", _) => Value::Flag(value == "True"),
        (_, Some((low, high))) => Value::Range(number(low).unwrap(), number(high).unwrap()),
        _ => number(value).map_or_else(|_| Value::from(value), Value::Number),
    };
    (name, value)
}

struct Player {
    env: TimeLimit<MujocoEnv>,
    row: Vec<u8>,
    generator: Pcg64,
    bounds: Vec<(f64, f64)>,
    /// The expected line of the trace.
    shown: String,
}

impl Player {
    fn new(task: &Task, seed: u64) -> Self {
        let env = TimeLimit::new(MujocoEnv::new(task), task.max_episode_steps());
        let Space::Box { low, high, .. } = env.action_space() else { panic!("actions are floats") };
        let bounds =
            (0..env.action_space().num_elements()).map(|index| (1.2 * low.of(index), 1.2 * high.of(index)));
        let bounds = bounds.collect();
        let row = vec![0; env.observation_space().byte_len()];
        Self { env, row, generator: Pcg64::new(seed), bounds, shown: String::new() }
    }

    /// Does what a line of the trace says.
    fn line(&mut self, text: &str, counts: &mut Counts) -> Option<()> {
        let words: Vec<&str> = text.split(' ').collect();
        self.shown = match *words.first()? {
            "reset" => {
                self.env.reset(words[1].parse().ok(), &mut self.row);
                format!("reset {} {} {}", words[1], self.observation(), values(&self.env.info()))
            }
            "step" => {
                let gymnasium_truncates = words[2] == "1";
                let step = self.step();
                counts.steps += 1;
                counts.terminations += usize::from(step.terminated);
                counts.truncations += usize::from(step.truncated);
                // Only Gymnasium sets both flags.
                let truncated = step.truncated || (step.terminated && gymnasium_truncates);
                let info = self.env.info();
                assert_eq!(step.reward, info.reward as f32);
                let flags = format!("{} {}", u8::from(step.terminated), u8::from(truncated));
                let reward = digest(&[info.reward]);
                format!("step {flags} {reward} {} {}", self.observation(), values(&info))
            }
            // Written after the first step, whose line follows.
            "info" => {
                let mut copy = self.generator.clone();
                let snapshot = self.env.snapshot();
                self.step();
                let names: Vec<&str> = self.env.info().iter().map(|(name, _)| name).collect();
                self.env.restore(&snapshot).unwrap();
                std::mem::swap(&mut copy, &mut self.generator);
                format!("info {}", names.join(" ")).trim_end().to_owned()
            }
            _ => return None,
        };
        Some(())
    }

    fn step(&mut self) -> Step {
        let action: Vec<f32> =
            self.bounds.iter().map(|&(low, high)| self.generator.uniform(low, high) as f32).collect();
        self.env.step(Action::Continuous(&action), &mut self.row).unwrap()
    }

    fn observation(&self) -> String {
        let floats: Vec<f64> =
            self.row.as_chunks().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect();
        digest(&floats)
    }
}

fn values(info: &Info) -> String {
    digest(&info.iter().map(|(_, value)| value).collect::<Vec<_>>())
}

/// Combines the bits of floats as the script does.
fn digest(values: &[f64]) -> String {
    let digest = values.iter().fold(0_u64, |digest, value| {
        digest.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(value.to_bits())
    });
    format!("{:08x}", (digest ^ digest >> 32) as u32)
}
