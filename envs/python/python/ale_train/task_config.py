"""Classic control, toy text and MuJoCo behind the interface of EnvPool."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, Tuple

from ale_train import _native, arguments
from ale_train.pool_results import Players, Results
from ale_train.task_vector_env import TaskVectorEnv

__all__ = ["TaskConfig", "TaskSpec"]


@dataclasses.dataclass(frozen=True)
class TaskConfig:
    """Configuration of environments of classic control, toy text or MuJoCo.

    ``max_num_players`` must keep its default; ``base_path`` and ``gym_reset_return_info`` are ignored.

    Attributes:
        task: Id of the environment.
        num_envs: Number of environments.
        batch_size: Rows of a batch; 0 means one for each environment.
        num_threads: Threads that step environments; 0 means one for each row of a batch, but at most one for each
            core.
        thread_affinity_offset: The first core to which threads are pinned; -1 disables pinning.
        seed: Environment ``i`` has the seed ``seed + i``.
        env_seed: A seed for each environment instead.
        max_episode_steps: Steps after which an episode is truncated; None for the environment's own limit.
        arguments: The arguments of Gymnasium's environment, which ``make`` takes as keyword arguments.
    """

    task: str
    num_envs: int = 1
    batch_size: int = 0
    num_threads: int = 0
    thread_affinity_offset: int = -1
    seed: int = 42
    env_seed: Sequence[int] = ()
    max_episode_steps: int | None = None
    max_num_players: int = 1
    base_path: str = ""
    gym_reset_return_info: bool = True
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        arguments.check_pool_seeds(self.env_seed)
        if self.max_num_players != 1:
            raise ValueError(f"max_num_players is {self.max_num_players}, but only 1 is available")

    @classmethod
    def of(cls, task: str, options: dict[str, Any]) -> TaskConfig:
        """Creates a configuration from the options of the pool and of the environment."""
        for name in ("autoreset_mode", "complete_info"):
            if name in options:
                raise TypeError(f"{name} is not available: EnvPool's interface determines it")
        fields = {field.name for field in dataclasses.fields(cls)} - {"task", "arguments"}
        known = {name: value for name, value in options.items() if name in fields}
        return cls(task, **known, arguments={name: options[name] for name in options if name not in fields})

    def _asdict(self) -> dict[str, Any]:
        """Returns the options as a dictionary, as EnvPool's configuration does, which is a named tuple."""
        return {**dataclasses.asdict(self), "env_seed": list(self.env_seed)}

    def make(self) -> TaskVectorEnv:
        """Creates the environments."""
        return TaskVectorEnv(
            self.task,
            self.num_envs,
            batch_size=self.batch_size,
            num_threads=self.num_threads,
            thread_affinity_offset=self.thread_affinity_offset,
            max_episode_steps=self.max_episode_steps,
            complete_info=True,
            **self.arguments,
        )

    def spec(self, envs: TaskVectorEnv) -> TaskSpec:
        """Returns the spec of these environments."""
        return TaskSpec(self, envs)

    def seeds(self) -> np.ndarray:
        """Returns the seed of each environment."""
        return arguments.pool_seeds(self.seed, self.env_seed, self.num_envs)

    def results(self, batch: tuple[Any, ...]) -> Results:
        """Converts a batch."""
        observations, rewards, terminated, truncated, info = batch
        if isinstance(observations, tuple):
            observations = np.stack(observations, axis=1)
        if observations.dtype == np.int64:
            observations = observations.astype(np.int32)
        info = {"env_id": info["env_id"], "players": {"env_id": info["env_id"].copy()}, **info}
        is_first = info["elapsed_step"] == 0
        nothing = np.zeros(len(terminated), bool)
        return Results(observations, rewards.astype(np.float32), terminated, truncated, is_first, nothing, info)


class TaskSpec:
    """The spaces and the configuration of environments."""

    def __init__(self, config: TaskConfig, envs: TaskVectorEnv) -> None:
        limits = {id: (limit, threshold) for id, limit, threshold in _native.tasks()}
        limit, self.reward_threshold = limits[config.task]
        steps = limit if config.max_episode_steps is None else config.max_episode_steps
        #: The configuration, with the values that the defaults stand for.
        self.config = dataclasses.replace(config, batch_size=envs.batch_size, max_episode_steps=steps)
        #: The space of a single observation.
        self.observation_space = _in_one_array(envs.single_observation_space)
        #: The space of a single action.
        self.action_space = envs.single_action_space
        self.gymnasium_observation_space = self.observation_space
        self.gymnasium_action_space = self.action_space
        self._fields = envs._open_pool().fields
        #: The class of the observations of a ``dm_env.TimeStep``. Its fields depend on the task.
        self.state = _state(("env_id", "players", "obs", *(name for name, _, _ in self._fields)))

    def observation_spec(self) -> Any:
        """Returns dm_env's specs of a single observation."""
        from dm_env import specs

        ids: Any = specs.BoundedArray((), np.int32, 0, self.config.num_envs - 1, name="env_id")
        fields = {name: specs.Array(shape, np.dtype(dtype), name=name) for name, dtype, shape in self._fields}
        return self.state(env_id=ids, players=Players(ids), obs=_spec(self.observation_space, "obs"), **fields)

    def action_spec(self) -> Any:
        """Returns dm_env's spec of a single action."""
        return _spec(self.action_space, "action")

    def __repr__(self) -> str:
        return repr(self.config).replace("TaskConfig", "EnvSpec", 1)


@functools.cache
def _state(names: tuple[str, ...]) -> Any:
    """Returns the named tuple with these fields, the same class for every pool: trees of one class can be combined."""
    return collections.namedtuple("State", names)


def _in_one_array(space: gymnasium.Space[Any]) -> gymnasium.Space[Any]:
    """Returns EnvPool's space for the observations of a space: a tuple becomes one array."""
    if not isinstance(space, Tuple):
        return space
    largest = np.array([int(part.n) - 1 for part in space if isinstance(part, Discrete)], np.int32)
    return Box(np.zeros_like(largest), largest, dtype=np.int32)


def _spec(space: gymnasium.Space[Any], name: str) -> Any:
    from dm_env import specs

    if isinstance(space, Discrete):
        return specs.DiscreteArray(int(space.n), name=name)
    assert isinstance(space, Box)
    return specs.BoundedArray(space.shape, space.dtype, space.low, space.high, name=name)
