use std::sync::Arc;

use ale::{ACTION_NAMES, Action, Ale, AtariEnv, AtariOptions, Game, Palette};
use rl_env::{Env, Pcg64};

use crate::agent::Agent;
use crate::error::FileError;
use crate::network::{Evaluation, Memory};
use crate::rom::Rom;

/// The directions that turn a paddle, and what they stand for if the visitor presses them.
const PADDLE_TURNS: [(&str, &str); 4] =
    [("UP", "RIGHT"), ("DOWN", "LEFT"), ("UPFIRE", "RIGHTFIRE"), ("DOWNFIRE", "LEFTFIRE")];

/// A game in progress, which the visitor and the agent play in turns.
///
/// ```
/// use std::sync::Arc;
///
/// use ale::Action;
/// use browser::{Agent, Rom, Session};
///
/// let agent = Agent::read(include_bytes!("../../checkpoints/zoo/harvest.safetensors"))?;
/// let mut session = Session::new(&Rom::built_in()?, Some(Arc::new(agent)), 1)?;
/// session.act();
/// session.press(Action::NOOP);
/// assert_eq!(session.screens().len(), 4);
/// assert_eq!(session.screens()[0].len(), 160 * 210 * 4);
/// # Ok::<(), browser::FileError>(())
/// ```
#[derive(Debug)]
pub struct Session {
    env: AtariEnv,
    observation: Vec<u8>,
    player: Option<Player>,
    /// The screens of the frames of the last step.
    screens: Vec<Vec<u8>>,
    score: f64,
    is_over: bool,
}

/// An agent with its reading of the current observation.
#[derive(Debug)]
struct Player {
    agent: Arc<Agent>,
    task: usize,
    /// The codes of its actions.
    codes: &'static [u8],
    memory: Memory,
    evaluation: Evaluation,
    random: Pcg64,
    /// The index of the action before the observation, if the agent has it.
    chosen: Option<usize>,
}

impl Session {
    /// Starts a game. An agent that does not play it is ignored. Without an agent, a step is a frame.
    pub fn new(rom: &Rom, agent: Option<Arc<Agent>>, seed: u64) -> Result<Self, FileError> {
        let game = rom.game();
        let agent = agent.and_then(|agent| Some((agent.task_of(game)?, agent)));
        let options = agent.as_ref().map_or_else(alone, |(task, agent)| agent.options(*task, game));
        let mut env = AtariEnv::new(rom.powered(), options, seed)?;
        let mut observation = vec![0; env.observation_space().byte_len()];
        env.reset(Some(seed), &mut observation);
        let player = agent.map(|(task, agent)| Player::new(agent, task, game, &observation, seed));
        let screens = vec![screen(&env)];
        Ok(Self { env, observation, player: player.transpose()?, screens, score: 0.0, is_over: false })
    }

    /// Starts another episode.
    pub fn restart(&mut self) {
        self.env.reset(None, &mut self.observation);
        self.screens = vec![screen(&self.env)];
        (self.score, self.is_over) = (0.0, false);
        if let Some(player) = &mut self.player {
            player.memory = Memory::default();
            player.observe(&self.observation, None);
        }
    }

    /// Takes a step with an action of the agent. Does nothing if the game is over, or without an agent.
    pub fn act(&mut self) {
        if let Some(player) = self.player.as_mut().filter(|_| !self.is_over) {
            let code = player.codes[player.choose()];
            self.step(Action::new(code).unwrap_or_default());
        }
    }

    /// Takes a step with an action of the visitor. Does nothing if the game is over.
    pub fn press(&mut self, action: Action) {
        if !self.is_over {
            self.step(if self.env.game().has_paddles() { turned(action) } else { action });
        }
    }

