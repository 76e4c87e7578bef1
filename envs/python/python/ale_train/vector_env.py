"""Atari environments that step together: a drop-in for ``ale_py.vector_env``."""

from __future__ import annotations

import difflib
import operator
import sys
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ale_train import _native
from ale_train.actions import Action
from ale_train.errors import ActionError, GameError

__all__ = ["AtariVectorEnv"]

#: The largest seed, and the largest value of an integer option: those of ale-py's 32-bit integers.
_LARGEST = 2**31 - 1


class AtariVectorEnv(VectorEnv):
    """Atari environments of one game or of several on a work-stealing pool.

    Same seed, same actions, same bytes as ``ale_py.vector_env.AtariVectorEnv`` of ale-py 0.12.1: observations, rewards,
    flags and infos. The differences: rows of ``info["final_obs"]`` in which no episode ended hold the current observation
    instead of uninitialised memory, and what crashes or hangs there is an exception here.

    Results never depend on the number of threads. All waiting releases the interpreter's lock.

    **Memory.** Every array is new and the caller's own, writable and never changed afterwards. Observations are still not
    copied: the memory that the environments wrote to becomes the array, and serves again once no array refers to it. So
    keeping observations costs memory, dropping them costs nothing. (Where an observation's bytes are no multiple of
    eight, as with odd image sizes, they are copied once.)
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        game: str | None = None,
        num_envs: int | None = None,
        *,
        batch_size: int = 0,
        num_threads: int = 0,
        thread_affinity_offset: int = -1,
        max_num_frames_per_episode: int = 108000,
        repeat_action_probability: float = 0.0,
        full_action_space: bool = False,
        continuous: bool = False,
        continuous_action_threshold: float = 0.5,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        img_height: int = 84,
        img_width: int = 84,
        grayscale: bool = True,
        stack_num: int = 4,
        frameskip: int = 4,
        maxpool: bool = True,
        noop_max: int = 30,
        episodic_life: bool = False,
        life_loss_info: bool = False,
        reward_clipping: bool = True,
        use_fire_reset: bool = True,
        games: Sequence[str] | None = None,
        extra_info: bool | None = None,
    ) -> None:
        """Makes the environments. ROMs that are missing are fetched with pip first.

        Args:
            game: Id of the game, such as ``"ms_pacman"``.
            num_envs: Number of environments; with ``games`` the number for each of them.
            batch_size: Rows of a batch; 0 means one for each environment, in their order. With fewer, ``recv`` gives the
                results that come first, and ``info["env_id"]`` says whose they are.
            num_threads: Threads that step environments; 0 means one for each core.
            thread_affinity_offset: The first core that threads are bound to; -1 binds none.
            max_num_frames_per_episode: Emulated frames after which an episode is truncated.
            repeat_action_probability: How likely a frame repeats the action before (sticky actions).
            full_action_space: All legal actions instead of those that do something in the game.
            continuous: Actions are radius, angle and fire of a joystick instead of indices.
            continuous_action_threshold: How far the joystick must be pushed to count.
            autoreset_mode: What happens at the end of an episode: Gymnasium's enum or its value.
            img_height: Rows of an observation.
            img_width: Columns of an observation.
            grayscale: One grey byte a pixel instead of red, green and blue.
            stack_num: Frames in an observation, oldest first.
            frameskip: Emulated frames in one step.
            maxpool: Whether an observation shows the larger value of a step's last two frames.
            noop_max: A reset plays fewer NOOP frames than this, drawn at random.
            episodic_life: Whether the loss of a life ends the episode.
            life_loss_info: Whether the loss of a life is reported as a termination while the episode goes on.
            reward_clipping: Whether rewards are clipped to -1, 0 and 1.
            use_fire_reset: Whether a reset presses FIRE first, in games that know it.
            games: Ids of several games instead of ``game``. Environments of one game stand together.
            extra_info: Whether info has more entries than ale-py's (see README); by default with ``games`` only.

        Raises:
            GameError: No game has this id.
            ValueError: An option is out of range.
            TypeError: An option has the wrong type.
            gymnasium.error.Error: ``frameskip`` is no positive ``int``.
            OSError: A ROM is missing and cannot be fetched.
        """
        if (game is None) == (games is None):
            raise TypeError("AtariVectorEnv needs either game= or games=")
        if num_envs is None:
            raise TypeError("AtariVectorEnv needs num_envs")
        self._ids = [game] if game is not None else list(games or ())
        _check_games(self._ids)
        _check_frameskip(frameskip)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        settings = {
            "games": self._ids,
            "num_envs": _integer("num_envs", num_envs, 1),
            "extra_info": game is None if extra_info is None else bool(extra_info),
            "batch_size": _integer("batch_size", batch_size, 0),
            "num_threads": max(operator.index(num_threads), 0),
            "autoreset_mode": self.autoreset_mode.value,
            "img_height": _integer("img_height", img_height, 1),
            "img_width": _integer("img_width", img_width, 1),
            "grayscale": bool(grayscale),
            "stack_num": _integer("stack_num", stack_num, 1),
            "frameskip": _integer("frameskip", frameskip, 1),
            "maxpool": bool(maxpool),
            "noop_max": max(operator.index(noop_max), 0),
            "episodic_life": bool(episodic_life),
            "life_loss_info": bool(life_loss_info),
            "reward_clipping": bool(reward_clipping),
            "use_fire_reset": bool(use_fire_reset),
            "max_num_frames_per_episode": _integer("max_num_frames_per_episode", max_num_frames_per_episode, 1),
            "repeat_action_probability": float(repeat_action_probability),
            "full_action_space": bool(full_action_space),
        }
        self._pool: _native.AtariPool | None = _native.AtariPool(settings, sys.executable)
        self._reset_before = False

        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.grayscale = bool(grayscale)
        self.num_envs = len(self._ids) * num_envs
        self.batch_size = batch_size or self.num_envs
        #: Each environment's actions, by their index.
        self.action_sets = [[Action(code) for code in codes] for codes in self._pool.action_codes]
        #: Each environment's number of actions.
        self.num_actions = [len(actions) for actions in self.action_sets]
        self.single_observation_space = Box(0, 255, tuple(self._pool.observation_shape), np.uint8)
        self.observation_space = batch_space(self.single_observation_space, self.batch_size)
        alike = len(set(self.num_actions)) == 1
        #: None where the games have different numbers of actions.
        self.single_action_space = Discrete(self.num_actions[0]) if alike else None
        # As in ale-py the batched spaces follow the batch; of several games it matters which environment acts.
        rows = self.num_envs if game is None else self.batch_size
        self.action_space = MultiDiscrete(self.num_actions[:rows])

    def reset(
        self, *, seed: int | np.ndarray | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Starts new episodes.

        Args:
            seed: ``s`` for the seeds ``s, s + 1, ...``, or an integer array with one seed for each environment that is
                reset. Negative seeds, and None, go on with the random numbers of the environment.
            options: ``{"reset_mask": array}`` resets only the environments that the boolean array of shape
                ``(num_envs,)`` selects. The others stay as they are and are reported again.

        Returns:
            Observations and info. A batch has ``batch_size`` rows; ``info["env_id"]`` says whose they are.

        Raises:
            TypeError: Wrong type of seed or mask.
            ValueError: Wrong shape of seed or mask.
            RuntimeError: The first reset must reset every environment.
        """
        mask = self._reset_mask(options)
        selected = self.num_envs if mask is None else int(mask.sum())
        seeds = _seeds(seed, selected)
        if not self._reset_before:
            if selected < self.num_envs:
                raise RuntimeError(f"The first reset() must reset every environment (got {selected} of {self.num_envs})")
            seeds = [_random_seed() if seed is None else seed for seed in seeds]
        if selected < self.num_envs and self.batch_size < self.num_envs:
            raise ValueError(
                f"Partial reset is not supported where batch_size < num_envs (got batch_size={self.batch_size}, "
                f"num_envs={self.num_envs})"
            )
        batch = self._open_pool().reset(seeds, mask)
        self._reset_before = True
        return batch

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Performs one action in each environment: ``send``, then ``recv``.

        Args:
            actions: Array of shape ``(batch_size,)`` of int32 or int64, each an index into the environment's actions.
                Row ``i`` is for the environment of row ``i`` of the last batch.

        Returns:
            Observations, rewards (int32), terminations, truncations and info.
        """
        self.send(actions)
        return self.recv()

    def send(self, actions: np.ndarray) -> None:
        """Gives actions as ``step`` does and returns at once. Sooner or later ``recv`` must follow.

        Raises:
            ActionError: Wrong type, dtype or shape; nothing has been sent.
            ValueError: An index out of range; nothing has been sent.
            RuntimeError: No batch has been received since the last ``send``.
        """
        pool = self._open_pool()
        if not isinstance(actions, np.ndarray):
            raise ActionError(f"actions must be a NumPy array, got {type(actions).__name__}")
        if actions.dtype not in (np.int32, np.int64):
            raise ActionError(f"actions must be of int32 or int64, got {actions.dtype}")
        if actions.shape != (self.batch_size,):
            raise ActionError(f"actions must have the shape ({self.batch_size},), got {actions.shape}")
        pool.send(actions)

    def recv(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Waits for the next batch; see ``step``.

        Raises:
            RuntimeError: Nothing has been sent, or an environment failed.
        """
        return self._open_pool().recv()

    def snapshot(self) -> bytes:
        """The complete state of every environment. Must not be called between ``send`` and ``recv``."""
        return self._open_pool().snapshot()

    def restore(self, state: bytes) -> tuple[np.ndarray, dict[str, Any]]:
        """Puts a state from ``snapshot`` back, in environments made in the same way, and reports it as ``reset`` does.

        Raises:
            ValueError: The state belongs to other environments or is damaged; nothing has changed.
        """
        batch = self._open_pool().restore(state)
        self._reset_before = True
        return batch

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the threads and frees the environments. Arrays that were received stay valid."""
        self._pool = None

    def _open_pool(self) -> _native.AtariPool:
        if self._pool is None:
            raise gymnasium.error.ClosedEnvironmentError("the vector environment has been closed")
        return self._pool

    def _reset_mask(self, options: dict[str, Any] | None) -> np.ndarray | None:
        if options is None or "reset_mask" not in options:
            return None
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            dtype = getattr(mask, "dtype", None)
            raise TypeError(f"`reset_mask` must be a boolean numpy array, got {type(mask)} with dtype {dtype}")
        if mask.shape != (self.num_envs,):
            raise ValueError(f"`reset_mask` must have shape ({self.num_envs},), got {mask.shape}")
        return mask


def _check_games(ids: Sequence[str]) -> None:
    if not ids:
        raise ValueError("games is empty; name at least one game")
    known = _native.games()
    for id in ids:
        if id not in known:
            near = difflib.get_close_matches(str(id), known)
            hint = f"; did you mean {' or '.join(near)}?" if near else "; ale_train.games() lists the known ones"
            raise GameError(f"unknown game {id!r}; ids are in snake_case{hint}")


def _check_frameskip(frameskip: object) -> None:
    if type(frameskip) is not int:
        raise gymnasium.error.Error(f"Invalid frameskip type: {type(frameskip)}; it must be an int.")
    if frameskip <= 0:
        raise gymnasium.error.Error(f"Invalid frameskip of {frameskip}, frameskip must be positive.")


def _integer(name: str, value: int, smallest: int) -> int:
    """The value if it is an integer in the allowed range."""
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, got {type(value).__name__}") from None
    if not smallest <= value <= _LARGEST:
        raise ValueError(f"{name} is {value}, but must be between {smallest} and {_LARGEST}")
    return value


def _seeds(seed: object, count: int) -> list[int | None]:
    """One seed for each environment that is reset."""
    if seed is None:
        return [None] * count
    if isinstance(seed, int):
        seeds = [seed + index for index in range(count)]
    elif isinstance(seed, np.ndarray):
        if seed.shape != (count,):
            raise ValueError(f"`seed` must have one entry per environment being reset, expected shape ({count},), got {seed.shape}")
        if seed.dtype.kind not in "iu":
            raise TypeError(f"`seed` must be an array of integers, got one of {seed.dtype}")
        seeds = seed.tolist()
    else:
        raise TypeError(f"Unsupported seed type {type(seed).__name__}; allowed are int, a numpy array of integers and None")
    if any(seed > _LARGEST for seed in seeds):
        raise TypeError(f"seeds must be at most {_LARGEST}, got {max(seeds)}")
    return [None if seed < 0 else seed for seed in seeds]


def _random_seed() -> int:
    """A seed from the operating system's entropy."""
    return int(np.random.SeedSequence().generate_state(1)[0]) & _LARGEST
