"""Atari environments that step together: a drop-in for ``ale_py.vector_env``."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ale_train import _native, arguments
from ale_train.actions import Action

__all__ = ["AtariVectorEnv"]


class AtariVectorEnv(VectorEnv):
    """Atari environments of one game or of several on a work-stealing pool.

    Same seed, same actions, same bytes as ``ale_py.vector_env.AtariVectorEnv`` of ale-py 0.12.1: observations,
    rewards, flags and infos. The differences: rows of ``info["final_obs"]`` in which no episode ended hold the
    current observation instead of uninitialised memory, and what crashes or hangs there is an exception here.

    Results never depend on the number of threads. All waiting releases the interpreter's lock.

    **Memory.** Every array is new and the caller's own, writable and never changed afterwards. Observations are still
    not copied: the memory that the environments wrote to becomes the array, and serves again once no array refers to
    it. So keeping observations costs memory, dropping them costs nothing. (Where an observation's bytes are no
    multiple of eight, as with odd image sizes, they are copied once.)
    """

    #: None where the games have different numbers of actions.
    single_action_space: gymnasium.Space[Any] | None  # type: ignore[assignment]
    action_space: gymnasium.Space[Any]
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
        mode: arguments.Variants = None,
        difficulty: arguments.Variants = None,
        ram: bool = False,
        fill_stack: bool = False,
        extra_info: bool | None = None,
    ) -> None:
        """Makes the environments. ROMs that are missing are fetched with pip first.

        Args:
            game: Id of the game, such as ``"ms_pacman"``.
            num_envs: Number of environments; with ``games`` the number for each of them.
            batch_size: Rows of a batch; 0 means one for each environment, in their order. With fewer, ``recv`` gives
                the results that come first, and ``info["env_id"]`` says whose they are.
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
            mode: The game's mode; several, of which each episode draws one; or several for each environment.
            difficulty: The difficulty switches, in the same forms.
            ram: Observations are the 128 bytes of RAM, ``(stack_num, 128)``, instead of pictures.
            fill_stack: Whether an episode's first observation shows its first frame ``stack_num`` times, as in EnvPool,
                instead of black ones before it.
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
        ids = [game] if game is not None else list(games or ())
        arguments.check_games(ids)
        arguments.check_frameskip(frameskip)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.num_envs = len(ids) * arguments.integer("num_envs", num_envs, 1)
        self.batch_size = arguments.integer("batch_size", batch_size, 0) or self.num_envs
        self.continuous = bool(continuous)
        self.continuous_action_threshold = float(continuous_action_threshold)
        self.grayscale = bool(grayscale)
        settings = {
            "games": ids,
            "num_envs": operator.index(num_envs),
            "modes": arguments.variants("mode", mode, self.num_envs),
            "difficulties": arguments.variants("difficulty", difficulty, self.num_envs),
            "extra_info": game is None if extra_info is None else bool(extra_info),
            "batch_size": self.batch_size,
            "num_threads": max(operator.index(num_threads), 0),
            "thread_affinity_offset": thread_affinity_offset if operator.index(thread_affinity_offset) >= 0 else None,
            "autoreset_mode": self.autoreset_mode.value,
            "img_height": arguments.integer("img_height", img_height, 1),
            "img_width": arguments.integer("img_width", img_width, 1),
            "grayscale": self.grayscale,
            "ram": bool(ram),
            "stack_num": arguments.integer("stack_num", stack_num, 1),
            "fill_stack": bool(fill_stack),
            "frameskip": arguments.integer("frameskip", frameskip, 1),
            "maxpool": bool(maxpool),
            "noop_max": min(max(operator.index(noop_max), 0), arguments.LARGEST),
            "episodic_life": bool(episodic_life),
            "life_loss_info": bool(life_loss_info),
            "reward_clipping": bool(reward_clipping),
            "use_fire_reset": bool(use_fire_reset),
            "max_num_frames_per_episode": arguments.integer(
                "max_num_frames_per_episode", max_num_frames_per_episode, 1
            ),
            "repeat_action_probability": float(repeat_action_probability),
            "full_action_space": bool(full_action_space),
            "continuous": self.continuous,
            "continuous_action_threshold": self.continuous_action_threshold,
        }
        self._pool: _native.AtariPool | None = _native.AtariPool(settings, sys.executable)
        self._reset_before = False

        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        #: Each environment's actions, by their index.
        self.action_sets = [[Action(code) for code in codes] for codes in self._pool.action_codes]
        #: Each environment's number of actions.
        self.num_actions = [len(actions) for actions in self.action_sets]
        self.single_observation_space = Box(0, 255, tuple(self._pool.observation_shape), np.uint8)
        self.observation_space = batch_space(self.single_observation_space, self.batch_size)
        # As in ale-py the batched spaces follow the batch; of several games it matters which environment acts.
        self._make_action_spaces(self.num_envs if game is None else self.batch_size)

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
        seeds = self._seeds(seed, selected)
        if not self._reset_before and selected < self.num_envs:
            raise RuntimeError(f"The first reset() must reset every environment (got {selected} of {self.num_envs})")
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
            actions: Array of shape ``(batch_size,)`` of int32 or int64, each an index into the environment's actions;
                or ``(batch_size, 3)`` of float32 with ``continuous``. Row ``i`` is for the environment of row ``i``
                of the last batch.

        Returns:
            Observations, rewards (int32), terminations, truncations and info.
        """
        self.send(actions)
        return self.recv()

    def send(
        self,
        actions: np.ndarray,
        env_ids: Sequence[int] | np.ndarray | None = None,
        lengths: Sequence[int] | np.ndarray | None = None,
    ) -> None:
        """Gives actions as ``step`` does and returns at once. Sooner or later ``recv`` must follow.

        Args:
            actions: One action for each environment, or one sequence of actions after another.
            env_ids: The environments they are for instead of those of the last batch: any that are not under way.
            lengths: Numbers of actions, if each environment is to perform a sequence as one step (a macro-action). It
                ends early with the action that ends the episode.

        Raises:
            ActionError: Wrong type, dtype or shape; nothing has been sent.
            ValueError: An index out of range; nothing has been sent.
            RuntimeError: Before the first ``reset``, or an environment has not finished what was sent before.
        """
        pool = self._open_pool()
        ids = None if env_ids is None else arguments.indices("env_ids", env_ids, self.num_envs)
        counts = None if lengths is None else arguments.indices("lengths", lengths, arguments.LARGEST)
        rows = self.batch_size if ids is None else len(ids)
        arguments.check_actions(actions, self.continuous, rows if counts is None else sum(counts))
        pool.send(actions, ids, counts)

    def send_reset(
        self, env_ids: Sequence[int] | np.ndarray | None = None, *, seed: int | np.ndarray | None = None
    ) -> None:
        """Lets environments start new episodes, as ``reset`` does, and returns at once. ``recv`` gives the results.

        Args:
            env_ids: Any environments that are not under way; by default all, as it must be the first time.
            seed: As for ``reset``; the first seed is that of the first environment named.

        Raises:
            RuntimeError: An environment is under way, or not all are reset the first time.
        """
        pool = self._open_pool()
        ids = list(range(self.num_envs))
        if env_ids is not None:
            ids = arguments.indices("env_ids", env_ids, self.num_envs)
        pool.send_reset(ids, self._seeds(seed, len(ids)))
        self._reset_before = True

    def recv(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Waits for the next batch; see ``step``.

        Raises:
            RuntimeError: Too few environments have been sent to, or an environment failed.
        """
        return self._open_pool().recv()

    def render(self, env_id: int | None = None) -> Any:
        """The pictures on the screens as RGB arrays of shape ``(height, width, 3)``: of all, or of one environment.

        Raises:
            RuntimeError: The environment is under way.
        """
        pool = self._open_pool()
        if env_id is not None:
            return pool.render(*arguments.indices("env_id", [env_id], self.num_envs))
        return tuple(pool.render(index) for index in range(self.num_envs))

    def ram(self) -> np.ndarray:
        """The RAM of the environments of the last batch, before anything is sent to them: ``(batch_size, 128)``."""
        return self._open_pool().ram()

    def snapshot(self, env_ids: Sequence[int] | np.ndarray | None = None) -> bytes:
        """The complete state of every environment, or of chosen ones; not between ``send`` and ``recv``."""
        pool = self._open_pool()
        return pool.snapshot(None if env_ids is None else arguments.indices("env_ids", env_ids, self.num_envs))

    def restore(
        self, state: bytes, env_ids: Sequence[int] | np.ndarray | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Puts a state from ``snapshot`` back, in environments made in the same way, and reports it as ``reset`` does.

        With ``env_ids`` the state of chosen environments goes into these ones, which need only play the same games.

        Raises:
            ValueError: The state belongs to other environments or is damaged; nothing has changed.
        """
        pool = self._open_pool()
        batch = pool.restore(state, None if env_ids is None else arguments.indices("env_ids", env_ids, self.num_envs))
        self._reset_before = True
        return batch

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the threads and frees the environments. Arrays that were received stay valid."""
        self._pool = None

    def _make_action_spaces(self, rows: int) -> None:
        if self.continuous:
            bounds = np.array([[0, -np.pi, 0], [1, np.pi, 1]], np.float32)
            self.single_action_space = Box(*bounds, dtype=np.float32)
            self.action_space = batch_space(self.single_action_space, rows)
            return
        alike = len(set(self.num_actions)) == 1
        self.single_action_space = Discrete(self.num_actions[0]) if alike else None
        self.action_space = MultiDiscrete(self.num_actions[:rows])

    def _seeds(self, seed: int | np.ndarray | None, count: int) -> list[int | None]:
        """One seed for each environment that is reset. The first time there are no random numbers to go on with."""
        seeds = arguments.seeds(seed, count)
        if self._reset_before:
            return seeds
        return [arguments.random_seed() if seed is None else seed for seed in seeds]

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
