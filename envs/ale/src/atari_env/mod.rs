//! A game as an environment: no-op starts, frame skip, life rules, preprocessing.

mod noops;
mod options;

use rl_env::{Action as EnvAction, Env, EnvError, Space, Step};
use serde::{Deserialize, Serialize};
use vcs::Mt19937;

use crate::palette::Palette;
use crate::preprocess::{Preprocessing, Preprocessor, PreprocessorState, Size};
use crate::{Action, Ale, AleError, Game, PoweredGame};
pub use options::AtariOptions;

/// What an Atari environment reports beside observation and reward, after every reset and step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtariInfo {
    /// Lives that are left.
    pub lives: i32,
    /// Frames since the ROM was loaded (which a seeded reset does), those of resets' no-ops included.
    pub frame_number: u32,
    /// Frames since the last reset.
    pub episode_frame_number: u32,
}

/// One Atari game with the usual preprocessing (Mnih et al., 2015; Machado et al., 2018).
///
/// It equals one environment of ale-py 0.12.1's `AtariVectorEnv` bit for bit. Observations are `stack_num` frames,
/// oldest first, of `img_height` by `img_width` grey bytes or RGB triples; an episode's first ones are filled up with
/// black. Actions are indices into [`action_codes`](Self::action_codes). One step is `frameskip` emulated frames.
///
/// A clone is an environment of its own in the same state; it shares the ROM and the tables.
#[derive(Clone, Debug)]
pub struct AtariEnv {
    options: AtariOptions,
    observation_space: Space,
    action_space: Space,
    action_codes: &'static [u8],
    ale: Ale,
    preprocessor: Preprocessor,
    /// Draws the numbers of no-ops.
    random: Mt19937,
    /// Frames of the episode that count towards the limit.
    elapsed: u32,
    /// Lives at the end of the last step, against which losses are judged.
    lives: i32,
}

/// Everything that changes, but for the emulator, which writes its own state.
#[derive(Serialize, Deserialize)]
struct State {
    ale: Vec<u8>,
    preprocessor: PreprocessorState,
    random: Mt19937,
    elapsed: u32,
    lives: i32,
}

impl AtariEnv {
    /// An environment of a game. Both random generators start from `seed` until a reset gives another.
    pub fn new(powered: &PoweredGame, options: AtariOptions, seed: u64) -> Result<Self, AleError> {
        options.check()?;
        let ale = Ale::new(powered, options.emulator(), 0)?;
        let how = Preprocessing {
            screen_height: powered.height(),
            palette: Palette::of(powered.tv()),
            grayscale: options.grayscale,
            maxpool: options.maxpool,
            target: Size { height: options.img_height, width: options.img_width },
            stack_num: options.stack_num,
        };
        let mut shape = vec![options.stack_num, options.img_height, options.img_width];
        if !options.grayscale {
            shape.push(how.channels());
        }
        let game = powered.game();
        let action_codes = if options.full_action_space { game.legal_actions } else { game.minimal_actions };
        let mut env = Self {
            observation_space: Space::bytes(shape),
            action_space: Space::Discrete { n: action_codes.len() },
            action_codes,
            preprocessor: Preprocessor::new(how),
            random: Mt19937::new(0),
            elapsed: 0,
            lives: 0,
            ale,
            options,
        };
        env.seed(seed);
        Ok(env)
    }

