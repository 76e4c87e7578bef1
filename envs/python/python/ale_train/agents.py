"""Trained agents."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from ale_train import _native
from ale_train.bridge import action_masks, autoreset_mode, vector_env
from ale_train.conversion import Conversion
from ale_train.names import is_python_env, is_task
from ale_train.observations import as_array, batch_length, cast, num_rows
from ale_train.program import run
from ale_train.task_vector_env import TaskVectorEnv

if TYPE_CHECKING:
    from ale_train import pytorch

__all__ = ["Agent", "Outputs", "PlayerState", "Scores", "absolute", "load_agent"]


@dataclasses.dataclass(frozen=True)
class Scores:
    """The scores of an evaluation.

    Attributes:
        returns: The sum of rewards of each episode, by game.
        lengths: The number of steps of each episode, by game.
    """

    returns: dict[str, np.ndarray]
    lengths: dict[str, np.ndarray]

    @property
    def mean(self) -> float:
        """The mean over the games of their mean returns."""
        return float(np.mean([returns.mean() for returns in self.returns.values()]))


@dataclasses.dataclass(frozen=True)
class Outputs:
    """The outputs of a network for observations. Several choices of an action have their options side by side.

    Attributes:
        probabilities: The probabilities of the actions, of shape ``(rows, actions)``. None with continuous actions, and
            for networks that learn action values.
        action_values: The values of the actions, of shape ``(rows, actions)``. None for other networks.
        values: The values of the observations, of shape ``(rows,)``: estimates of the discounted sum of future rewards
            as the learner sees them. For networks that learn action values, the largest of these.
    """

    probabilities: np.ndarray | None
    action_values: np.ndarray | None
    values: np.ndarray


@dataclasses.dataclass(frozen=True)
class PlayerState:
    """The state of a recurrent network between two predictions. It changes in place."""

    player: _native.Player


class Agent:
    """A trained agent that plays one game.

    Attributes:
        games: The names of the games that it was trained on.
        game: The name of the game that it plays.
        frames: The number of frames of its training.
        experiment: The settings of its training.
        is_masked: True if it was trained with action masks.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        game: str | None = None,
        *,
        best: bool = False,
        observation_space: gymnasium.Space[Any] | None = None,
        action_space: gymnasium.Space[Any] | None = None,
    ) -> None:
        """Opens an agent. ``load_agent`` describes the arguments."""
        self.path = absolute(path)
        self._best = best
        self._native = _native.NativeAgent(self.path, best)
        self.games: list[str] = self._native.tasks
        self._task = _index(self.games, game)
        self.game = self.games[self._task]
        self.frames: int = self._native.frames
        self.is_masked: bool = self._native.is_masked
        self.experiment: dict[str, Any] = json.loads(self._native.experiment)
        if (observation_space is None) != (action_space is None):
            raise TypeError("give both spaces or none of them")
        self._spaces: tuple[gymnasium.Space[Any], gymnasium.Space[Any]] | None = None
        if observation_space is not None and action_space is not None:
            self._spaces = observation_space, action_space
        self._conversions: dict[int, Conversion] = {}
        self._players: dict[tuple[int, bool], _native.Player] = {}

    def __repr__(self) -> str:
        """Names the agent."""
        return f"Agent({self.path!r}, {self.game!r}, frames={self.frames})"

    def predict(
        self,
        observation: Any,
        state: PlayerState | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[Any, PlayerState | None]:
        """Chooses actions, like the method of Stable-Baselines3.

        Args:
            observation: An observation, or one for each environment of a vector environment.
            state: The state that the last call returned, for a recurrent network; None at the start.
            episode_start: True for each environment in which an episode starts, of shape ``(num_envs,)``.
            deterministic: True for the best actions. False samples them as in training.
            action_masks: The action mask of the observation, or one for each environment, if the agent was trained with
                them. None for an environment allows everything.

        Returns:
            The action, or an array with an action for each environment, and the state; None unless the network is
            recurrent. A single action is a number of NumPy or an array, as in the action space.

        Raises:
            ValueError: The observation is not one that the agent was trained on, or a mask is missing.
        """
        player, rows, starts, masks, is_single = self._inputs(
            observation, state, episode_start, action_masks, deterministic
        )
        actions = self._actions(self._native.act(player, rows, starts, masks), len(starts))
        kept = PlayerState(player) if self._native.is_recurrent else None
        return (actions[0] if is_single else actions), kept

    def outputs(
        self,
        observation: Any,
        state: PlayerState | None = None,
        episode_start: np.ndarray | None = None,
        action_masks: Any = None,
    ) -> Outputs:
        """Returns the outputs of the network on which ``predict`` bases its actions.

        Args:
            observation: An observation, or one for each environment of a vector environment. The outputs have a row for
                each of them, also for a single one.
            state: The state of a recurrent network that ``predict`` returned; it does not change.
            episode_start: As for ``predict``.
            action_masks: As for ``predict``.

        Raises:
            ValueError: The observation is not one that the agent was trained on, or a mask is missing.
        """
        player, rows, starts, masks, _ = self._inputs(observation, state, episode_start, action_masks, True)
        of_actions, are_values, values = self._native.outputs(player, rows, starts, masks)
        if are_values:
            return Outputs(None, of_actions, values)
        return Outputs(of_actions if of_actions.shape[1] else None, None, values)

    def evaluate(
        self,
        episodes: int = 30,
        *,
        seed: int = 0,
        deterministic: bool = False,
        env: VectorEnv[Any, Any, Any] | None = None,
    ) -> Scores:
        """Plays full episodes of each game, by default in new environments, as ``ale-train eval`` does.

        Args:
            episodes: The number of episodes of each game.
            seed: The seed of the episodes.
            deterministic: True for the best actions. False samples them as in training.
            env: A vector environment in which the agent plays its game instead.

        Raises:
            TypeError: ``env`` is something else.
            ValueError: The environments cannot be made by name.
        """
        if env is not None:
            return _play(self, vector_env(env), episodes, seed, deterministic)
        command = ["eval", self.path, "--episodes", str(episodes), "--seed", str(seed), "--json"]
        report = json.loads(run([*command, *self._flags(deterministic)]))
        games = {game["game"]: game for game in report["games"]}
        return Scores(
            {name: np.asarray(game["returns"], float) for name, game in games.items()},
            {name: np.asarray(game["lengths"], int) for name, game in games.items()},
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the agent to a file with the extension ``.safetensors``, which ``load_agent`` and PyTorch can read, or
        ``.onnx``."""
        run(["export", self.path, "--out", path, "--quiet", *self._flags(False)])

    def record(
        self, path: str | os.PathLike[str], *, seed: int = 0, max_steps: int = 1000, deterministic: bool = False
    ) -> None:
        """Writes a video of an episode to a file with the extension ``.gif``, ``.apng`` or ``.mp4``."""
        limits = ["--seed", str(seed), "--max-steps", str(max_steps)]
        game = ["--game", self.game] if len(self.games) > 1 else []
        run(["record", self.path, "--out", path, *limits, *game, *self._flags(deterministic)])

    def to_torch(self) -> pytorch.Agent:
        """Returns the network as a PyTorch module with the names of CleanRL. Actions must be discrete."""
        from ale_train import pytorch

        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "agent.safetensors")
            self.save(path)
            return pytorch.load(path, self._task)

    def make_vec(self, num_envs: int = 1, **options: Any) -> VectorEnv[Any, Any, Any]:
        """Creates environments of the agent's game with the settings of its training, for evaluation.

        Args:
            num_envs: The number of environments.
            options: Options of ``ale_train.make_vec``, or of ``gymnasium.make``, that replace those of the agent.
        """
        from ale_train.agent_envs import make_agent_envs

        return make_agent_envs(self.game, self.experiment, num_envs, options)

    def _inputs(
        self, observation: Any, state: PlayerState | None, episode_start: Any, action_masks: Any, deterministic: bool
    ) -> tuple[_native.Player, np.ndarray, np.ndarray, np.ndarray, bool]:
        """Returns a player, rows, starts and masks for it, and true for a single observation."""
        rows, num_envs, is_single = self._rows(observation)
        starts = np.zeros(num_envs, bool) if episode_start is None else np.asarray(episode_start, bool).reshape(-1)
        player = self._player(num_envs, deterministic) if state is None else state.player
        masks = self._mask_rows([action_masks] if is_single and action_masks is not None else action_masks, num_envs)
        return player, rows, np.ascontiguousarray(starts), masks, is_single

    def _flags(self, deterministic: bool) -> list[str]:
        return ["--best"] * self._best + ["--greedy"] * deterministic

    def _player(self, num_envs: int, deterministic: bool) -> _native.Player:
        """Returns a player; a new one for each sequence of predictions if it has a state."""
        if self._native.is_recurrent:
            return self._native.player(self._task, num_envs, deterministic, 0)
        key = (num_envs, deterministic)
        if key not in self._players:
            self._players[key] = self._native.player(self._task, num_envs, deterministic, 0)
        return self._players[key]

    def _rows(self, observation: Any) -> tuple[np.ndarray, int, bool]:
        """Returns the rows of observations, their number, and true for a single observation."""
        if self._spaces is None and not self._is_of_task(observation):
            return self._array_rows(observation)
        num_envs = num_rows((self._spaces or self._task_spaces)[0], observation)
        conversion = self._conversion(num_envs or 1)
        rows = conversion.row(observation) if num_envs is None else conversion.batch_rows(observation)
        rows = self._padded(rows, conversion.num_envs) if len(self.games) > 1 else rows
        return rows, conversion.num_envs, num_envs is None

    def _is_of_task(self, observation: Any) -> bool:
        """Returns true for observations of a built-in task that are not rows of the network.

        The network takes the integers of toy text one-hot, and zeros after the numbers of a task that has fewer than
        others.
        """
        array, shape = as_array(observation), tuple(self._native.observation[0])
        return is_task(self.game) and not (array.dtype.kind == "f" and array.shape[-1:] == shape)

    @functools.cached_property
    def _task_spaces(self) -> tuple[gymnasium.Space[Any], gymnasium.Space[Any]]:
        """The spaces of the built-in task."""
        env = TaskVectorEnv(self.game)
        env.close()
        return env.single_observation_space, env.single_action_space

    def _padded(self, rows: np.ndarray, num_envs: int) -> np.ndarray:
        """Returns rows with zeros after them, as far as the network takes more numbers."""
        shape, dtype = self._native.observation
        rows = rows.reshape(num_envs, -1)
        missing = int(np.prod(shape)) * np.dtype(dtype).itemsize - rows.shape[1]
        return np.pad(rows, ((0, 0), (0, max(0, missing)))).reshape(-1)

    def _array_rows(self, observation: Any) -> tuple[np.ndarray, int, bool]:
        shape, dtype = self._native.observation
        array = as_array(observation)
        num_envs = batch_length(array, tuple(shape))
        try:
            array = cast(array, (*([] if num_envs is None else [num_envs]), *shape), np.dtype(dtype))
        except ValueError as error:
            hint = "agent.make_vec(n) makes environments with the observations of its training"
            if is_python_env(self.game):
                hint = "give the spaces to load_agent if they are those of an environment in Python"
            raise ValueError(f"{error}; {hint}") from None
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8), num_envs or 1, num_envs is None

    def _mask_rows(self, masks: Any, num_envs: int) -> np.ndarray:
        """Returns the rows of action masks as bytes."""
        if not self.is_masked:
            if masks is not None:
                raise ValueError("the agent was trained without action masks")
            return np.zeros(0, np.uint8)
        if self._spaces is None:
            raise ValueError("agents that were trained with action masks need the spaces of load_agent")
        if masks is None or len(masks) != num_envs:
            given = "none were" if masks is None else f"{len(masks)} were"
            raise ValueError(f"the agent was trained with action masks; {num_envs} are needed, but {given} given")
        return self._conversion(num_envs).mask_rows(masks)

    def _actions(self, elements: np.ndarray, num_envs: int) -> np.ndarray:
        if self._spaces is not None:
            return self._conversion(num_envs).actions(elements)
        shape, dtype = self._native.action(self._task)
        return elements.astype(dtype).reshape(num_envs, *shape)

    def _conversion(self, num_envs: int) -> Conversion:
        if num_envs not in self._conversions:
            spaces = self._spaces or self._task_spaces
            self._conversions[num_envs] = Conversion(*spaces, num_envs, are_masked=self.is_masked)
        return self._conversions[num_envs]


def load_agent(
    path: str | os.PathLike[str],
    game: str | None = None,
    *,
    best: bool = False,
    observation_space: gymnasium.Space[Any] | None = None,
    action_space: gymnasium.Space[Any] | None = None,
) -> Agent:
    """Opens a trained agent.

    Args:
        path: The directory of a run or of one of its checkpoints, a file of ``Agent.save`` or ``ale-train export``, or
            ``"zoo:NAME"``.
        game: The game that it shall play, if it was trained on several.
        best: True for the best checkpoint of a run instead of the last one.
        observation_space: The space of its environment in Python, whose observations ``predict`` then converts.
        action_space: The space of its environment in Python, to whose actions ``predict`` then converts.

    Raises:
        ValueError: There is no such agent, or it does not play the game.
    """
    return Agent(path, game, best=best, observation_space=observation_space, action_space=action_space)


def absolute(path: str | os.PathLike[str]) -> str:
    """Returns the path of an agent so that it stays valid when the directory of the process changes. Names such as
    ``zoo:harvest`` stay as they are."""
    return os.path.abspath(path) if os.path.exists(path) else os.fspath(path)


def _play(agent: Agent, env: VectorEnv[Any, Any, Any], episodes: int, seed: int, deterministic: bool) -> Scores:
    """Plays episodes in a vector environment. Each environment plays an equal share of them."""
    mode = autoreset_mode(env)
    left = np.array([episodes // env.num_envs + (env_id < episodes % env.num_envs) for env_id in range(env.num_envs)])
    returns: list[float] = []
    lengths: list[int] = []
    total, length = np.zeros(env.num_envs), np.zeros(env.num_envs, int)
    observations, infos = env.reset(seed=seed)
    state, starts, needs_mask = None, np.ones(env.num_envs, bool), np.ones(env.num_envs, bool)
    while left.any():
        masks = action_masks(infos, needs_mask) if agent.is_masked else None
        actions, state = agent.predict(observations, state, starts, deterministic, masks)
        observations, rewards, terminations, truncations, infos = env.step(actions)
        needs_mask = ~np.asarray(terminations, bool) | (mode is AutoresetMode.SAME_STEP)
        ended = np.asarray(terminations) | np.asarray(truncations)
        # With the mode NEXT_STEP, the step after the end of an episode only resets the environment.
        is_reset = starts if mode is AutoresetMode.NEXT_STEP and length.any() else np.zeros(env.num_envs, bool)
        total, length = np.where(is_reset, 0.0, total + rewards), np.where(is_reset, 0, length + 1)
        for env_id in np.flatnonzero(ended & (left > 0)):
            returns.append(float(total[env_id]))
            lengths.append(int(length[env_id]))
            left[env_id] -= 1
        total[ended], length[ended] = 0.0, 0
        starts = ended
    return Scores({agent.game: np.array(returns)}, {agent.game: np.array(lengths)})


def _index(games: list[str], game: str | None) -> int:
    if game is None:
        return 0
    known = _native.game_named(game) or game
    for name in (game, known):
        if name in games:
            return games.index(name)
    raise ValueError(f"the agent does not play {game!r}; it plays {', '.join(games)}")
