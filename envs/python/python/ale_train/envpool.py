"""The EnvPool interface: ``async_reset``, ``recv``, ``send(action, env_id)``.

Names, defaults and meanings are those of ``envpool.make("Pong-v5", env_type=...)``. Games behave as in ale-py, which
differs from EnvPool's emulator: with ``episodic_life`` a lost life restarts the game.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from ale_train import arguments
from ale_train.names import game_of
from ale_train.vector_env import AtariVectorEnv

__all__ = ["Config", "DmEnvPool", "EnvPool", "GymnasiumEnvPool", "Players", "State", "make"]


def make(task_id: str, env_type: str = "gymnasium", **config: Any) -> GymnasiumEnvPool | DmEnvPool:
    """Creates environments as ``envpool.make`` does.

    Args:
        task_id: The game: ``"Pong-v5"``, ``"ALE/Pong-v5"`` or ``"pong"``.
        env_type: ``"gymnasium"``, ``"gym"`` (the same) or ``"dm"`` (requires the package dm_env).
        config: Fields of :class:`Config`: ``num_envs``, ``batch_size``, ``seed`` and so on.

    Raises:
        GameError: The game is unknown.
        TypeError: The field is unknown.
        ValueError: A value is out of range.
    """
    kinds: dict[str, type[GymnasiumEnvPool] | type[DmEnvPool]] = {
        "gymnasium": GymnasiumEnvPool,
        "gym": GymnasiumEnvPool,
        "dm": DmEnvPool,
    }
    if env_type not in kinds:
        raise ValueError(f"env_type is {env_type!r}, but must be one of {', '.join(kinds)}")
    known = {field.name for field in dataclasses.fields(Config)} - {"task"}
    for name in config:
        if name not in known:
            raise TypeError(f"make has no option {name!r}; the options are {', '.join(sorted(known))}")
    return kinds[env_type](Config(task=game_of(task_id), **config))


@dataclasses.dataclass(frozen=True)
class Config:
    """Configuration of the environments. ``-1`` as mode or difficulty stands for the game's default."""

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

    def make(self) -> AtariVectorEnv:
        """Creates the environments."""
        return AtariVectorEnv(
            self.task,
            self.num_envs,
            batch_size=self.batch_size,
            num_threads=self.num_threads,
            thread_affinity_offset=self.thread_affinity_offset,
            max_num_frames_per_episode=self.max_episode_steps * self.frame_skip,
            repeat_action_probability=self.repeat_action_probability,
            full_action_space=self.full_action_space,
            img_height=self.img_height,
            img_width=self.img_width,
            grayscale=self.gray_scale,
            stack_num=self.stack_num,
            frameskip=self.frame_skip,
            noop_max=self.noop_max,
            episodic_life=self.episodic_life,
            life_loss_info=self.zero_discount_on_life_loss,
            reward_clipping=self.reward_clip,
            use_fire_reset=self.use_fire_reset,
            mode=None if self.mode < 0 else self.mode,
            difficulty=None if self.difficulty < 0 else self.difficulty,
            fill_stack=True,
            extra_info=True,
        )

    def seeds(self) -> np.ndarray:
        """Returns the seed of each environment."""
        if len(self.env_seed) not in (0, self.num_envs):
            raise ValueError(f"env_seed has {len(self.env_seed)} entries, but num_envs is {self.num_envs}")
        return np.array(self.env_seed, np.int64) if len(self.env_seed) else self.seed + np.arange(self.num_envs)


class Results(NamedTuple):
    """The results from which both kinds of pool build their return values; one entry per row."""

    observations: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    is_first: np.ndarray
    continues: np.ndarray
    info: dict[str, Any]

    def of_rows(self, rows: np.ndarray) -> Results:
        """Returns only these rows."""

        def chosen(value: Any) -> Any:
            return {key: chosen(entry) for key, entry in value.items()} if isinstance(value, dict) else value[rows]

        return Results(*map(chosen, self))


