"""The environments that an agent trains in: names for the program, and what it needs to make them."""

from __future__ import annotations

import dataclasses
import importlib
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
from gymnasium.vector import VectorEnv

from ale_train import _native
from ale_train.bridge import Bridge, vector_env
from ale_train.envpool import EnvPool
from ale_train.names import is_python_env, is_task

__all__ = ["TrainingEnv", "definition_of", "make_env", "read_definitions"]

Maker = Callable[..., "gymnasium.Env[Any, Any]"]


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
        if isinstance(env, EnvPool):
            raise TypeError("env has the interface of EnvPool; give its id, or environments of ale_train.make_vec")
        if isinstance(env, (gymnasium.Env, VectorEnv)):
            env = vector_env(env)
            return cls((Bridge(env).name,), vector=env)
        is_list = isinstance(env, Sequence) and not isinstance(env, str)
        parts = [_part(part) for part in (env if is_list else [env])]
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
        if len(self.names) != 1 or not is_python_env(self.names[0]):
            return None
        env = make_env(definition_of(self.names[0], self.definitions), kwargs)
        spaces = env.observation_space, env.action_space
        env.close()
        return spaces


def read_definitions(path: str | os.PathLike[str] | None) -> dict[str, EnvSpec | Maker]:
    """Reads the definitions that ``TrainingEnv.write_definitions`` wrote. This can execute code."""
    if path is None:
        return {}
    with open(path, "rb") as file:
        pickle.load(file)
        definitions: dict[str, EnvSpec | Maker] = pickle.load(file)
    return definitions


def definition_of(name: str, definitions: dict[str, EnvSpec | Maker]) -> str | EnvSpec | Maker:
    """Returns what the name of an environment in Python refers to: an id, a specification or a callable.

    Raises:
        ValueError: It refers to an object of another program.
    """
    if name.startswith("python:__vector__:"):
        raise ValueError(f"the environments of {name} are an object of the program that trained the agent")
    if name in definitions:
        return definitions[name]
    kind, _, rest = name.partition(":")
    if kind != "python":
        return rest
    module, _, attribute = rest.rpartition(":")
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    maker: Maker = found
    return maker


def make_env(definition: str | EnvSpec | Maker, kwargs: dict[str, Any]) -> gymnasium.Env[Any, Any]:
    """Makes an environment."""
    if isinstance(definition, (str, EnvSpec)):
        return gymnasium.make(definition, **kwargs)
    return definition(**kwargs)


def _part(env: Any) -> tuple[str, Any]:
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
    if is_python_env(id) or is_task(id) or _native.game_named(id) is not None:
        return id, None
    module, _, bare = id.rpartition(":")
    if not module and bare not in gymnasium.registry:
        # A set of games, or an unknown name, for which the program suggests another.
        return id, None
    spec = gymnasium.spec(id)
    return f"gymnasium:{spec.id}", spec
