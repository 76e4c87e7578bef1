"""Atari vector environments: a drop-in replacement for ``ale_py.vector_env``."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ale_train import _native, arguments, pinned, xla
from ale_train.actions import Action
from ale_train.ale_vector import ALEVectorInterface

__all__ = ["AtariVectorEnv"]


class AtariVectorEnv(VectorEnv):
    """Atari environments of one or several games on a work-stealing pool.

    The same seeds and actions give the same observations, rewards, flags and infos as
    ``ale_py.vector_env.AtariVectorEnv`` of ale-py 0.12.1, with two exceptions. Rows of ``info["final_obs"]`` in which
    no episode ended hold the current observation instead of uninitialised memory. Arguments that make ale-py crash or
    hang raise exceptions.

    Results do not depend on the number of threads. All calls release the GIL while they wait.

    **Memory.** The caller owns every returned array: it is writable and never changes afterwards. Observations are
    nevertheless not copied: the memory to which the environments wrote becomes the array, and is reused when no array
    refers to it any more. (Observations whose size in bytes is not a multiple of eight are copied.) With ``pin_memory``
    the memory is PyTorch's and page-locked.
    """

    #: None if the games have different numbers of actions.
    single_action_space: gymnasium.Space[Any] | None  # type: ignore[assignment]  # pyright: ignore
    action_space: gymnasium.Space[Any]
    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}
    #: The form of the screens from ``render``, which Gymnasium's wrappers require.
    render_mode: str | None = "rgb_array"

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
        rules: str = "ale_py",
        extra_info: bool | None = None,
        fire_after_lost_life: bool = False,
        pin_memory: bool = False,
    ) -> None:
        """Creates the environments. Missing ROMs are downloaded with pip.

        Args:
            game: Id of the game, such as ``"ms_pacman"``.
            num_envs: Number of environments, at most 65536; with ``games``, the number for each game.
            batch_size: Rows of a batch; 0 means one for each environment, in their order. With fewer, ``recv`` returns
                the environments that finish first, and ``info["env_id"]`` contains their indices.
            num_threads: Threads that step environments; 0 means one for each row of a batch, but at most one for each
                core.
            thread_affinity_offset: The first core to which threads are pinned; -1 disables pinning.
            max_num_frames_per_episode: Emulated frames after which an episode is truncated.
            repeat_action_probability: Probability that a frame repeats the previous action (sticky actions); values
                below 0 count as 0, values above 1 as 1.
            full_action_space: Use all legal actions instead of the minimal set.
            continuous: Actions are radius, angle and fire of a joystick instead of indices.
            continuous_action_threshold: Minimum deflection of the joystick that counts as a direction.
            autoreset_mode: Gymnasium's autoreset mode, as the enum or its value.
            img_height: Rows of an observation, at most 4096.
            img_width: Columns of an observation, at most 4096.
            grayscale: One grayscale byte per pixel instead of RGB.
            stack_num: Frames per observation, at most 64, oldest first.
            frameskip: Emulated frames per step.
            maxpool: Use the pixel-wise maximum of the last two frames of a step.
            noop_max: A reset plays a random number of NOOP frames below this, which is at most 108000.
            episodic_life: End the episode when a life is lost.
            life_loss_info: Report a lost life as a termination, while the episode continues.
            reward_clipping: Clip rewards to -1, 0 and 1.
            use_fire_reset: Press FIRE after a reset, in games with this action.
            games: Ids of several games instead of ``game``. Environments of one game are adjacent.
            mode: The game mode; a list, from which each episode draws one; a list for each environment; or a dictionary
                with a mode or a list for each game. Games that are missing from a dictionary such as
                ``{"pong": 1, "breakout": [0, 12]}`` have their default.
            difficulty: The difficulty, in the same forms.
            ram: Observe the 128 bytes of RAM, ``(stack_num, 128)``, instead of images.
            fill_stack: Fill the first observation of an episode with copies of its first frame, as EnvPool does,
                instead of black frames.
            rules: Whose rules govern how episodes begin and end, ``"ale_py"`` or ``"envpool"``: the order of FIRE and
                no-ops, the last observation, and ``episodic_life``, after which EnvPool's games continue.
            extra_info: Add entries to info that ale-py does not have (the page "From Python" of the book lists them);
                by default only with ``games``.
            fire_after_lost_life: After a lost life that does not end the episode, play NOOP, FIRE and the third action
                in games with FIRE. The wrappers ``EpisodicLifeEnv`` and ``FireResetEnv`` of Stable-Baselines3 do so.
            pin_memory: Return observations in page-locked memory, from which
                ``torch.from_numpy(observations).to("cuda", non_blocking=True)`` copies fastest. Do not copy slices with
                ``non_blocking``: PyTorch does not keep track of them. Requires PyTorch with CUDA, which allocates the
                memory, and observations whose size in bytes is a multiple of eight.

        Raises:
            GameError: The id of a game is unknown.
            ValueError: An option is out of range.
            TypeError: An option has the wrong type.
            gymnasium.error.Error: ``frameskip`` is not a positive ``int``.
            OSError: A ROM is missing and cannot be downloaded.
            MemoryError: There is too little memory for the environments and their batches.
            RuntimeError: ``pin_memory`` is true, but PyTorch is missing or finds no GPU with CUDA.
        """
        if (game is None) == (games is None):
            raise TypeError("AtariVectorEnv requires either game= or games=")
        if num_envs is None:
            raise TypeError("AtariVectorEnv requires num_envs")
        if isinstance(games, str):
            raise TypeError(f"games must be a list of ids; game={games!r} selects one game")
        ids = [game] if game is not None else list(games or ())
        self._check_games(ids)
        arguments.check_frameskip(frameskip)
        self.autoreset_mode = arguments.autoreset_mode(autoreset_mode)
        num_envs = arguments.integer("num_envs", num_envs, 1)
        self.num_envs = len(ids) * num_envs
        by_env = [id for id in ids for _ in range(num_envs)]
        self.batch_size = arguments.integer("batch_size", batch_size, 0) or self.num_envs
        self.continuous = arguments.flag("continuous", continuous)
        self.continuous_action_threshold = arguments.number("continuous_action_threshold", continuous_action_threshold)
        self.grayscale = arguments.flag("grayscale", grayscale)
        settings = {
            "games": ids,
            "num_envs": num_envs,
            "modes": arguments.variants("mode", mode, by_env),
            "difficulties": arguments.variants("difficulty", difficulty, by_env),
            "extra_info": game is None if extra_info is None else arguments.flag("extra_info", extra_info),
            "first_seeds": self._first_seeds(),
            "batch_size": self.batch_size,
            # As in ale-py, there are never more threads than cores.
            "num_threads": arguments.clamped("num_threads", num_threads),
            "thread_affinity_offset": arguments.affinity_offset("thread_affinity_offset", thread_affinity_offset),
            "autoreset_mode": self.autoreset_mode.value,
            "img_height": arguments.integer("img_height", img_height, 1),
            "img_width": arguments.integer("img_width", img_width, 1),
            "grayscale": self.grayscale,
            "ram": arguments.flag("ram", ram),
            "stack_num": arguments.integer("stack_num", stack_num, 1),
            "fill_stack": arguments.flag("fill_stack", fill_stack),
            "envpool_rules": arguments.one_of("rules", rules, ("ale_py", "envpool")) == "envpool",
            "frameskip": arguments.integer("frameskip", frameskip, 1),
            "maxpool": arguments.flag("maxpool", maxpool),
            # As in ale-py, negative bounds stand for no no-ops.
            "noop_max": max(arguments.integer("noop_max", noop_max, -arguments.LARGEST_INT - 1), 0),
            "episodic_life": arguments.flag("episodic_life", episodic_life),
            "life_loss_info": arguments.flag("life_loss_info", life_loss_info),
            "reward_clipping": arguments.flag("reward_clipping", reward_clipping),
            "use_fire_reset": arguments.flag("use_fire_reset", use_fire_reset),
            "max_num_frames_per_episode": arguments.integer(
                "max_num_frames_per_episode", max_num_frames_per_episode, 1
            ),
            "repeat_action_probability": min(
                max(arguments.number("repeat_action_probability", repeat_action_probability), 0.0), 1.0
            ),
            "full_action_space": arguments.flag("full_action_space", full_action_space),
            "continuous": self.continuous,
            "continuous_action_threshold": self.continuous_action_threshold,
            "fire_after_lost_life": arguments.flag("fire_after_lost_life", fire_after_lost_life),
            "pinned": pinned.allocator() if arguments.flag("pin_memory", pin_memory) else None,
        }
        self._pool: _native.AtariPool | None = self._create_pool(settings)

        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        #: The actions of each environment, by index.
        self.action_sets = [[Action(code) for code in codes] for codes in self._pool.action_codes]
        #: The codes of the actions by the position of the stick and the button, as in ale-py: ``[x + 1, y + 1, fire]``.
        ways, buttons = (-1, 0, 1), (False, True)
        self.map_action_idx = np.array(
            [[[Action.of_stick(x, y, fire) for fire in buttons] for y in ways] for x in ways], np.int32
        )
        #: The number of actions of each environment.
        self.num_actions = [len(actions) for actions in self.action_sets]
        self.single_observation_space = Box(0, 255, tuple(self._pool.observation_shape), np.uint8)
        if pin_memory and math.prod(self._pool.observation_shape) % 8:
            raise ValueError(
                f"pin_memory=True requires observations whose size in bytes is a multiple of 8, but their shape is "
                f"{self.single_observation_space.shape}"
            )
        self.observation_space = batch_space(self.single_observation_space, self.batch_size)
        #: The counterpart of ale-py's ``ALEVectorInterface``.
        self.ale = ALEVectorInterface(self)
        # As in ale-py, the action space has the size of a batch. With several games it covers all environments.
        self._make_action_spaces(self.num_envs if game is None else self.batch_size)

    def _first_seeds(self) -> list[int]:
        """Returns the seed of each environment, used where the first reset has none."""
        return arguments.random_seeds(self.num_envs)

    @staticmethod
    def _check_games(ids: Sequence[str]) -> None:
        """Raises GameError for an unknown id."""
        arguments.check_games(ids)

    def _create_pool(self, settings: dict[str, Any]) -> _native.AtariPool:
        """Creates the environments."""
        return _native.AtariPool(settings, sys.executable)

    @property
    def _num_emulators(self) -> int:
        """The number of emulated games, which have a seed each."""
        return self.num_envs

    def reset(
        self, *, seed: int | np.ndarray | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Starts new episodes.

        Args:
            seed: ``s`` for the seeds ``s, s + 1, ...``, or an integer array with a seed for each environment to reset.
                Negative seeds and None continue the random number generator of the environment.
            options: ``{"reset_mask": array}`` resets only the environments selected by a boolean array of shape
                ``(num_envs,)``. The others are reported again.

        Returns:
            Observations and info. A batch has ``batch_size`` rows; ``info["env_id"]`` contains their environments.

        Raises:
            TypeError: The seed or mask has the wrong type.
            ValueError: The seed or mask has the wrong shape.
            RuntimeError: The first reset does not include every environment.
        """
        mask = arguments.reset_mask(options, self._num_emulators)
        selected = self._num_emulators if mask is None else int(mask.sum())
        seeds = arguments.seeds(seed, selected)
        pool = self._open_pool()
        if not pool.was_reset and selected < self._num_emulators:
            raise RuntimeError(
                f"The first reset() must reset every environment (got {selected} of {self._num_emulators})"
            )
        if selected < self._num_emulators and self.batch_size < self.num_envs:
            raise ValueError(
                "Partial reset is not supported for async mode where batch_size < num_envs "
                f"(got batch_size={self.batch_size}, num_envs={self.num_envs})"
            )
        return pool.reset(seeds, mask)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Performs one action in each environment of the last batch: ``send``, then ``recv``.

        Args:
            actions: Indices of actions, an int32 or int64 array of shape ``(batch_size,)``; with ``continuous`` a
                float32 array of shape ``(batch_size, 3)``. Row ``i`` belongs to the environment of row ``i`` of the
                last batch.

        Returns:
            Observations, rewards (int32), terminations, truncations and info.

        Raises:
            AssertionError: The actions have another shape or type.
            ActionError: An action is outside its space.
            RuntimeError: The environments have not been reset, or some are in flight.
            ClosedEnvironmentError: ``close`` was called.
        """
        pool = self._open_pool()
        arguments.check_actions(actions, self.continuous, self.batch_size)
        return pool.step(actions)

    def send(
        self,
        actions: np.ndarray,
        env_ids: Sequence[int] | np.ndarray | None = None,
        lengths: Sequence[int] | np.ndarray | None = None,
    ) -> None:
        """Sends actions without waiting; ``recv`` returns the results.

        Args:
            actions: One action for each environment, or the concatenated sequences of actions.
            env_ids: The environments, which must not be in flight; by default those of the last batch.
            lengths: The length of each environment's sequence of actions, performed as one step (a macro-action).
                A sequence ends early when the episode ends.

        Raises:
            ActionError: The type, dtype or shape is wrong; nothing is sent.
            ValueError: An index is out of range; nothing is sent.
            RuntimeError: There was no ``reset``, or an environment is in flight.
        """
        pool = self._open_pool()
        ids = None if env_ids is None else arguments.indices("env_ids", env_ids, self.num_envs)
        counts = None if lengths is None else arguments.indices("lengths", lengths, arguments.LARGEST_INT)
        rows = self.batch_size if ids is None else len(ids)
        arguments.check_actions(actions, self.continuous, rows if counts is None else sum(counts))
        pool.send(actions, ids, counts)

    def send_reset(
        self, env_ids: Sequence[int] | np.ndarray | None = None, *, seed: int | np.ndarray | None = None
    ) -> None:
        """Resets environments as ``reset`` does, without waiting; ``recv`` returns the results.

        Args:
            env_ids: The environments, which must not be in flight; by default all, as the first call requires.
            seed: As for ``reset``; the first seed belongs to the first environment in ``env_ids``.

        Raises:
            RuntimeError: An environment is in flight, or the first call does not include all environments.
        """
        pool = self._open_pool()
        ids = list(range(self._num_emulators))
        if env_ids is not None:
            ids = arguments.indices("env_ids", env_ids, self._num_emulators)
        pool.send_reset(ids, arguments.seeds(seed, len(ids)))

    def recv(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Waits for the next batch; see ``step``.

        Raises:
            RuntimeError: Too few environments are in flight, or an environment failed.
        """
        return self._open_pool().recv()

    def render(self, env_id: int | None = None) -> Any:
        """Returns the screens of all environments, or of one, as RGB arrays of shape ``(height, width, 3)``.

        Args:
            env_id: The environment; None stands for all, whose screens are a tuple.

        Raises:
            RuntimeError: The environment is in flight.
        """
        pool = self._open_pool()
        if env_id is not None:
            return pool.render(*arguments.indices("env_id", [env_id], self._num_emulators))
        return tuple(pool.render(index) for index in range(self._num_emulators))

    def ram(self) -> np.ndarray:
        """Returns the RAM of the environments of the last batch, ``(batch_size, 128)``. Call it before ``send``."""
        return self._open_pool().ram()

    def snapshot(self, env_ids: Sequence[int] | np.ndarray | None = None) -> bytes:
        """Returns the complete state of all or some environments.

        If ``batch_size`` is less than ``num_envs``, all environments can be saved only while those of the last batch
        are idle and all others in flight. Some can be saved only while they are in the last batch and idle.

        Args:
            env_ids: The environments; None stands for all.

        Raises:
            RuntimeError: There was no ``reset``, or an environment is in flight; for smaller batches see above.
        """
        pool = self._open_pool()
        return pool.snapshot(None if env_ids is None else arguments.indices("env_ids", env_ids, self.num_envs))

    def restore(
        self, state: bytes, env_ids: Sequence[int] | np.ndarray | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Restores a state from ``snapshot``, to environments with the same options, and returns it as ``reset`` does.

        Args:
            state: The state of all environments, or of as many as ``env_ids`` names.
            env_ids: The environments to which the states are restored. They need only have the same games.

        Raises:
            ValueError: The state is damaged or belongs to other environments; nothing changes.
        """
        pool = self._open_pool()
        return pool.restore(state, None if env_ids is None else arguments.indices("env_ids", env_ids, self.num_envs))

    def xla(self) -> tuple[Any, xla.Reset, xla.Step]:
        """Returns the environments as functions for JAX, for programs that ``jax.jit`` compiles for the CPU.

        ``handle, reset, step = env.xla()``; then ``handle, (observations, info) = reset(handle, seed, reset_mask)`` and
        ``handle, (observations, rewards, terminated, truncated, info) = step(handle, actions)``. Pass the handle of one
        call to the next: it orders the calls. Arrays have the shapes and types of ``reset`` and ``step``, except that
        statistics of episodes have 32 bits. ``final_obs``, ``episode``, ``_episode`` and ``final_info`` are present in
        every step, but meaningful only in rows whose episode ended.

        ``step`` raises ActionError if the actions have the wrong type or shape. Errors in values, such as an action out
        of range, are raised by JAX (``jax.errors.JaxRuntimeError``) when it runs the program.

        Raises:
            gymnasium.error.DependencyNotInstalled: JAX is missing or older than 0.5.0.
        """
        return xla.functions(self)

    def close_extras(self, **kwargs: Any) -> None:
        """Stops the threads and frees the environments. Returned arrays stay valid."""
        self._pool = None

    def _make_action_spaces(self, rows: int) -> None:
        if self.continuous:
            bounds = np.array([[0, -np.pi, 0], [1, np.pi, 1]], np.float32)
            self.single_action_space = Box(*bounds, dtype=np.float32)
            self.action_space = batch_space(self.single_action_space, rows)
            return
        alike = len(set(self.num_actions)) == 1
        self.single_action_space = Discrete(self.num_actions[0]) if alike else None  # pyright: ignore
        self.action_space = MultiDiscrete(self.num_actions[:rows])

    def _open_pool(self) -> _native.AtariPool:
        if self._pool is None:
            raise gymnasium.error.ClosedEnvironmentError("the vector environment is closed")
        return self._pool