    /// Another environment of the same game, as a new one with this seed. It shares the ROM and the tables.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut other = self.clone();
        other.seed(seed);
        other
    }

    /// Loads the game again with its random numbers, and the draws of no-ops, beginning at `seed`.
    fn seed(&mut self, seed: u64) {
        // The generators take 32 bits. Seeds that fit are taken as they are.
        let seed = (seed ^ seed >> 32) as u32;
        self.ale.load(seed);
        self.random = Mt19937::new(seed);
    }

    /// The game.
    pub fn game(&self) -> &'static Game {
        self.ale.game()
    }

    /// The code of every action, by its index: the game's minimal actions, or all its legal ones.
    pub fn action_codes(&self) -> &'static [u8] {
        self.action_codes
    }

    /// The options.
    pub fn options(&self) -> &AtariOptions {
        &self.options
    }

    /// The emulated game.
    pub fn ale(&self) -> &Ale {
        &self.ale
    }

    /// Resets the game and plays the frames before the agent's first decision: FIRE, then no-ops.
    fn begin_episode(&mut self) {
        self.ale.reset_game();
        let fire = self.options.use_fire_reset && self.action_codes.contains(&Action::FIRE.code());
        if fire {
            self.ale.act(Action::FIRE, 1.0);
        }
        let drawn = self.options.noop_draw().draw(&mut self.random);
        for _ in 0..drawn.saturating_sub(u32::from(fire)) {
            self.ale.act(Action::NOOP, 1.0);
            if self.ale.game_over() {
                self.ale.reset_game();
            }
        }
        self.elapsed = 0;
        self.lives = self.ale.lives();
    }

    /// Emulates the frames of one step and captures those that the observation shows.
    ///
    /// A step that ends the episode stops before the capture, so that its observation shows older frames; as in ale-py.
    fn play(&mut self, action: Action) -> Step {
        let (mut reward, mut over, mut life_lost, mut ends) = (0_i32, false, false, false);
        for remaining in (0..self.options.frameskip).rev() {
            reward = reward.wrapping_add(self.ale.act(action, 1.0));
            self.elapsed = self.elapsed.saturating_add(1);
            over = self.ale.game_over();
            // A game may show no lives before it is over; that is no loss of a life.
            life_lost = (1..self.lives).contains(&self.ale.lives());
            ends = over || self.limit_reached() || self.options.episodic_life && life_lost;
            if ends {
                break;
            }
            match remaining {
                1 => self.preprocessor.capture_before(self.ale.screen()),
                0 => self.preprocessor.capture_last(self.ale.screen()),
                _ => {}
            }
        }
        self.lives = self.ale.lives();
        let reports_lives = self.options.episodic_life || self.options.life_loss_info;
        let terminated = over || reports_lives && life_lost;
        let clipped = if self.options.reward_clipping { reward.clamp(-1, 1) } else { reward };
        Step {
            reward: clipped as f32,
            raw_reward: reward as f32,
            terminated,
            truncated: self.limit_reached() && !terminated,
            continues: terminated && !ends,
        }
    }

    fn limit_reached(&self) -> bool {
        self.elapsed >= self.options.max_num_frames_per_episode
    }

    /// The action that an index stands for.
    fn decode(&self, action: EnvAction<'_>) -> Result<Action, EnvError> {
        let code = match action {
            EnvAction::Discrete(&[index]) => {
                usize::try_from(index).ok().and_then(|i| self.action_codes.get(i))
            }
            _ => None,
        };
        // An environment does not know its index among others; the error says 0.
        code.and_then(|&code| Action::new(code)).ok_or_else(|| EnvError::InvalidAction {
            env: 0,
            action: format!("{action:?}"),
            space: self.action_space.to_string(),
        })
    }
}

impl Env for AtariEnv {
    type Info = AtariInfo;

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        if let Some(seed) = seed {
            self.seed(seed);
        }
        self.begin_episode();
        self.preprocessor.restart(self.ale.screen());
        self.observe(observation);
    }

    fn step(&mut self, action: EnvAction<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let action = self.decode(action)?;
        let step = self.play(action);
        self.preprocessor.process();
        self.observe(observation);
        Ok(step)
    }

    fn info(&self) -> AtariInfo {
        AtariInfo {
            lives: self.ale.lives(),
            frame_number: self.ale.frame_number(),
            episode_frame_number: self.ale.episode_frame_number(),
        }
    }

    fn observe(&self, observation: &mut [u8]) {
        self.preprocessor.observe(observation);
    }

    fn snapshot(&self) -> Vec<u8> {
        let state = State {
            ale: self.ale.snapshot(),
            preprocessor: self.preprocessor.state(),
            random: self.random.clone(),
            elapsed: self.elapsed,
            lives: self.lives,
        };
        postcard::to_stdvec(&state).expect("plain data can be written")
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let bad = |reason: &str| EnvError::BadSnapshot(format!("{}: {reason}", self.game().id));
        let (state, rest) =
            postcard::take_from_bytes::<State>(snapshot).map_err(|error| bad(&error.to_string()))?;
        if !rest.is_empty() {
            return Err(bad("it is too long"));
        }
        if !self.preprocessor.fits(&state.preprocessor) {
            return Err(bad("its pictures have another size"));
        }
        self.ale.restore(&state.ale).map_err(|error| EnvError::BadSnapshot(error.to_string()))?;
        self.preprocessor.restore(&state.preprocessor);
        (self.random, self.elapsed, self.lives) = (state.random, state.elapsed, state.lives);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