    fn step(&mut self, action: Action) {
        let codes = self.env.action_codes();
        let index = codes.iter().position(|&code| code == action.code()).unwrap_or(0) as i32;
        self.screens.clear();
        let screens = &mut self.screens;
        let step = self.env.step_and_show(rl_env::Action::Discrete(&[index]), &mut self.observation, |ale| {
            screens.push(painted(ale));
        });
        let step = step.expect("the index is that of an action");
        self.score += f64::from(step.raw_reward);
        self.is_over = step.ends_episode();
        if let Some(player) = &mut self.player {
            player.observe(&self.observation, Some(action));
        }
    }

    /// Returns the screens of the frames of the last step, or the first screen of an episode: `height * 160` pixels,
    /// row by row, each red, green, blue and opacity.
    pub fn screens(&self) -> &[Vec<u8>] {
        &self.screens
    }

    /// Returns the emulated game.
    pub fn ale(&self) -> &Ale {
        self.env.ale()
    }

    /// Returns the observation after the last step: grey bytes of the [shape](Self::observation_shape), the oldest
    /// frame first.
    pub fn observation(&self) -> &[u8] {
        &self.observation
    }

    /// Returns the number of frames of the observation, their height and their width.
    pub fn observation_shape(&self) -> [usize; 3] {
        let options = self.env.options();
        [options.stack_num, options.img_height, options.img_width]
    }

    /// Returns the number of frames of a step.
    pub fn frame_skip(&self) -> u32 {
        self.env.options().frameskip
    }

    /// Returns the sum of the rewards of the episode.
    pub fn score(&self) -> f64 {
        self.score
    }

    /// Returns true if the episode has ended.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns true if an agent plays this game.
    pub fn has_agent(&self) -> bool {
        self.player.is_some()
    }

    /// Returns the agent's outputs for the current observation.
    pub fn evaluation(&self) -> Option<&Evaluation> {
        self.player.as_ref().map(|player| &player.evaluation)
    }

    /// Returns the names of the agent's actions, in the order of its outputs.
    pub fn action_names(&self) -> Vec<&'static str> {
        let codes = self.player.as_ref().map_or(&[][..], |player| player.codes);
        codes.iter().filter_map(|&code| ACTION_NAMES.get(usize::from(code)).copied()).collect()
    }

    /// Returns the index of the action of the last step among those of the agent, if the agent has it.
    pub fn chosen(&self) -> Option<usize> {
        self.player.as_ref()?.chosen
    }
}

impl Player {
    fn new(
        agent: Arc<Agent>,
        task: usize,
        game: &'static Game,
        observation: &[u8],
        seed: u64,
    ) -> Result<Self, FileError> {
        let codes = agent.action_codes(task, game)?;
        let mut memory = Memory::default();
        let evaluation = agent.evaluate(task, observation, &mut memory);
        Ok(Self { agent, task, codes, memory, evaluation, random: Pcg64::new(seed), chosen: None })
    }

    /// Evaluates the observation after an action.
    fn observe(&mut self, observation: &[u8], action: Option<Action>) {
        self.evaluation = self.agent.evaluate(self.task, observation, &mut self.memory);
        self.chosen = action.and_then(|action| self.codes.iter().position(|&code| code == action.code()));
    }

    /// Returns the index of the next action: drawn from the policy, or the one with the largest value, which is
    /// replaced by a random one now and then.
    fn choose(&mut self) -> usize {
        match &self.evaluation {
            Evaluation::Policy { log_probabilities, .. } => {
                let mut rest = self.random.random();
                let drawn = log_probabilities.iter().position(|log_probability| {
                    rest -= f64::from(log_probability.exp());
                    rest < 0.0
                });
                // The sum may be less than 1 by rounding.
                drawn.unwrap_or_else(|| largest(log_probabilities))
            }
            Evaluation::Values(values) if self.random.random() < self.agent.epsilon() => {
                (self.random.random() * values.len() as f64) as usize
            }
            Evaluation::Values(values) => largest(values),
        }
    }
}

/// Returns the index of the first of the largest values.
fn largest(values: &[f32]) -> usize {
    (1..values.len()).fold(0, |best, index| if values[index] > values[best] { index } else { best })
}

