"""The EnvPool interface: ``async_reset``, ``recv``, ``send(action, env_id)``.

Names, defaults and meanings are those of EnvPool 1.2.7, so that ``import ale_train.envpool as envpool`` takes the place
of ``import envpool`` in programs for Atari. The book lists the differences. Classic control, toy text and MuJoCo have
the same interface, and the behaviour of Gymnasium's environments.
"""

from __future__ import annotations

import dataclasses
import functools
import pprint
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from ale_train import _native, arguments, xla
from ale_train.errors import GameError
from ale_train.names import camel_case, game_of, is_task, players_game_of, task_of, tasks, unknown_environment
from ale_train.players_vector_env import AtariPlayersVectorEnv
from ale_train.pool_results import Players, Results
from ale_train.task_config import TaskConfig, TaskSpec
from ale_train.task_vector_env import TaskVectorEnv
from ale_train.vector_env import AtariVectorEnv

__all__ = [
    "Config",
    "DMEnvPool",
    "DmEnvPool",
    "EnvPool",
    "EnvSpec",
    "GymnasiumEnvPool",
    "Players",
    "Spec",
    "State",
    "list_all_envs",
    "make",
    "make_dm",
    "make_gym",
    "make_gymnasium",
    "make_spec",
]


def make(task_id: str, env_type: str = "gymnasium", **config: Any) -> GymnasiumEnvPool | DmEnvPool:
    """Creates environments as ``envpool.make`` does.

    Args:
        task_id: The game: ``"Pong-v5"``, ``"ALE/Pong-v5"`` or ``"pong"``; or one of ``ale_train.tasks()``, such as
            ``"Ant-v5"``.
        env_type: ``"gymnasium"``, ``"gym"`` (the same) or ``"dm"`` (requires the package dm_env).
        config: Fields of ``Config``: ``num_envs``, ``batch_size``, ``seed`` and so on. For tasks other than games,
            fields of ``TaskConfig`` and arguments of Gymnasium's environment. Games also have ``render_mode``, None or
            ``"rgb_array"``, and ``render_env_id``, the environment that ``render()`` shows, 0 by default.
            ``num_players`` is another name of ``max_num_players``.

    Raises:
        GameError: The environment is unknown.
        TypeError: The option is unknown, or ``seed`` is neither an int nor a list.
        ValueError: A value is out of range, or there are both ``env_seed`` and a list as ``seed``.
        OSError: The ROM, or MuJoCo, is missing and cannot be downloaded.
        gymnasium.error.DependencyNotInstalled: ``env_type`` is ``"dm"``, but dm_env is missing.
    """
    kinds: dict[str, type[GymnasiumEnvPool] | type[DmEnvPool]] = {
        "gymnasium": GymnasiumEnvPool,
        "gym": GymnasiumEnvPool,
        "dm": DmEnvPool,
    }
    arguments.one_of("env_type", env_type, list(kinds))
    config = _with_env_seed(config)
    if "num_players" in config:
        config["max_num_players"] = config.pop("num_players")
    if is_task(task_id):
        return kinds[env_type](TaskConfig.of(task_of(task_id), config))
    players = config.get("max_num_players", 1)
    try:
        game = game_of(task_id) if players == 1 else players_game_of(task_id)
    except GameError:
        raise unknown_environment(task_id) from None
    if players != 1 and env_type == "dm":
        raise ValueError(f"num_players is {players}, but must be 1 with env_type='dm'")
    rendering = {name: config.pop(name) for name in ("render_mode", "render_env_id") if name in config}
    known = {field.name for field in dataclasses.fields(Config)} - {"task"}
    for name in config:
        if name not in known:
            raise TypeError(f"make has no option {name!r}; the options are {', '.join(sorted(known))}")
    return kinds[env_type](Config(task=game, **config), **rendering)


