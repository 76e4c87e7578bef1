"""The learners: runs of the program from Python."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import numpy as np
from gymnasium.vector import VectorEnv

from ale_train import _native
from ale_train.agents import Agent, PlayerState, Scores, absolute
from ale_train.bridge import Bridge, vector_env
from ale_train.other_arguments import explained, reject
from ale_train.program import assignments, masked, run
from ale_train.training_env import TrainingEnv, read_definitions

if TYPE_CHECKING:
    from typing_extensions import Self

    from ale_train import pytorch

__all__ = ["DQN", "PPO", "PQN", "SAC", "Algorithm", "Callback"]

#: Receives each record of a run: the point of the run and its metrics. Returning True stops the run.
Callback = Callable[[dict[str, Any]], "bool | None"]

#: The directory of runs.
_RUNS = Path("checkpoints")
#: The name of the file with definitions in the directory of a run.
_DEFINITIONS = "environments.pickle"
#: The configuration of a run, which exists from its start on.
_CONFIG = "config.toml"


class _Progress(NamedTuple):
    """The progress of a run at its newest checkpoint."""

    frames: int
    steps: int
    updates: int


class Algorithm:
    """A run: an agent in training, in a directory with curves, checkpoints and the configuration.

    ``ale-train resume``, ``report``, ``eval`` and the other commands work on the directory too.

    Attributes:
        run_dir: The absolute path of the directory of the run.
        num_timesteps: The number of steps of all environments at the newest checkpoint.
    """

    #: The name of the algorithm in commands and configurations.
    name: ClassVar[str]

    def __init__(
        self,
        env: Any,
        *others: NoReturn,
        num_envs: int | None = None,
        preset: str | None = None,
        config: str | os.PathLike[str] | None = None,
        seed: int | None = None,
        run_dir: str | os.PathLike[str] | None = None,
        init_from: str | os.PathLike[str] | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        verbose: bool = True,
        **settings: Any,
    ) -> None:
        """Checks the settings. Nothing is written before ``learn``.

        Args:
            env: The id of a game or a task, of this package or of Gymnasium; a class or a function that makes an
                environment; a list of them, which one network learns; or a vector environment of Gymnasium, which is
                stepped in this process.
            others: Not accepted; only there to explain that there is no policy argument as in Stable-Baselines3.
            num_envs: The number of environments of each game.
            preset: The name of a preset, as ``ale-train presets`` lists them.
            config: A file that describes the experiment.
            seed: The seed of the run.
            run_dir: The directory of the run, by default one in ``checkpoints``.
            init_from: A trained agent whose weights the run starts with.
            env_kwargs: Keyword arguments of environments in Python.
            verbose: False prints warnings only.
            settings: Values of the experiment, by names such as ``learning_rate`` or, in a dictionary, by section:
                ``policy={"hidden_size": 256}``.

        Raises:
            TypeError: ``env`` is none of these, or a setting has the wrong type.
            ValueError: A setting is unknown or out of range.
        """
        reject(settings)
        if others or isinstance(settings.get("policy"), str):
            raise TypeError("the environment comes first; it determines the network, which policy={...} changes")
        self._env = TrainingEnv.of(env)
        self._verbose = verbose
        self._kwargs = dict(env_kwargs or {})
        if self._env.vector is not None:
            if num_envs not in (None, self._env.vector.num_envs):
                raise ValueError(f"num_envs is {num_envs}, but the vector environment has {self._env.vector.num_envs}")
            num_envs = self._env.vector.num_envs
        options = {
            "--preset": preset,
            "--config": None if config is None else os.path.abspath(config),
            "--seed": seed,
            "--num-envs": num_envs,
            "--init-from": None if init_from is None else absolute(init_from),
        }
        self._arguments = self._arguments_of(options, settings)
        self._keep_settings(json.loads(_native.planned_experiment(self._arguments)))
        self.run_dir = self._default_run_dir(seed) if run_dir is None else Path(run_dir).absolute()
        if _contains_run(self.run_dir):
            raise ValueError(f"{self.run_dir} contains a run; continue it with {type(self).__name__}.load")
        self._agent: Agent | None = None

    @classmethod
    def load(
        cls, run_dir: str | os.PathLike[str], env: VectorEnv[Any, Any, Any] | None = None, *, verbose: bool = True
    ) -> Self:
        """Opens a run, to continue it or to use its agent.

        Opening a run with environments in Python can execute code of the run.

        Args:
            run_dir: The directory of the run.
            env: The vector environment, if the run was started with one.
            verbose: False prints warnings only.

        Raises:
            TypeError: ``env`` is no vector environment.
            ValueError: There is no such run, or it is one of another algorithm.
        """
        directory = Path(run_dir).absolute()
        if not _contains_run(directory):
            raise ValueError(f"{directory} contains no run")
        experiment = json.loads(_native.experiment(os.fspath(directory)))
        algorithm = experiment["experiment"]["algorithm"]
        if algorithm != cls.name:
            raise ValueError(f"{directory} is a run of {algorithm}, not of {cls.name}")
        self = cls.__new__(cls)
        settings = experiment["environments"]
        in_python = settings.get("gymnasium", {})
        if env is None:
            self._env = TrainingEnv(tuple(settings["games"]), read_definitions(in_python.get("definitions")))
        else:
            self._env = TrainingEnv.of(vector_env(env))
        self._verbose, self._kwargs = verbose, in_python.get("kwargs", {})
        self._arguments, self._agent = [], None
        self._keep_settings(experiment)
        self.run_dir = directory
        return self

    def __repr__(self) -> str:
        """Names the environments, the steps and the directory."""
        env = ",".join(self._env.names)
        return f"{type(self).__name__}({env!r}, num_timesteps={self.num_timesteps}, run_dir={str(self.run_dir)!r})"

    @explained
    def learn(self, total_steps: float, callback: Callback | None = None) -> Self:
        """Trains for this number of further steps of all environments together.

        Ctrl-C writes a checkpoint and raises ``KeyboardInterrupt``; another call continues.

        Args:
            total_steps: The number of steps, an integer, which may be written ``1e6``; at least those of one update.
                PPO and PQN make whole updates, so they may end less than one update before this number.
            callback: Called with each record of ``metrics.jsonl``; returning True ends the call with a checkpoint.

        Raises:
            TypeError: ``total_steps`` is no integer.
            ValueError: The run cannot start with these settings, or ``total_steps`` is too small.
            RuntimeError: Training failed.
        """
        # 1e6 is a usual way to write a million.
        if not isinstance(total_steps, (int, np.integer)) and not (
            isinstance(total_steps, float) and total_steps.is_integer()
        ):
            raise TypeError(f"total_steps is {total_steps!r}, but must be an integer")
        if total_steps < self._update_steps:
            raise ValueError(
                f"total_steps is {total_steps}, but must be at least {self._update_steps}, the steps of one update"
            )
        frames = int(total_steps) * self._frames_per_step
        command: list[Any]
        if _contains_run(self.run_dir):
            command = ["resume", self.run_dir, "--total-frames", str(self._progress().frames + frames)]
        else:
            definitions = self._write_definitions()
            command = [*self._arguments, "--run-dir", self.run_dir, "--total-frames", str(frames), *definitions]
        self._agent = None
        vector = self._env.vector
        bridge = None if vector is None else Bridge(vector, are_masked=self._are_masked)
        observer = None if callback is None else lambda record: bool(callback(json.loads(record)))
        run([*command, *([] if self._verbose else ["--quiet"])], bridge, observer)
        return self

    @property
    def num_timesteps(self) -> int:
        """The number of steps of all environments at the newest checkpoint."""
        return self._progress().steps

    @property
    def agent(self) -> Agent:
        """The agent of the newest checkpoint.

        Raises:
            ValueError: The run has not started.
        """
        if self._agent is None:
            if not _contains_run(self.run_dir):
                raise ValueError("there is no agent before the first call of learn")
            observations, actions = self._env.spaces(self._kwargs) or (None, None)
            self._agent = Agent(self.run_dir, observation_space=observations, action_space=actions)
        return self._agent

    def predict(
        self,
        observation: Any,
        state: PlayerState | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[Any, PlayerState | None]:
        """Chooses actions. ``Agent.predict`` describes the arguments."""
        return self.agent.predict(observation, state, episode_start, deterministic, action_masks)

    def evaluate(
        self,
        episodes: int = 30,
        *,
        seed: int = 0,
        deterministic: bool = False,
        env: VectorEnv[Any, Any, Any] | None = None,
    ) -> Scores:
        """Plays full episodes of each game. ``Agent.evaluate`` describes the arguments.

        A run with a vector environment uses that, unless another is given.
        """
        env = self._env.vector if env is None else env
        return self.agent.evaluate(episodes, seed=seed, deterministic=deterministic, env=env)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the agent to a ``.safetensors`` file."""
        self.agent.save(path)

    def record(
        self, path: str | os.PathLike[str], *, seed: int = 0, max_steps: int = 1000, deterministic: bool = False
    ) -> None:
        """Writes a video of an episode. ``Agent.record`` describes the arguments."""
        self.agent.record(path, seed=seed, max_steps=max_steps, deterministic=deterministic)

    def make_vec(self, num_envs: int = 1, **options: Any) -> VectorEnv[Any, Any, Any]:
        """Creates environments like those of the run, for evaluation."""
        return self.agent.make_vec(num_envs, **options)

    def to_torch(self) -> pytorch.Agent:
        """Returns the network as a PyTorch module with the names of CleanRL."""
        return self.agent.to_torch()

    def _arguments_of(self, options: Mapping[str, Any], settings: dict[str, Any]) -> list[str]:
        """Returns the arguments of the command that trains with these options, unless they are None, and settings."""
        arguments = [self.name, "--games", ",".join(self._env.names)]
        for flag, value in options.items():
            if value is not None:
                arguments += [flag, str(value)]
        if self._kwargs:
            settings = {**settings, "environments.gymnasium.kwargs": self._kwargs}
        settings = {"evaluation.episodes": 0, "environments.gymnasium.python": sys.executable, **settings}
        return [*arguments, *assignments(self.name, settings)]

    def _keep_settings(self, experiment: dict[str, Any]) -> None:
        """Keeps what ``learn`` needs to know about an experiment."""
        settings = experiment["environments"]
        self._are_masked = masked(experiment)
        self._frames_per_step: int = settings.get("frame_skip", 1)
        num_envs = settings["num_envs"] * len(settings["games"])
        #: The steps of all environments together from one update to the next, at least one of each.
        self._update_steps: int = num_envs * experiment[self.name].get("num_steps", 1)

    def _progress(self) -> _Progress:
        return _Progress(*(_native.progress(os.fspath(self.run_dir)) or (0, 0, 0)))

    def _write_definitions(self) -> list[str]:
        """Writes the definitions of the environments, and returns the flags that name the file."""
        if not self._env.definitions:
            return []
        self.run_dir.mkdir(parents=True, exist_ok=True)
        path = (self.run_dir / _DEFINITIONS).absolute()
        self._env.write_definitions(path)
        return assignments(self.name, {"environments.gymnasium.definitions": path})

    def _default_run_dir(self, seed: int | None) -> Path:
        """Returns a new directory with the naming scheme of the program."""
        names = self._env.names
        games = "-".join(names).replace(":", "-") if len(names) <= 3 else f"{len(names)}-games"
        prefix = f"{games.replace('/', '-')}__{self.name}__{1 if seed is None else seed}__"
        started = int(time.time())
        candidates = (_RUNS.absolute() / f"{prefix}{started + later}" for later in range(2**31))
        return next(path for path in candidates if not path.exists())


def _contains_run(directory: Path) -> bool:
    """Returns true if a run has been started in a directory."""
    return (directory / _CONFIG).exists()


class PPO(Algorithm):
    """Proximal policy optimisation, for discrete and continuous actions."""

    name = "ppo"


class DQN(Algorithm):
    """DQN and its extensions up to Rainbow, for discrete actions."""

    name = "dqn"


class PQN(Algorithm):
    """The parallelised Q-network, for discrete actions."""

    name = "pqn"


class SAC(Algorithm):
    """Soft actor-critic, for discrete and for bounded continuous actions."""

    name = "sac"