/// Returns the options without an agent: those of `ale-train play`.
fn alone() -> AtariOptions {
    AtariOptions {
        frameskip: 1,
        maxpool: false,
        noop_max: 0,
        use_fire_reset: false,
        max_num_frames_per_episode: u32::MAX,
        full_action_space: true,
        ..AtariOptions::default()
    }
}

/// Returns the action that turns a paddle, for a visitor who presses up or down.
fn turned(action: Action) -> Action {
    let name = action.to_string();
    let turn = PADDLE_TURNS.iter().find(|(pressed, _)| *pressed == name);
    let code = turn.and_then(|(_, turn)| ACTION_NAMES.iter().position(|name| name == turn));
    code.and_then(|code| Action::new(code as u8)).unwrap_or(action)
}

/// Returns the pixels of the current screen.
fn screen(env: &AtariEnv) -> Vec<u8> {
    let image = env.render();
    image.pixels.as_chunks().0.iter().copied().flat_map(opaque).collect()
}

/// Returns the pixels of a screen that is drawn.
fn painted(ale: &Ale) -> Vec<u8> {
    let colours = &Palette::of(ale.tv()).rgb;
    ale.screen().iter().flat_map(|&byte| opaque(colours[usize::from(byte)])).collect()
}

fn opaque([red, green, blue]: [u8; 3]) -> [u8; 4] {
    [red, green, blue, u8::MAX]
}

#[cfg(test)]
mod tests {
    use super::*;

    const HARVEST: &[u8] = include_bytes!("../../checkpoints/zoo/harvest.safetensors");

    fn with_agent() -> Session {
        let agent = Agent::read(HARVEST).expect("an agent");
        Session::new(&Rom::built_in().expect("a game"), Some(Arc::new(agent)), 3).expect("a session")
    }

    /// Scores of 32 episodes of the same agent, from `ale-train eval`, are 35 or 36.
    #[test]
    fn the_agent_of_the_zoo_plays_as_well_as_in_training() {
        let mut session = with_agent();
        for _ in 0..2 {
            while !session.is_over() {
                session.act();
            }
            assert!((34.0..=36.0).contains(&session.score()), "{}", session.score());
            session.restart();
            assert_eq!((session.score(), session.is_over()), (0.0, false));
        }
    }

    #[test]
    fn the_visitor_and_the_agent_take_turns() {
        let mut session = with_agent();
        assert_eq!(session.action_names(), ["NOOP", "RIGHT", "LEFT"]);
        assert_eq!((session.frame_skip(), session.screens().len()), (4, 1));
        session.press(Action::new(3).expect("an action"));
        assert_eq!((session.chosen(), session.screens().len()), (Some(1), 4));
        session.press(Action::FIRE);
        assert_eq!(session.chosen(), None, "the agent has no such action");
        session.act();
        assert!(session.chosen().is_some());
        let Some(Evaluation::Policy { log_probabilities, .. }) = session.evaluation() else {
            panic!("an agent with a policy")
        };
        let sum: f32 = log_probabilities.iter().map(|value| value.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    }

    #[test]
    fn without_an_agent_a_step_is_a_frame() {
        let mut session = Session::new(&Rom::built_in().expect("a game"), None, 1).expect("a session");
        session.act();
        assert_eq!(session.ale().episode_frame_number(), 0, "nobody acts");
        session.press(Action::NOOP);
        assert_eq!((session.ale().episode_frame_number(), session.screens().len()), (1, 1));
        assert_eq!(session.screens()[0], screen(&session.env));
        assert!(session.evaluation().is_none() && session.action_names().is_empty());
    }

    #[test]
    fn up_and_down_turn_a_paddle() {
        let name = |action: usize| turned(Action::new(action as u8).expect("an action")).to_string();
        let turned: Vec<String> = (0..18).map(name).collect();
        assert_eq!(turned[..6], ["NOOP", "FIRE", "RIGHT", "RIGHT", "LEFT", "LEFT"]);
        assert_eq!(turned[10..14], ["RIGHTFIRE", "RIGHTFIRE", "LEFTFIRE", "LEFTFIRE"]);
    }
}