class EnvPool:
    """The common part of ``env_type="gymnasium"`` and ``"dm"``. When an episode has ended, the next action is ignored
    and resets the environment."""

    def __init__(self, config: Config) -> None:
        self.spec = config
        self._envs = config.make()
        self._seeds = config.seeds()
        self._elapsed = np.zeros(self._envs.num_envs, np.int32)

    @property
    def config(self) -> dict[str, Any]:
        """The configuration as a dictionary."""
        return dataclasses.asdict(self.spec)

    @property
    def num_envs(self) -> int:
        """The number of environments."""
        return self._envs.num_envs

    @property
    def is_async(self) -> bool:
        """True if a batch is smaller than the number of environments."""
        return self._envs.batch_size < self._envs.num_envs

    @property
    def all_env_ids(self) -> np.ndarray:
        """The indices of the environments."""
        return np.arange(self._envs.num_envs, dtype=np.int32)

    def __len__(self) -> int:
        return self._envs.num_envs

    def async_reset(self) -> None:
        """Resets every environment without waiting; ``recv`` returns the results."""
        self._send_reset(self.all_env_ids)

    def _send_reset(self, ids: np.ndarray) -> None:
        self._envs.send_reset(ids, seed=self._seeds[ids])
        # Later resets continue the random number generators.
        self._seeds[ids] = -1

    def _reset(self, env_id: Sequence[int] | np.ndarray | None) -> Results:
        ids = self.all_env_ids
        if env_id is not None:
            ids = np.array(arguments.indices("env_id", env_id, self.num_envs))
        if self.is_async or len(ids) == self.num_envs:
            self._send_reset(ids)
            return self._recv()
        # The batch also contains the other environments, which have not made a step.
        mask = np.isin(self.all_env_ids, ids)
        elapsed = self._elapsed.copy()
        observations, info = self._envs.reset(seed=self._seeds[mask], options={"reset_mask": mask})
        self._seeds[mask] = -1
        nothing = np.zeros(self.num_envs, bool)
        results = self._results((observations, nothing, nothing, nothing, info))
        self._elapsed[~mask] = elapsed[~mask]
        return results.of_rows(mask)

    def send(self, action: np.ndarray, env_id: Sequence[int] | np.ndarray | None = None) -> None:
        """Sends one action to each of these environments, or to those of the last batch, without waiting.

        If a batch holds all environments, all must be sent to before ``recv``.
        """
        actions = np.asarray(action)
        if actions.dtype.kind in "iu" and actions.dtype != np.int32:
            actions = actions.astype(np.int64)
        self._envs.send(actions, env_id)

    def _recv(self) -> Results:
        return self._results(self._envs.recv())

    def _results(self, batch: tuple[Any, ...]) -> Results:
        observations, _, terminated, truncated, info = batch
        ids, continues = info["env_id"], info["continues"]
        first = info["steps"] == 0
        self._elapsed[ids] = np.where(first, 0, self._elapsed[ids] + 1)
        raw = info["raw_reward"].astype(np.float32)
        rewards = np.clip(raw, -1, 1) if self.spec.reward_clip else raw
        found = {
            "env_id": ids,
            "players": {"env_id": ids},
            "lives": info["lives"],
            "reward": raw,
            "terminated": (terminated & ~continues).astype(np.int32),
            "ram": self._envs.ram(),
            "elapsed_step": self._elapsed[ids],
        }
        return Results(observations, rewards, terminated, truncated, first, continues, found)

    def close(self) -> None:
        """Stops the threads."""
        self._envs.close()