def _with_env_seed(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the options with ``env_seed`` in place of a list of seeds."""
    seed = config.get("seed", 0)
    if isinstance(seed, (int, np.integer)):
        return config
    if np.ndim(seed) != 1:
        raise TypeError(f"seed must be an int or a list of int, got {type(seed).__name__}")
    if "env_seed" in config:
        raise ValueError("seed is a list, which is the same as env_seed; give only one of them")
    return {**config, "seed": 0, "env_seed": seed}


def make_gymnasium(task_id: str, **config: Any) -> GymnasiumEnvPool | DmEnvPool:
    """Calls ``make`` with ``env_type="gymnasium"``.

    Args:
        task_id: As for ``make``.
        config: As for ``make``.
    """
    return make(task_id, "gymnasium", **config)


#: An alias: in EnvPool, too, both functions return results in Gymnasium's form.
make_gym = make_gymnasium


def make_dm(task_id: str, **config: Any) -> GymnasiumEnvPool | DmEnvPool:
    """Calls ``make`` with ``env_type="dm"``.

    Args:
        task_id: As for ``make``.
        config: As for ``make``.
    """
    return make(task_id, "dm", **config)


def make_spec(task_id: str, **config: Any) -> Spec | TaskSpec:
    """Returns the spec of environments, which are created and closed again.

    Args:
        task_id: As for ``make``.
        config: As for ``make``.
    """
    env = make(task_id, **config)
    env.close()
    return env.spec


def list_all_envs() -> list[str]:
    """Returns the names of all environments, such as ``"Pong-v5"`` and ``"Ant-v5"``."""
    return [*(f"{camel_case(game)}-v5" for game in _native.games()), *tasks()]


@dataclasses.dataclass(frozen=True)
class Config:
    """Configuration of the environments.

    Three fields of EnvPool have no effect: ``use_inter_area_resize`` must keep its default, ``base_path`` and
    ``gym_reset_return_info`` are ignored.

    Attributes:
        task: Id of the game.
        num_envs: Number of environments.
        batch_size: Rows of a batch; 0 means one for each environment.
        num_threads: Threads that step environments; 0 means one for each row of a batch, but at most one for each
            core.
        thread_affinity_offset: The first core to which threads are pinned; -1 disables pinning.
        seed: Environment ``i`` has the seed ``seed + i``. ``make`` also takes a list with a seed for each.
        env_seed: A seed for each environment instead.
        max_episode_steps: Steps after which an episode is truncated.
        stack_num: Frames per observation, at most 64, oldest first.
        frame_skip: Emulated frames per step.
        noop_max: A reset plays a random number of NOOP frames below this.
        zero_discount_on_life_loss: Report a lost life as a discount of 0, while the episode continues.
        episodic_life: End the episode when a life is lost.
        reward_clip: Clip rewards to -1, 0 and 1.
        use_fire_reset: Press FIRE after a reset, in games with this action.
        img_height: Rows of an observation, at most 4096.
        img_width: Columns of an observation, at most 4096.
        mode: Mode of the game; -1 for its default.
        difficulty: Difficulty switches; -1 for their default.
        full_action_space: Use all legal actions instead of the minimal set.
        repeat_action_probability: Probability that a frame repeats the previous action (sticky actions).
        gray_scale: One grayscale byte per pixel instead of RGB.
        max_num_players: Number of players of each game. EnvPool's games have one. Each of several players is a row.
    """

    task: str
    num_envs: int = 1
    batch_size: int = 0
    num_threads: int = 0
    thread_affinity_offset: int = -1
    seed: int = 42
    env_seed: Sequence[int] = ()
    max_episode_steps: int = 27000
    stack_num: int = 4
    frame_skip: int = 4
    noop_max: int = 30
    zero_discount_on_life_loss: bool = False
    episodic_life: bool = False
    reward_clip: bool = False
    use_fire_reset: bool = True
    img_height: int = 84
    img_width: int = 84
    mode: int = -1
    difficulty: int = -1
    full_action_space: bool = False
    repeat_action_probability: float = 0.0
    gray_scale: bool = True
    max_num_players: int = 1
    use_inter_area_resize: bool = True
    base_path: str = ""
    gym_reset_return_info: bool = True

    def __post_init__(self) -> None:
        arguments.check_pool_seeds(self.env_seed)
        arguments.integer("max_num_players", self.max_num_players, 1)
        if self.use_inter_area_resize is not True:
            raise ValueError(f"use_inter_area_resize is {self.use_inter_area_resize}, but only True is available")

    def _asdict(self) -> dict[str, Any]:
        """Returns the options as a dictionary, as EnvPool's configuration does, which is a named tuple."""
        return {**dataclasses.asdict(self), "env_seed": list(self.env_seed)}

    def make(self) -> AtariVectorEnv:
        """Creates the environments."""
        # Checked here because errors of the vector environment name its own options.
        max_episode_steps = arguments.integer("max_episode_steps", self.max_episode_steps, 1)
        frame_skip = arguments.integer("frame_skip", self.frame_skip, 1)
        mode = arguments.integer("mode", self.mode, -1)
        difficulty = arguments.integer("difficulty", self.difficulty, -1)
        create: Callable[..., AtariVectorEnv] = AtariVectorEnv
        if self.max_num_players > 1:
            create = functools.partial(AtariPlayersVectorEnv, num_players=self.max_num_players)
        return create(
            self.task,
            self.num_envs,
            batch_size=self.batch_size,
            num_threads=self.num_threads,
            thread_affinity_offset=self.thread_affinity_offset,
            max_num_frames_per_episode=min(max_episode_steps * frame_skip, arguments.LARGEST_INT),
            repeat_action_probability=self.repeat_action_probability,
            full_action_space=self.full_action_space,
            img_height=self.img_height,
            img_width=self.img_width,
            grayscale=arguments.flag("gray_scale", self.gray_scale),
            stack_num=self.stack_num,
            frameskip=frame_skip,
            noop_max=self.noop_max,
            episodic_life=self.episodic_life,
            life_loss_info=arguments.flag("zero_discount_on_life_loss", self.zero_discount_on_life_loss),
            reward_clipping=arguments.flag("reward_clip", self.reward_clip),
            use_fire_reset=self.use_fire_reset,
            mode=None if mode < 0 else mode,
            difficulty=None if difficulty < 0 else difficulty,
            fill_stack=True,
            rules="envpool",
            extra_info=True,
        )

    def spec(self, envs: AtariVectorEnv) -> Spec:
        """Returns the spec of these environments."""
        return Spec(self, envs)

    def seeds(self) -> np.ndarray:
        """Returns the seed of each environment."""
        return arguments.pool_seeds(self.seed, self.env_seed, self.num_envs)

    def results(self, batch: tuple[Any, ...]) -> Results:
        """Converts a batch of NumPy's or JAX's arrays."""
        observations, _, terminated, truncated, info = batch
        if observations.ndim == 5:
            rows, *shape = observations.shape
            observations = observations.transpose(0, 1, 4, 2, 3).reshape(rows, *_channels_first(tuple(shape)))
        ids, frame_skip = info["env_id"], int(self.frame_skip)
        raw = info["raw_reward"].astype(np.float32)
        returned = {
            "env_id": ids,
            "players": {"env_id": ids.copy()},
            "lives": info["lives"],
            "reward": raw,
            "terminated": info["game_over"].astype(np.int32),
            "ram": info["ram"],
            # The last step of a game may have fewer frames.
            "elapsed_step": (info["elapsed_frames"] + frame_skip - 1) // frame_skip,
        }
        if self.max_num_players > 1:
            returned["players"]["player"] = info["player"]
        # The caller may change one of the arrays.
        rewards = raw.clip(-1, 1) if self.reward_clip else raw.copy()
        return Results(observations, rewards, terminated, truncated, info["steps"] == 0, info["continues"], returned)


class Spec:
    """The spaces and the configuration of environments."""

    #: EnvPool has no threshold for Atari either.
    reward_threshold: float | None = None

    def __init__(self, config: Config, envs: AtariVectorEnv) -> None:
        #: The configuration, with the batch size that 0 stands for.
        self.config = dataclasses.replace(config, batch_size=envs.batch_size // config.max_num_players)
        shape = envs.single_observation_space.shape
        assert shape is not None
        #: The space of a single observation. The channels of colours are those of the frames.
        self.observation_space = gymnasium.spaces.Box(0, 255, _channels_first(shape), np.uint8)
        #: The space of a single action.
        self.action_space = gymnasium.spaces.Discrete(envs.num_actions[0])
        self.gymnasium_observation_space = self.observation_space
        self.gymnasium_action_space = self.action_space

    def state(self, **entries: Any) -> State:
        """Returns the observation of a ``dm_env.TimeStep``."""
        return State(**entries)

    def observation_spec(self) -> State:
        """Returns dm_env's specs of a single observation."""
        from dm_env import specs

        smallest = -arguments.LARGEST_INT - 1
        ids, numbers = (
            specs.BoundedArray((), np.int32, smallest, arguments.LARGEST_INT, name=name) for name in ("env_id", "lives")
        )
        entries: dict[str, Any] = {
            "env_id": ids,
            "obs": specs.BoundedArray(self.observation_space.shape, np.uint8, 0, 255, name="obs"),
            "lives": numbers,
            "reward": specs.Array((), np.float32, name="reward"),
            "terminated": specs.DiscreteArray(2, name="terminated"),
            "ram": specs.BoundedArray((128,), np.uint8, 0, 255, name="ram"),
        }
        return State(**entries, players=Players(entries["env_id"]))

    def action_spec(self) -> Any:
        """Returns dm_env's spec of a single action."""
        from dm_env import specs

        return specs.DiscreteArray(int(self.action_space.n), name="action")

    def __repr__(self) -> str:
        return repr(self.config).replace("Config", "AtariEnvSpec", 1)


#: The name in EnvPool.
EnvSpec = Spec


def _channels_first(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns EnvPool's shape of observations of this shape, whose colour channels come last."""
    return (shape[0] * shape[3], *shape[1:3]) if len(shape) == 4 else shape


class EnvPool:
    """The common part of ``env_type="gymnasium"`` and ``"dm"``. When an episode has ended, the next action is ignored
    and resets the environment."""

    _envs: AtariVectorEnv | TaskVectorEnv
    spec: Spec | TaskSpec

    def __init__(self, config: Config | TaskConfig, render_mode: str | None = None, render_env_id: int = 0) -> None:
        #: True before the environments exist and after ``close``.
        self.closed = True
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode is {render_mode!r}, but must be None or 'rgb_array'")
        self.render_mode = render_mode
        arguments.integer("num_envs", config.num_envs, 1)
        (self.render_env_id,) = arguments.indices("render_env_id", [render_env_id], config.num_envs)
        if isinstance(config, TaskConfig):
            tasks = config.make()
            self._envs, self.spec = tasks, config.spec(tasks)
        else:
            games = config.make()
            self._envs, self.spec = games, config.spec(games)
        seeds = config.seeds()
        #: EnvPool takes negative seeds as unsigned numbers of 32 bits.
        self._seeds = np.where(seeds < 0, seeds & 0xFFFFFFFF, seeds)
        #: The environments whose first reset used the seed; later resets continue the random number generators.
        self._is_seeded = np.zeros(config.num_envs, bool)
        #: The environments in the order in which they were last sent to, except by the functions of ``xla``.
        self._sent: dict[int, None] = {}
        #: True after an empty list of environments was sent to, in a synchronous pool.
        self._sent_none = False
        self.closed = False

    @property
    def config(self) -> dict[str, Any]:
        """The configuration as a dictionary."""
        return self.spec.config._asdict()

    @property
    def num_envs(self) -> int:
        """The number of environments."""
        return self.spec.config.num_envs

    @property
    def is_async(self) -> bool:
        """True if a batch is smaller than the number of environments."""
        return self._envs.batch_size < self._envs.num_envs

    @property
    def all_env_ids(self) -> np.ndarray:
        """The indices of the environments."""
        return np.arange(self.num_envs, dtype=np.int32)

    def __len__(self) -> int:
        return self.num_envs

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={pprint.pformat(value)}" for name, value in self.config.items())
        return f"{type(self).__name__}({options})"

    __str__ = __repr__

    def seed(self, seed: int | Sequence[int] | None = None) -> None:
        """Only warns, as in EnvPool: ``make`` takes the seeds.

        Args:
            seed: Ignored.
        """
        warnings.warn("seed() has no effect; pass seed to make instead", stacklevel=2)

    def async_reset(self) -> None:
        """Resets every environment without waiting; ``recv`` returns the results. An asynchronous pool drops the
        results of environments in flight."""
        self._send_reset(self.all_env_ids)

    def _send_reset(self, ids: np.ndarray) -> None:
        if self._is_empty(ids):
            return
        seeds = [None if seeded else seed for seed, seeded in zip(self._seeds[ids].tolist(), self._is_seeded[ids])]
        self._envs._open_pool().send_reset(ids.tolist(), seeds)
        self._is_seeded[ids] = True
        self._note_sent(ids.tolist())

    def _reset(self, env_id: Sequence[int] | np.ndarray | None) -> Results:
        ids = self.all_env_ids
        if env_id is not None:
            ids = np.array(arguments.indices("env_id", env_id, self.num_envs), np.int64)
        self._send_reset(ids)
        return self._recv()

    def send(self, action: np.ndarray | dict[str, Any], env_id: Sequence[int] | np.ndarray | None = None) -> None:
        """Sends actions without waiting; ``recv`` returns the results.

        With a synchronous pool, actions may be sent to only some of the environments; ``recv`` then returns their
        results only.

        Args:
            action: One action for each environment: whole numbers of shape ``(rows,)``, or floats of ``(rows, n)``; or
                the dictionary ``{"action": action, "env_id": env_id}``.
            env_id: The environments, which must not be in flight; by default those of the dictionary, or of the last
                batch.

        Raises:
            ActionError: The type or shape of the actions is wrong; nothing is sent.
            ValueError: An action or an index is out of range; nothing is sent.
            RuntimeError: There was no reset, or an environment is in flight.
        """
        action, env_id = _action_and_ids(action, env_id)
        ids = self.all_env_ids
        if env_id is not None:
            ids = np.array(arguments.indices("env_id", env_id, self.num_envs), np.int64)
        if not self._envs._open_pool().was_reset and len(ids) == self.num_envs:
            # The first action is ignored and resets the environment, like an action after the end of an episode.
            return self._send_reset(ids)
        actions = self._whole_numbers(np.asarray(action))
        if not actions.size and self._is_empty(ids):
            return
        self._envs.send(actions, env_id)
        self._note_sent(ids.tolist())

    def _is_empty(self, ids: np.ndarray) -> bool:
        """Returns true for an empty list in a synchronous pool. The next batch is then empty, too."""
        self._sent_none = not len(ids) and not self.is_async and self._envs._open_pool().was_reset
        return self._sent_none

    def _note_sent(self, ids: list[int]) -> None:
        """Moves environments to the end of ``_sent``."""
        self._sent_none = False
        for env in ids:
            self._sent.pop(env, None)
            self._sent[env] = None

    def _whole_numbers(self, actions: np.ndarray) -> np.ndarray:
        """Converts discrete actions, which EnvPool also accepts as floats, to integers."""
        if not isinstance(self.spec.action_space, gymnasium.spaces.Discrete):
            return actions
        whole = actions.dtype.kind in "iu" or (actions.dtype.kind == "f" and bool((actions == np.trunc(actions)).all()))
        return actions.astype(np.int64) if whole and actions.dtype != np.int32 else actions

    def _recv(self) -> Results:
        results, players = self._recv_rows(), self._players
        if players > 1:
            # As in EnvPool, the environment of each row is in "players".
            results.info["env_id"] = results.info["env_id"][::players]
        return results

    @property
    def _players(self) -> int:
        """The number of rows of each environment."""
        return self._envs.num_envs // self.num_envs

    def _recv_rows(self) -> Results:
        # In an asynchronous pool, an environment may be in flight for any number of batches.
        if self.is_async:
            return self._results(self._envs.recv())
        # The functions of xla send and receive, too, so the pool knows which environments are in flight.
        in_flight = dict.fromkeys(self._envs._open_pool().in_flight)
        sent = [env for env in {**self._sent, **in_flight} if env in in_flight]
        if not sent:
            if not self._sent_none:
                return self._results(self._envs.recv())
            self._sent_none = False
            self._envs._open_pool().send_report()
            return self._results(self._envs.recv()).of_rows(np.zeros(0, np.int64))
        if len(sent) < self.num_envs:
            # The others are in the batch, too.
            self._envs._open_pool().send_report()
        results = self._results(self._envs.recv())
        if sent == self.all_env_ids.tolist():
            return results
        return results.of_rows(np.add.outer(np.array(sent) * self._players, np.arange(self._players)).ravel())

    def _results(self, batch: tuple[Any, ...]) -> Results:
        return self.spec.config.results(batch)

    def _returned(self, results: Results) -> Any:
        """Returns results in the form of this kind of pool."""
        raise NotImplementedError

    def xla(self) -> tuple[Any, Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
        """Returns ``(handle, recv, send, step)`` for programs that ``jax.jit`` compiles for the CPU.

        ``recv(handle)`` and ``step(handle, action, env_id=None)`` return the handle and what ``recv`` returns;
        ``send(handle, action, env_id=None)`` returns the handle. Without ``env_id`` an action is sent to each
        environment of the last batch. Call ``async_reset`` first. See ``AtariVectorEnv.xla``.

        Raises:
            NotImplementedError: The environments are not Atari games.
        """
        envs = self._envs
        if not isinstance(envs, AtariVectorEnv) or self._players > 1:
            raise NotImplementedError(f"xla() is available for Atari games only, not for {self.spec.config.task}")
        jax = xla.import_jax()
        _, forms = envs._open_pool().xla_results()

        def received(target: str, handle: Any, *operands: Any) -> tuple[Any, Any]:
            handle, results = xla.call(target, forms, handle, *operands)
            names = ("observations", "rewards", "terminated", "truncated", "info")
            return handle, self._returned(self._results(tuple(results[name] for name in names)))

        def recv(handle: Any) -> tuple[Any, Any]:
            return received("ale_train_recv", handle)

        def send(handle: Any, action: Any, env_id: Any = None) -> Any:
            action, env_id = _action_and_ids(action, env_id)
            # This refers to the pool, so that it lives as long as each function does.
            rows = self._envs.batch_size if env_id is None else None
            ids = np.zeros(0, np.int32) if env_id is None else jax.numpy.asarray(env_id).astype(np.int32)
            return xla.call("ale_train_send", [], handle, xla.array_of_actions(action, False, rows), ids)[0]

        def step(handle: Any, action: Any, env_id: Any = None) -> tuple[Any, Any]:
            return recv(send(handle, action, env_id))

        return jax.numpy.asarray(envs.ale.handle()), recv, send, step

    def render(self, env_ids: int | Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """Returns the screens of environments, uint8 of ``(rows, height, width, 3)``.

        Args:
            env_ids: One environment or several, which must not be in flight; by default ``render_env_id``.

        Raises:
            RuntimeError: ``render_mode`` is None, as it always is for environments other than games; or an environment
                is in flight.
        """
        if self.render_mode is None or not isinstance(self._envs, AtariVectorEnv):
            raise RuntimeError("render_mode is None; create the environments with render_mode='rgb_array'")
        ids = np.atleast_1d(self.render_env_id if env_ids is None else env_ids)
        return np.stack([self._envs.render(env) for env in arguments.indices("env_ids", ids, self.num_envs)])

    def close(self) -> None:
        """Stops the threads."""
        self._envs.close()
        self.closed = True


def _action_and_ids(action: Any, env_id: Any) -> tuple[Any, Any]:
    """Returns the actions and the environments, which may be given as a dictionary."""
    if not isinstance(action, dict):
        return action, env_id
    # As in EnvPool, the argument takes precedence.
    return action["action"], action.get("env_id") if env_id is None else env_id


def _ids_of_mask(options: dict[str, Any] | None, num_envs: int) -> np.ndarray | None:
    """Returns the environments that ``options["reset_mask"]`` selects, None for all."""
    unknown = set(options or ()) - {"reset_mask"}
    if unknown:
        raise ValueError(f"reset has no option {min(unknown)!r}; its only option is 'reset_mask'")
    given = (options or {}).get("reset_mask")
    if given is None:
        return None
    mask = np.asarray(given, bool)
    if mask.shape != (num_envs,):
        raise ValueError(f"reset_mask must have the shape ({num_envs},), got {mask.shape}")
    if not mask.any():
        raise ValueError("reset_mask selects no environment, but must select at least one")
    return np.flatnonzero(mask)


class GymnasiumEnvPool(EnvPool, VectorEnv[Any, Any, Any], gymnasium.Env[Any, Any]):  # type: ignore[misc, override]
    """The pool of ``env_type="gymnasium"`` and ``"gym"``. As in EnvPool, it is both a ``gymnasium.vector.VectorEnv``
    and a ``gymnasium.Env``, so that the wrappers of both kinds accept it."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.NEXT_STEP}
    is_vector_env = True

    @property
    def observation_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]
        """The space of a single observation, as in EnvPool."""
        return self.spec.observation_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]
        """The space of a single action, as in EnvPool."""
        return self.spec.action_space

    single_observation_space = observation_space  # pyright: ignore
    single_action_space = action_space  # pyright: ignore

    def reset(
        self,
        env_id: Sequence[int] | np.ndarray | None = None,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Resets environments.

        Args:
            env_id: The environments; by default all.
            seed: Ignored with a warning, as in EnvPool: ``make`` takes the seeds.
            options: ``{"reset_mask": mask}`` resets the environments selected by ``num_envs`` booleans.

        Returns:
            Observations of shape ``(rows, *observation_space.shape)`` and info, with one entry for each row.

        Raises:
            ValueError: There is no such environment or option, or both ``env_id`` and a mask are given.
        """
        if seed is not None:
            warnings.warn("reset(seed=...) is ignored; pass seed to make instead", stacklevel=2)
        chosen = _ids_of_mask(options, self.num_envs)
        if env_id is not None and chosen is not None:
            raise ValueError("reset takes either env_id or options['reset_mask'], not both")
        results = self._reset(env_id if chosen is None else chosen)
        return results.observations, results.info

    def recv(self, reset: bool = False, return_info: bool = True) -> tuple[Any, ...]:
        """Waits for a batch.

        Args:
            reset: Return observations and info only, as ``reset`` does.
            return_info: Ignored, as in EnvPool.

        Returns:
            Observations, rewards (float32), terminations and truncations (bool), and info, with one entry for each of
            ``batch_size`` rows. ``info["env_id"]`` (int32) contains the environments.

        Raises:
            RuntimeError: Too few environments are in flight, or an environment failed.
        """
        results = self._recv()
        return (results.observations, results.info) if reset else self._returned(results)

    def close(self, **kwargs: Any) -> None:
        """Stops the threads.

        Args:
            kwargs: Ignored, as in EnvPool.
        """
        super().close()

    def _returned(self, results: Results) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        ended = results.terminated & ~results.continues
        truncated = results.truncated
        if isinstance(self.spec, Spec):
            # As in EnvPool, an Atari episode that ends in the step that reaches the limit is truncated, not terminated.
            at_limit = results.info["elapsed_step"] >= self.spec.config.max_episode_steps
            truncated = truncated | (ended & at_limit)
            ended = ended & ~truncated
        return results.observations, results.rewards, ended, truncated, results.info

    def step(  # type: ignore[override]
        self, action: np.ndarray | dict[str, Any], env_id: Sequence[int] | np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Calls ``send``, then ``recv``.

        Args:
            action: As for ``send``.
            env_id: As for ``send``.

        Returns:
            The results of ``recv``.
        """
        self.send(action, env_id)
        return self._returned(self._recv())


class State(NamedTuple):
    """The observation of a ``dm_env.TimeStep``; one entry per row."""

    env_id: np.ndarray
    players: Any
    obs: np.ndarray
    lives: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    ram: np.ndarray


def _environment_of_dm() -> Any:
    """Returns the class ``dm_env.Environment``, or ``object`` without dm_env."""
    try:
        import dm_env
    except ImportError:
        return object
    return dm_env.Environment


class DmEnvPool(EnvPool, _environment_of_dm()):  # type: ignore[misc]
    """The pool of ``env_type="dm"``, which is a ``dm_env.Environment`` if dm_env is installed. As in EnvPool, the
    discount is 0 if an episode has ended, even by truncation, or if a life was lost and ``zero_discount_on_life_loss``
    is set."""

    def __init__(self, config: Config | TaskConfig, render_mode: str | None = None, render_env_id: int = 0) -> None:
        if _environment_of_dm() is object:
            raise gymnasium.error.DependencyNotInstalled("env_type='dm' requires dm_env: pip install dm-env")
        super().__init__(config, render_mode, render_env_id)

    def reset(self, env_id: Sequence[int] | np.ndarray | None = None) -> Any:
        """Resets environments.

        Args:
            env_id: The environments; by default all.

        Returns:
            A ``dm_env.TimeStep`` of arrays with one entry for each row.

        Raises:
            ValueError: There is no such environment.
        """
        return self._returned(self._reset(env_id))

    def recv(self, reset: bool = False, return_info: bool = True) -> Any:
        """Waits for a batch.

        Args:
            reset: Ignored, as in EnvPool.
            return_info: Ignored, as in EnvPool.

        Returns:
            A ``dm_env.TimeStep`` of arrays: step types (int32), rewards and discounts (float32), and an observation
            whose field ``env_id`` contains the environments.

        Raises:
            RuntimeError: Too few environments are in flight, or an environment failed.
        """
        return self._returned(self._recv())

    def _returned(self, results: Results) -> Any:
        import dm_env

        ended = (results.terminated & ~results.continues) | results.truncated
        info = dict(results.info)
        del info["elapsed_step"]
        info["players"] = Players(**info["players"])
        return dm_env.TimeStep(
            # FIRST, MID and LAST are 0, 1 and 2.
            step_type=1 + ended.astype(np.int32) - results.is_first.astype(np.int32),
            reward=results.rewards,
            discount=(~(results.terminated | results.truncated)).astype(np.float32),
            observation=self.spec.state(obs=results.observations, **info),
        )

    def step(self, action: np.ndarray | dict[str, Any], env_id: Sequence[int] | np.ndarray | None = None) -> Any:
        """Calls ``send``, then ``recv``.

        Args:
            action: As for ``send``.
            env_id: As for ``send``.

        Returns:
            The results of ``recv``.
        """
        self.send(action, env_id)
        return self.recv()

    def observation_spec(self) -> Any:
        """Returns the specs of a single observation."""
        return self.spec.observation_spec()

    def action_spec(self) -> Any:
        """Returns the spec of a single action."""
        return self.spec.action_spec()

    def reward_spec(self) -> Any:
        """Returns the spec of a single reward."""
        from dm_env import specs

        return specs.Array((), np.float32, name="reward")

    def discount_spec(self) -> Any:
        """Returns the spec of a single discount."""
        from dm_env import specs

        return specs.BoundedArray((), np.float32, 0.0, 1.0, name="discount")


#: The name in EnvPool.
DMEnvPool = DmEnvPool
