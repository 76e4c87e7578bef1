//! A game as an environment: no-op starts, frame skip, life rules, preprocessing.

mod analogue;
mod options;
mod players;
mod uniform;
mod view;

use rl_env::{Action as EnvAction, Env, EnvError, RgbImage, Space, Step};
use serde::{Deserialize, Serialize};
use vcs::Mt19937;

use crate::ale::is_interrupted_at;
use crate::{Action, Ale, AleError, Game, PoweredGame};
pub use options::{AtariOptions, EpisodeRules};
pub use players::AtariPlayersEnv;
use uniform::Uniform;
use view::{View, ViewState};

/// The information that an Atari environment reports in addition to observation and reward after every reset and step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtariInfo {
    /// Remaining lives.
    pub lives: i32,
    /// Frames since the ROM was loaded, including the no-ops of resets. A seeded reset loads the ROM again.
    pub frame_number: u32,
    /// Frames of the episode, including the no-ops of its reset and those that select the mode.
    pub episode_frame_number: u32,
    /// True if the whole game is over. An episode may end earlier, for example with a lost life.
    pub game_over: bool,
    /// Frames of the episode that count towards its limit: those of steps.
    pub elapsed_frames: u32,
    /// The game's mode.
    pub mode: u32,
    /// The difficulty switches. Bit 0 set means the left switch is at A; bit 1 is the right switch.
    pub difficulty: u32,
}

/// One Atari game with the usual preprocessing (Mnih et al., 2015; Machado et al., 2018).
///
/// It equals one environment of ale-py 0.12.1's `AtariVectorEnv` bit for bit. Observations are `stack_num` frames,
/// oldest first, of `img_height` by `img_width` grey bytes or RGB triples (or of RAM); the first observations of an
/// episode are padded with black frames. Actions are indices into [`action_codes`](Self::action_codes). One step is
/// `frameskip` emulated frames.
///
/// Continuous actions are the distance of an analogue stick from the centre, its angle (0 to the right, growing
/// counterclockwise) and its button. They are in `[0, -pi, 0]` to `[1, pi, 1]`, though any finite values are accepted.
/// A direction is held if its component exceeds `continuous_action_threshold`, and the speed of a paddle is
/// proportional to the distance. In `skiing` and `lost_luggage`, which lack some of the eighteen actions, ale-py 0.12.1
/// mistakes codes for indices and fails; here they behave like other games.
///
/// A clone is an independent environment in the same state; it shares the ROM and the tables.
///
/// ```
/// use ale::{AtariEnv, AtariOptions, PoweredGame, game, roms};
/// use rl_env::{Action, Env};
///
/// let rom = roms::built_in("harvest").expect("the open game is built in");
/// let powered = PoweredGame::new(game("harvest")?, rom.into())?;
/// let mut env = AtariEnv::new(&powered, AtariOptions::default(), 0)?;
/// assert_eq!(env.observation_space().shape(), Some(vec![4, 84, 84]));
///
/// let mut observation = vec![0; env.observation_space().byte_len()];
/// env.reset(Some(1), &mut observation);
/// let step = env.step(Action::Discrete(&[1]), &mut observation)?;
/// assert_eq!(step.reward, 0.0);
/// assert_eq!(env.info().lives, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AtariEnv {
    options: AtariOptions,
    observation_space: Space,
    action_space: Space,
    action_codes: &'static [u8],
    ale: Ale,
    view: View,
    /// Generator of the number of no-ops.
    random: Mt19937,
    /// Generator of the mode and difficulty of each episode, if there are several.
    variants: Mt19937,
    /// Frames of the episode that count towards its limit.
    elapsed: u32,
    /// Lives at the end of the last step, to detect losses.
    lives: i32,
    /// The samples of the last step, with sound.
    sound: Vec<u8>,
}

/// The state of the game after the last frame of a step.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    /// True if the game is over.
    over: bool,
    /// True if the first player has lost a life and has others left.
    life_lost: bool,
    /// True if the episode ends.
    ends: bool,
}

/// The state that changes. The emulator serializes its own state.
#[derive(Serialize, Deserialize)]
struct State {
    ale: Vec<u8>,
    view: ViewState,
    random: Mt19937,
    variants: Mt19937,
    elapsed: u32,
    lives: i32,
}

impl AtariEnv {
    /// Creates an environment of a game. Its random generators start from `seed` until a reset gives another one.
    pub fn new(powered: &PoweredGame, options: AtariOptions, seed: u64) -> Result<Self, AleError> {
        Self::with_players(powered, 1, options, seed)
    }