class GymnasiumEnvPool(EnvPool):
    """The pool of ``env_type="gymnasium"`` and ``"gym"``."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.NEXT_STEP}
    is_vector_env = True

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The space of a single observation, as in EnvPool."""
        return self._envs.single_observation_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """The space of a single action, as in EnvPool."""
        return gymnasium.spaces.Discrete(self._envs.num_actions[0])

    single_observation_space = observation_space
    single_action_space = action_space

    def reset(self, env_id: Sequence[int] | np.ndarray | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Resets these environments, by default all. Returns observations and info."""
        results = self._reset(env_id)
        return results.observations, results.info

    def recv(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Waits for a batch. Returns observations, rewards (float32), terminations, truncations and info."""
        results = self._recv()
        terminated = results.terminated & ~results.continues
        return results.observations, results.rewards, terminated, results.truncated, results.info

    def step(
        self, action: np.ndarray, env_id: Sequence[int] | np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Calls ``send``, then ``recv``."""
        self.send(action, env_id)
        return self.recv()

    def render(self, env_id: int = 0) -> np.ndarray:
        """Returns the screen of an environment, ``(height, width, 3)``."""
        screen: np.ndarray = self._envs.render(env_id)
        return screen


class State(NamedTuple):
    """The observation of a ``dm_env.TimeStep``; one entry per row."""

    env_id: np.ndarray
    players: Any
    obs: np.ndarray
    lives: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    ram: np.ndarray


class Players(NamedTuple):
    """The environment of each row."""

    env_id: np.ndarray


class DmEnvPool(EnvPool):
    """The pool of ``env_type="dm"``. The discount is 0 if an episode has terminated, or if a life was lost and
    ``zero_discount_on_life_loss`` is set."""

    def reset(self, env_id: Sequence[int] | np.ndarray | None = None) -> Any:
        """Resets these environments, by default all."""
        return self._time_step(self._reset(env_id))

    def recv(self) -> Any:
        """Waits for a batch. Returns a ``dm_env.TimeStep`` of arrays."""
        return self._time_step(self._recv())

    @staticmethod
    def _time_step(results: Results) -> Any:
        import dm_env

        ended = (results.terminated & ~results.continues) | results.truncated
        kind = np.where(results.is_first, dm_env.StepType.FIRST, dm_env.StepType.MID)
        info = dict(results.info)
        del info["elapsed_step"]
        info["players"] = Players(**info["players"])
        return dm_env.TimeStep(
            step_type=np.where(ended, dm_env.StepType.LAST, kind).astype(np.int32),
            reward=results.rewards,
            discount=(~results.terminated).astype(np.float32),
            observation=State(obs=results.observations, **info),
        )

    def step(self, action: np.ndarray, env_id: Sequence[int] | np.ndarray | None = None) -> Any:
        """Calls ``send``, then ``recv``."""
        self.send(action, env_id)
        return self.recv()

    def observation_spec(self) -> State:
        """Returns the specs of a single observation."""
        from dm_env import specs

        ids, numbers = self._bounded("env_id", 0, self.num_envs - 1), self._bounded("lives", 0, arguments.LARGEST)
        return State(
            env_id=ids,
            players=Players(env_id=ids),
            obs=specs.BoundedArray(self._envs.single_observation_space.shape, np.uint8, 0, 255, name="obs"),
            lives=numbers,
            reward=specs.Array((), np.float32, name="reward"),
            terminated=specs.DiscreteArray(2, name="terminated"),
            ram=specs.BoundedArray((128,), np.uint8, 0, 255, name="ram"),
        )

    def action_spec(self) -> Any:
        """Returns the spec of a single action."""
        from dm_env import specs

        return specs.DiscreteArray(self._envs.num_actions[0], name="action")

    def reward_spec(self) -> Any:
        """Returns the spec of a single reward."""
        from dm_env import specs

        return specs.Array((), np.float32, name="reward")

    def discount_spec(self) -> Any:
        """Returns the spec of a single discount."""
        from dm_env import specs

        return specs.BoundedArray((), np.float32, 0.0, 1.0, name="discount")

    @staticmethod
    def _bounded(name: str, smallest: int, largest: int) -> Any:
        from dm_env import specs

        return specs.BoundedArray((), np.int32, smallest, largest, name=name)
