"""Single Atari environments: a drop-in replacement for ``ale_py.env``."""

from __future__ import annotations

import functools
import sys
from typing import Any, Literal, TypeAlias, TypedDict

import gymnasium
import numpy as np
from gymnasium import error, spaces, utils
from gymnasium.utils import seeding
from typing_extensions import NotRequired

from ale_train._native import ALEInterface, ALEState
from ale_train.actions import Action
from ale_train.arguments import check_frameskip, check_games
from ale_train.names import camel_case
from ale_train.window import Window

__all__ = ["AtariEnv", "AtariEnvStepMetadata"]

#: The parts of an action's name and the keys that play them, in the order of ``get_keys_to_action``.
_KEYS = (("UP", "w"), ("DOWN", "s"), ("RIGHT", "d"), ("LEFT", "a"), ("FIRE", " "))

#: The key of no action.
_NO_KEY = "e"


#: An array, or a dictionary of arrays with ``sound_obs``.
Observation: TypeAlias = np.ndarray | Any


class AtariEnvStepMetadata(TypedDict):
    """The info of a step."""

    lives: int
    episode_frame_number: int
    frame_number: int
    seeds: NotRequired[tuple[int, int]]


class AtariEnv(gymnasium.Env[Observation, "np.int64 | np.ndarray"], utils.EzPickle):
    """One Atari game, as ``gymnasium.make("ALE/Pong-v5")`` creates it.

    The same seeds and actions give the same observations, rewards, flags and infos as ``ale_py.AtariEnv`` of ale-py
    0.12.1. Threads may step different environments in parallel: a step releases the GIL.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 30}

    def __init__(
        self,
        game: str,
        mode: int | None = None,
        difficulty: int | None = None,
        obs_type: Literal["rgb", "grayscale", "ram"] = "rgb",
        frameskip: tuple[int, int] | int = 4,
        repeat_action_probability: float = 0.25,
        full_action_space: bool = False,
        continuous: bool = False,
        continuous_action_threshold: float = 0.5,
        max_num_frames_per_episode: int | None = None,
        render_mode: Literal["human", "rgb_array"] | None = None,
        sound_obs: bool = False,
    ) -> None:
        """Loads a game.

        Args:
            game: Id of the game, such as ``"ms_pacman"``.
            mode: Mode of the game; None for its default.
            difficulty: Difficulty switches; None for their default.
            obs_type: ``"rgb"``, ``"grayscale"`` or ``"ram"``.
            frameskip: Emulated frames per step, or ``(low, high)`` for a random number from ``low`` to ``high - 1`` in
                each step.
            repeat_action_probability: Probability that a frame repeats the previous action (sticky actions).
            full_action_space: Use all legal actions instead of the minimal set.
            continuous: Use actions ``(radius, angle, fire)`` of an analogue stick.
            continuous_action_threshold: Threshold above which a direction or the button counts as held.
            max_num_frames_per_episode: Frames after which an episode is truncated.
            render_mode: ``"rgb_array"``, or ``"human"`` for a window, which needs pygame.
            sound_obs: Add the sound of the last frame. Observations are then dictionaries with the entries ``"image"``,
                as ``obs_type`` selects it, and ``"sound"``, 512 mono samples of uint8 around 128, which are 0 before
                the first step. Played at 30,720 Hz, the sound of each frame lasts until the next one.

        Raises:
            GameError: There is no such game.
            gymnasium.error.Error: ``obs_type``, ``frameskip`` or ``render_mode`` is invalid.
            RuntimeError: The game has no such mode or difficulty.
            TypeError: ``sound_obs`` is not a bool.
            ValueError: Another argument is outside its range.
            OSError: The ROM cannot be read.
            DependencyNotInstalled: ``render_mode`` is ``"human"`` and pygame is not installed.
        """
        if obs_type not in ("rgb", "grayscale", "ram"):
            raise error.Error(f"Invalid observation type: {obs_type}. Expecting: rgb, grayscale, ram.")
        _check_frameskip(frameskip)
        if render_mode not in (None, "rgb_array", "human"):
            raise error.Error(f"Render mode {render_mode} not supported (rgb_array, human).")
        check_games([game])
        utils.EzPickle.__init__(
            self,
            game=game,
            mode=mode,
            difficulty=difficulty,
            obs_type=obs_type,
            frameskip=frameskip,
            repeat_action_probability=repeat_action_probability,
            full_action_space=full_action_space,
            continuous=continuous,
            continuous_action_threshold=continuous_action_threshold,
            max_num_frames_per_episode=max_num_frames_per_episode,
            render_mode=render_mode,
            sound_obs=sound_obs,
        )
        self._game, self._game_mode, self._game_difficulty = game, mode, difficulty
        self._frameskip, self._obs_type = frameskip, obs_type
        self.render_mode, self.sound_obs = render_mode, sound_obs
        self.continuous, self.continuous_action_threshold = continuous, continuous_action_threshold
        self._window = Window(camel_case(game)) if render_mode == "human" else None
        self.ale = ALEInterface()
        self.ale.setFloat("repeat_action_probability", repeat_action_probability)
        self.ale.setBool("sound_obs", sound_obs)
        if max_num_frames_per_episode is not None:
            self.ale.setInt("max_num_frames_per_episode", max_num_frames_per_episode)
        self.seed_game()
        self.load_game()
        every_legal_one = full_action_space or continuous
        self._action_set = self.ale.getLegalActionSet() if every_legal_one else self.ale.getMinimalActionSet()
        self._codes = [int(action) for action in self._action_set]
        self.action_space: spaces.Space[Any] = spaces.Discrete(len(self._codes))
        if continuous:
            low, high = np.array([0, -np.pi, 0], np.float32), np.array([1, np.pi, 1], np.float32)
            self.action_space = spaces.Box(low, high)
        screen = self.ale.getScreenDims()
        shape = {"rgb": (*screen, 3), "grayscale": screen, "ram": (self.ale.getRAMSize(),)}[obs_type]
        self.observation_space: spaces.Space[Any] = spaces.Box(0, 255, shape, np.uint8)
        if sound_obs:
            sound = spaces.Box(0, 255, (self.ale.getAudioSize(),), np.uint8)
            self.observation_space = spaces.Dict({"image": self.observation_space, "sound": sound})

    def seed_game(self, seed: int | None = None) -> tuple[int, int]:
        """Seeds the generator of random frame skips and, from the next time the game is loaded, that of sticky actions.

        Args:
            seed: The seed; None draws one.

        Returns:
            The seeds of the two generators.
        """
        first, second = np.random.SeedSequence(seed).generate_state(2)
        self._np_random, _ = seeding.np_random(int(first))
        self.ale.setInt("random_seed", int(second.astype(np.int32)))
        return first, second

    def load_game(self) -> None:
        """Loads the game and sets its mode and difficulty, which takes effect with the next reset."""
        self.ale._load_game(self._game, sys.executable)
        if self._game_mode is not None:
            self.ale.setMode(self._game_mode)
        if self._game_difficulty is not None:
            self.ale.setDifficulty(self._game_difficulty)

    def reset(  # type: ignore[override]
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, AtariEnvStepMetadata]:
        """Starts an episode.

        Args:
            seed: With a seed the game is loaded again, so that equal seeds give equal episodes.
            options: Not used.

        Returns:
            The observation, a uint8 array of ``(height, width, 3)``, ``(height, width)`` or ``(128,)`` by ``obs_type``,
            with ``sound_obs`` in a dictionary, and info: ``lives``, ``frame_number``, ``episode_frame_number`` and,
            with a seed, ``seeds``.
        """
        super().reset(seed=seed, options=options)
        seeds = None
        if seed is not None:
            seeds = self.seed_game(seed)
            self.load_game()
        self.ale.reset_game()
        info = self._get_info()
        if seeds is not None:
            info["seeds"] = seeds
        if self._window is not None:
            self._window.show(self.ale.getScreenRGB())
        return self._get_obs(), info

    def step(  # type: ignore[override]
        self, action: int | np.integer[Any] | np.ndarray
    ) -> tuple[Observation, float, bool, bool, AtariEnvStepMetadata]:
        """Performs an action for the frames of the frame skip.

        Args:
            action: Index of the action, or ``(radius, angle, fire)`` if actions are continuous, a float32 array.

        Returns:
            Observation, sum of the rewards, whether the game is over, whether its frame limit was reached, and info.

        Raises:
            IndexError: There is no such action.
            AssertionError: A continuous action is not a finite float32 array of shape ``(3,)``. As in ale-py, its
                values may exceed the bounds of the action space.
        """
        if self.continuous:
            code, strength = self._analogue(action)
        else:
            try:
                code, strength = self._codes[action], 1.0
            except IndexError:
                raise IndexError(f"the action is {action}, but must be in {self.action_space}") from None
        frames = self._frameskip
        if isinstance(frames, tuple):
            frames = int(self.np_random.integers(*frames))
        if self._window is not None:
            return self._step_in_window(code, strength, frames, self._window)
        observation, reward, terminated, truncated, info = self.ale._step(code, strength, frames, self._obs_type)
        return self._with_sound(observation), reward, terminated, truncated, info

    def _step_in_window(
        self, code: int, strength: float, frames: int, window: Window
    ) -> tuple[Observation, float, bool, bool, AtariEnvStepMetadata]:
        """Performs an action and shows each frame."""
        total, frame = 0.0, 0
        while True:
            observation, reward, terminated, truncated, info = self.ale._step(code, strength, 1, self._obs_type)
            total, frame = total + reward, frame + 1
            window.show(self.ale.getScreenRGB())
            if frame >= frames:
                return self._with_sound(observation), total, terminated, truncated, info

    def _analogue(self, action: Any) -> tuple[int, float]:
        """Returns the code of a continuous action and the strength with which it turns a paddle."""
        if not _is_analogue(action):
            raise AssertionError(f"the action is {action!r}, but must be a float32 array of three finite numbers")
        radius, angle, fire = action
        threshold = self.continuous_action_threshold
        x, y = radius * np.cos(angle), radius * np.sin(angle)
        horizontal = int(x > threshold) - int(x < -threshold)
        vertical = int(y > threshold) - int(y < -threshold)
        return self.map_action_idx(horizontal, vertical, bool(fire > threshold)).value, float(radius)

    @staticmethod
    def map_action_idx(left_center_right: int, down_center_up: int, fire: bool) -> Action:
        """Returns the action of a stick and a button.

        Args:
            left_center_right: -1, 0 or 1.
            down_center_up: -1, 0 or 1.
            fire: The button is held.
        """
        return Action.of_stick(left_center_right, down_center_up, fire)

    def render(self) -> np.ndarray | None:
        """Returns the screen if ``render_mode`` is ``"rgb_array"``, uint8 of ``(height, width, 3)``.

        With ``"human"``, steps show it in a window.

        Raises:
            gymnasium.error.Error: There is no ``render_mode``.
        """
        if self.render_mode == "rgb_array":
            return self.ale.getScreenRGB()
        if self.render_mode == "human":
            return None
        raise error.Error(f"Invalid render mode `{self.render_mode}`. Supported modes: `human`, `rgb_array`.")

    def close(self) -> None:
        """Closes the window."""
        if self._window is not None:
            self._window.close()

    def _get_obs(self) -> Observation:
        """Returns the current observation."""
        return self._with_sound(self.ale._observe(self._obs_type))

    def _with_sound(self, image: np.ndarray) -> Observation:
        """Returns the observation that contains an image or RAM."""
        return {"image": image, "sound": self.ale.getAudio()} if self.sound_obs else image

    def _get_info(self) -> AtariEnvStepMetadata:
        """Returns the current info."""
        return self.ale._info()

    @functools.lru_cache(1)  # noqa: B019 - as in ale-py, where programs call cache_clear
    def get_keys_to_action(self) -> dict[tuple[str, ...], int]:
        """Returns the actions by the keys that play them: w, a, s, d, the space bar to fire, and e for no action.

        Raises:
            AttributeError: Actions are continuous.
        """
        if self.continuous:
            raise AttributeError(
                "`get_keys_to_action` can't be provided for this Atari environment as `continuous=True`."
            )
        keys = [tuple(key for part, key in _KEYS if part in action.name) or (_NO_KEY,) for action in self._action_set]
        return {key: index for index, key in enumerate(keys)}

    def get_action_meanings(self) -> list[str]:
        """Returns the names of the actions."""
        return [action.name for action in self._action_set]

    def clone_state(self, include_rng: bool = False) -> ALEState:
        """Returns the state of the game.

        Args:
            include_rng: Include the generator of sticky actions.
        """
        return self.ale.cloneState(include_rng=include_rng)

    def restore_state(self, state: ALEState) -> None:
        """Restores a state of the game.

        Args:
            state: A state of ``clone_state`` of the same game.

        Raises:
            RuntimeError: The state is empty or belongs to another game.
        """
        self.ale.restoreState(state)


def _is_analogue(action: Any) -> bool:
    """Returns whether a value is a continuous action that ale-py accepts, of finite numbers."""
    if not isinstance(action, np.ndarray) or action.dtype != np.float32 or action.shape != (3,):
        return False
    return bool(np.isfinite(action).all())


#: The most emulated frames per step.
_MOST_FRAMES = 2**31 - 1


def _check_frameskip(frameskip: object) -> None:
    """Requires a positive ``int`` or a range of positive ones."""
    if isinstance(frameskip, list):
        raise error.Error("Invalid frameskip type: <class 'list'>. It must be an int or a tuple of two.")
    if not isinstance(frameskip, tuple):
        if check_frameskip(frameskip) > _MOST_FRAMES:
            raise error.Error(f"Invalid frameskip of {frameskip}, frameskip must be at most {_MOST_FRAMES}.")
        return
    if len(frameskip) != 2:
        raise error.Error(f"Invalid stochastic frameskip length of {len(frameskip)}, expected length 2.")
    for bound in frameskip:
        if type(bound) is not int:
            raise error.Error(f"Invalid stochastic frameskip bound {bound!r}; it must be an int.")
    low, high = frameskip
    if low >= high:
        raise error.Error("Invalid stochastic frameskip, lower bound must be strictly less than upper bound.")
    if low <= 0:
        raise error.Error("Invalid stochastic frameskip, lower bound must be positive.")
    if high - 1 > _MOST_FRAMES:
        raise error.Error(f"Invalid stochastic frameskip, upper bound must be at most {_MOST_FRAMES + 1}.")
