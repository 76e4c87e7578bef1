"""The environments that an agent trains in: names for the program, and what it needs to make them."""

from __future__ import annotations

import dataclasses
import os
import pickle
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cloudpickle  # a dependency of Gymnasium
import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import SyncVectorEnv, VectorEnv

from ale_train import _native
from ale_train.bridge import Bridge
from ale_train.names import is_task

__all__ = ["TrainingEnv"]

#: The beginnings of names that the program passes to Python.
_PREFIXES = ("gymnasium:", "gym:", "python:")

Maker = Callable[..., "gymnasium.Env[Any, Any]"]
Env = "str | EnvSpec | Maker | gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]"


@dataclasses.dataclass(frozen=True)
class TrainingEnv:
    """Environments by their names.

    Attributes:
        names: The names of the games.
        definitions: What names in Python refer to: specifications, or callables that make an environment.
        vector: The vector environment, instead of names.
    """

    names: tuple[str, ...]
    definitions: dict[str, EnvSpec | Maker] = dataclasses.field(default_factory=dict)
    vector: VectorEnv[Any, Any, Any] | None = None

    @classmethod
    def of(cls, env: Any) -> TrainingEnv:
        """Describes what a user gives: an id, a class, a function, an environment, or a list of the first three."""
        if isinstance(env, gymnasium.Env):
            env = SyncVectorEnv([lambda: env])
        if isinstance(env, VectorEnv):
            return cls((Bridge(env).name,), vector=env)
        parts = [_part(part) for part in (env if isinstance(env, Sequence) and not isinstance(env, str) else [env])]
        if not parts:
            raise ValueError("the list of environments is empty")
        return cls(tuple(name for name, _ in parts), {name: made for name, made in parts if made is not None})

    def write_definitions(self, path: Path) -> None:
        """Writes the definitions for worker processes, which look for modules where this process does."""
        paths = [os.path.abspath(path) for path in [*sys.path, os.getcwd()]]
        data = pickle.dumps(list(dict.fromkeys(paths))) + cloudpickle.dumps(self.definitions)
        temporary = path.with_suffix(".tmp")
        temporary.write_bytes(data)
        temporary.replace(path)

    def spaces(self, kwargs: dict[str, Any]) -> tuple[gymnasium.Space[Any], gymnasium.Space[Any]] | None:
        """Returns the spaces of observations and actions; None unless there is one environment of Python."""
        if self.vector is not None:
            return self.vector.single_observation_space, self.vector.single_action_space
        if list(self.definitions) != list(self.names) or len(self.names) > 1:
            return None
        made = self.definitions[self.names[0]]
        env = gymnasium.make(made, **kwargs) if isinstance(made, EnvSpec) else made(**kwargs)
        spaces = env.observation_space, env.action_space
        env.close()
        return spaces


def _part(env: Any) -> tuple[str, EnvSpec | Maker | None]:
    """Returns the name of an environment, and its definition if it runs in Python."""
    if isinstance(env, str):
        return _of_id(env)
    if isinstance(env, EnvSpec):
        return f"gymnasium:{env.id}", env
    if isinstance(env, VectorEnv):
        raise TypeError("a list of environments cannot contain a vector environment")
    if callable(env):
        module = getattr(env, "__module__", None) or "__main__"
        name = re.sub("[^A-Za-z0-9_.]+", "_", getattr(env, "__qualname__", type(env).__qualname__)).strip("_")
        return f"python:{module}:{name or 'environment'}", env
    raise TypeError(
        f"env is {env!r}, but must be an id, a class, a function that makes an environment, a vector environment, "
        "or a list of them"
    )


def _of_id(id: str) -> tuple[str, EnvSpec | None]:
    """Returns the name of an id, and its specification unless the environment is built in or made by name."""
    if id.startswith(_PREFIXES) or is_task(id) or _native.game_named(id) is not None:
        return id, None
    module, _, bare = id.rpartition(":")
    if not module and bare not in gymnasium.registry:
        # A set of games, or an unknown name, for which the program suggests another.
        return id, None
    spec = gymnasium.spec(id)
    return f"gymnasium:{spec.id}", spec