    fn with_players(
        powered: &PoweredGame,
        players: usize,
        options: AtariOptions,
        seed: u64,
    ) -> Result<Self, AleError> {
        let game = powered.game();
        options.check(game, players)?;
        let action_codes = options.action_codes(game, players);
        let action_space =
            if options.continuous { analogue::space() } else { Space::discrete(action_codes.len()) };
        let mut env = Self {
            observation_space: options.observation_space(),
            action_space,
            action_codes,
            ale: Ale::new(powered, options.emulator(players), 0)?,
            view: View::new(powered, &options),
            random: Mt19937::new(0),
            variants: Mt19937::new(0),
            elapsed: 0,
            lives: 0,
            sound: Vec::new(),
            options,
        };
        env.seed(seed);
        Ok(env)
    }

    /// Returns the bytes of memory that an environment of a game with these options needs at least, also one of several
    /// players. The options must be valid for this number of players.
    pub fn memory(game: &'static Game, players: usize, options: &AtariOptions) -> Result<usize, AleError> {
        options.check(game, players)?;
        Ok(size_of::<Self>() + options.view_bytes())
    }

    /// Creates another environment of the same game with this seed. It shares the ROM and the tables.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut other = self.clone();
        other.seed(seed);
        other
    }

    /// Loads the game again and seeds all random generators.
    fn seed(&mut self, seed: u64) {
        // The generators take 32 bits. Smaller seeds are used unchanged.
        let seed = (seed ^ seed >> 32) as u32;
        self.ale.load(seed);
        self.random = Mt19937::new(seed);
        self.variants = Mt19937::new(seed);
    }

    /// Returns the game.
    pub fn game(&self) -> &'static Game {
        self.ale.game()
    }

    /// Returns the code of every available action by index: the game's minimal actions or all its legal ones.
    pub fn action_codes(&self) -> &'static [u8] {
        self.action_codes
    }

    /// Returns the options.
    pub fn options(&self) -> &AtariOptions {
        &self.options
    }

    /// Returns the emulated game. Its screen is not drawn; use [`render`](Self::render).
    pub fn ale(&self) -> &Ale {
        &self.ale
    }

    /// Switches the sound on.
    #[must_use]
    pub fn with_sound(mut self) -> Self {
        self.ale.switch_sound_on();
        self
    }

    /// Returns the sound of the last step: [512 samples](crate::SOUND_SAMPLES) for each emulated frame, as
    /// [`Ale::sound`] describes them. Empty without [sound](Self::with_sound).
    pub fn sound(&self) -> &[u8] {
        &self.sound
    }

    /// Renders the whole screen of the last frame, regardless of the observation.
    pub fn render(&self) -> RgbImage {
        let mut ale = self.ale.clone();
        ale.show();
        ale.image()
    }

    /// Takes a step like [`step`](Env::step), but draws every frame and calls `show` after each, for a smooth picture.
    ///
    /// ```
    /// use ale::{AtariEnv, AtariOptions, PoweredGame, game, roms};
    /// use rl_env::{Action, Env};
    ///
    /// let rom = roms::built_in("harvest").expect("the open game is built in");
    /// let powered = PoweredGame::new(game("harvest")?, rom.into())?;
    /// let mut env = AtariEnv::new(&powered, AtariOptions::default(), 0)?;
    /// let mut observation = vec![0; env.observation_space().byte_len()];
    /// env.reset(Some(1), &mut observation);
    /// let mut frames = 0;
    /// env.step_and_show(Action::Discrete(&[1]), &mut observation, |ale| {
    ///     assert_eq!(ale.screen().len(), ale.height() * 160);
    ///     frames += 1;
    /// })?;
    /// assert_eq!(frames, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn step_and_show(
        &mut self,
        action: EnvAction<'_>,
        observation: &mut [u8],
        mut show: impl FnMut(&Ale),
    ) -> Result<Step, EnvError> {
        let step = self.advance_with(action, |env, action, strength| {
            env.play_with(|ale, _| {
                let reward = ale.act(action, strength);
                show(ale);
                reward
            })
        })?;
        self.observe(observation);
        Ok(step)
    }

    /// Draws the mode and the difficulty of the next episode.
    fn draw_variant(&mut self) -> Result<(), AleError> {
        let mode = draw_setting(&self.options.modes, &mut self.variants);
        let difficulty = draw_setting(&self.options.difficulties, &mut self.variants);
        mode.map_or(Ok(()), |mode| self.ale.set_mode(mode))?;
        difficulty.map_or(Ok(()), |difficulty| self.ale.set_difficulty(difficulty))
    }

    /// Plays the frames before the agent's first decision, in the same game if `continues` is true, and writes the
    /// first observation.
    fn begin_episode(&mut self, continues: bool, observation: &mut [u8]) {
        if self.play_start(continues) {
            self.view.restart(&self.ale, self.options.fill_stack);
        } else {
            self.view.finish_step(&self.ale, true, false);
        }
        self.ale.release_screens();
        self.observe(observation);
    }

    /// Plays the frames before the agent's first decision. Returns true if the game was reset.
    fn play_start(&mut self, continues: bool) -> bool {
        let mut is_reset = !continues;
        if is_reset {
            self.draw_variant().expect("the options were checked");
            self.ale.reset_game();
        }
        let fire = self.options.use_fire_reset && self.has_fire();
        let fires_last = self.options.rules == EpisodeRules::EnvPool;
        if fire && !fires_last {
            self.ale.fire_undrawn();
        }
        let drawn = self.options.noop_draw().draw(&mut self.random);
        for noop in 0..(drawn + u32::from(fires_last)).saturating_sub(u32::from(fire)) {
            self.ale.act_undrawn(Action::NOOP, 1.0);
            if is_interrupted_at(noop) {
                break;
            }
            if self.ale.game_over() {
                self.ale.reset_game();
                is_reset = true;
            }
        }
        if fire && fires_last {
            self.ale.fire_undrawn();
        }
        self.ale.show();
        if is_reset {
            self.elapsed = 0;
        }
        self.lives = self.ale.lives();
        is_reset
    }

    /// Returns true if the next episode continues the game.
    fn continues_game(&self) -> bool {
        let may_continue = self.options.rules == EpisodeRules::EnvPool && self.options.episodic_life;
        may_continue && !self.ale.game_over() && !self.limit_reached()
    }

    /// Emulates the frames of one step and adds the newest frame to the observation.
    fn play(&mut self, action: Action, strength: f32) -> Step {
        self.play_with(|ale, seen| {
            let act = if seen { Ale::act } else { Ale::act_undrawn };
            act(ale, action, strength)
        })
    }

    /// Like [`play`](Self::play). `act` emulates a frame, draws it if its second argument is true, and returns the
    /// reward.
    fn play_with(&mut self, mut act: impl FnMut(&mut Ale, bool) -> i32) -> Step {
        let mut reward = 0_i32;
        let Outcome { over, life_lost, ends } =
            self.play_frames(|ale, seen| reward = reward.wrapping_add(act(ale, seen)));
        let reports_lives = self.options.episodic_life || self.options.life_loss_info;
        let terminated = over || reports_lives && life_lost;
        Step { terminated, continues: terminated && !ends, ..self.step_with(reward, terminated) }
    }

    /// Returns a step with a reward, which is truncated at the limit of the episode unless it terminates.
    fn step_with(&self, reward: i32, terminated: bool) -> Step {
        let clipped = if self.options.reward_clipping { reward.clamp(-1, 1) } else { reward };
        Step {
            reward: clipped as f32,
            raw_reward: reward as f32,
            truncated: self.limit_reached() && !terminated,
            ..Step::default()
        }
    }

    /// Emulates the frames of one step and adds the newest frame to the observation. `act` emulates a frame, and draws
    /// it if its second argument is true.
    ///
    /// As in ale-py, a step that ends the episode ignores its last frame, so that its observation shows older ones.
    /// With `EnvPool`'s rules, the observation shows whichever of the step's last two frames were emulated.
    fn play_frames(&mut self, mut act: impl FnMut(&mut Ale, bool)) -> Outcome {
        let mut outcome = Outcome::default();
        let (mut has_previous, mut has_last) = (false, true);
        let ignores_last = self.options.rules == EpisodeRules::AlePy;
        for remaining in (0..self.options.frameskip).rev() {
            let seen = remaining == 0 || remaining == 1 && self.options.maxpool;
            act(&mut self.ale, seen);
            self.sound.extend_from_slice(self.ale.sound().map_or(&[], |samples| samples));
            self.elapsed = self.elapsed.saturating_add(1);
            let over = self.ale.game_over();
            // A game may report zero lives before it is over; that does not count as the loss of a life.
            let life_lost = (1..self.lives).contains(&self.ale.lives());
            let ends = over || self.limit_reached() || self.options.episodic_life && life_lost;
            outcome = Outcome { over, life_lost, ends };
            let is_interrupted = is_interrupted_at(remaining);
            if ends && ignores_last || over && remaining > 0 || is_interrupted {
                self.ale.show();
                has_last = !ignores_last && remaining == 1;
                break;
            }
            if remaining == 1 {
                has_previous = true;
                self.view.finish_previous_frame(&self.ale);
            }
        }
        self.view.finish_step(&self.ale, has_last, has_previous);
        self.ale.release_screens();
        self.lives = self.ale.lives();
        outcome
    }

    /// Takes a step whose frames `play` emulates, without writing the observation.
    fn advance_with(
        &mut self,
        action: EnvAction<'_>,
        mut play: impl FnMut(&mut Self, Action, f32) -> Step,
    ) -> Result<Step, EnvError> {
        let (action, strength) = self.decode(action)?;
        let lives = self.lives;
        self.sound.clear();
        let step = play(self, action, strength);
        let is_lost = (1..lives).contains(&self.lives) && !step.ends_episode();
        let fires = is_lost && self.options.fire_after_lost_life && self.has_fire();
        Ok(if fires { self.continue_after_lost_life(step, play) } else { step })
    }

    /// Plays the steps after a lost life, which the agent does not see, and merges them into the step that lost it.
    /// Their rewards are added only to the raw reward.
    fn continue_after_lost_life(
        &mut self,
        step: Step,
        mut play: impl FnMut(&mut Self, Action, f32) -> Step,
    ) -> Step {
        let third = self.action_codes.get(2).and_then(|&code| Action::new(code));
        let mut whole = step;
        for action in [Some(Action::NOOP), Some(Action::FIRE), third].into_iter().flatten() {
            let step = play(self, action, 1.0);
            whole.raw_reward += step.raw_reward;
            if step.ends_episode() {
                whole.terminated |= step.terminated;
                whole.truncated = !whole.terminated;
                whole.continues = false;
                break;
            }
        }
        whole
    }

    /// Returns true if FIRE is one of the actions.
    fn has_fire(&self) -> bool {
        self.action_codes.contains(&Action::FIRE.code())
    }

    fn limit_reached(&self) -> bool {
        self.elapsed >= self.options.max_num_frames_per_episode
    }

    /// Returns the action and its strength.
    fn decode(&self, action: EnvAction<'_>) -> Result<(Action, f32), EnvError> {
        let known = match action {
            EnvAction::Discrete(&[index]) if !self.options.continuous => {
                let code = usize::try_from(index).ok().and_then(|index| self.action_codes.get(index));
                code.and_then(|&code| Action::new(code)).map(|action| (action, 1.0))
            }
            EnvAction::Continuous(values) if self.options.continuous => {
                let stick: Option<&[f32; 3]> = values.try_into().ok();
                let stick = stick.filter(|stick| stick.iter().all(|value| value.is_finite()));
                stick.map(|stick| analogue::read(stick, self.options.continuous_action_threshold))
            }
            _ => None,
        };
        known.ok_or_else(|| EnvError::InvalidAction {
            action: action.to_string(),
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
        self.begin_episode(false, observation);
    }

    /// Starts the next episode. With `EnvPool`'s rules it continues the game if the last episode ended with a lost
    /// life.
    fn autoreset(&mut self, observation: &mut [u8]) {
        self.begin_episode(self.continues_game(), observation);
    }

    fn step(&mut self, action: EnvAction<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let step = self.advance(action, &mut [])?;
        self.observe(observation);
        Ok(step)
    }

    fn advance(&mut self, action: EnvAction<'_>, _: &mut [u8]) -> Result<Step, EnvError> {
        self.advance_with(action, Self::play)
    }

    fn info(&self) -> AtariInfo {
        AtariInfo {
            lives: self.ale.lives(),
            game_over: self.ale.game_over(),
            elapsed_frames: self.elapsed,
            frame_number: self.ale.frame_number(),
            episode_frame_number: self.ale.episode_frame_number(),
            mode: self.ale.mode(),
            difficulty: self.ale.difficulty(),
        }
    }

    fn observe(&self, observation: &mut [u8]) {
        self.view.observe(observation);
    }

    fn render(&self) -> Result<Option<RgbImage>, EnvError> {
        Ok(Some(Self::render(self)))
    }

    fn snapshot(&self) -> Vec<u8> {
        let state = State {
            ale: self.ale.snapshot(),
            view: self.view.state(),
            random: self.random.clone(),
            variants: self.variants.clone(),
            elapsed: self.elapsed,
            lives: self.lives,
        };
        postcard::to_stdvec(&state).expect("the state can be serialized")
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let state: State = rl_env::snapshot::decode(snapshot)?;
        if !self.view.fits(&state.view) {
            let reason = format!("{}: its observations have a different size", self.game().id);
            return Err(EnvError::BadSnapshot(reason));
        }
        self.ale.restore(&state.ale).map_err(|error| EnvError::BadSnapshot(error.to_string()))?;
        self.view.restore(&state.view);
        (self.random, self.variants) = (state.random, state.variants);
        (self.elapsed, self.lives) = (state.elapsed, state.lives);
        Ok(())
    }
}

/// Draws one of the values of a setting for the next episode. Returns `None` if there is nothing to choose.
fn draw_setting(values: &[u32], random: &mut Mt19937) -> Option<u32> {
    let index = (values.len() > 1).then(|| Uniform::below(values.len() as u32).draw(random));
    index.map(|index| values[index as usize])
}

#[cfg(test)]
mod tests;
