"""Agents of ``ale-train export`` as PyTorch modules, whose parameters have the names of CleanRL's modules.

PyTorch and safetensors are required, and tomli on Python 3.10; the extra ``torch`` of the package installs them.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import safe_open
from torch import nn

from ale_train.agent_envs import atari_options

if TYPE_CHECKING:
    from ale_train.task_vector_env import TaskVectorEnv
    from ale_train.vector_env import AtariVectorEnv

__all__ = ["Agent", "load"]

#: The size and the stride of each convolution.
_KERNELS = {
    "nature": ((8, 4), (4, 2), (3, 1)),
    "data_efficient": ((5, 5), (5, 5)),
    "small": ((2, 1), (2, 1), (2, 1)),
}

#: The convolutions of ``small`` for images with at least this height and width.
_STRIDED_SIDE, _STRIDED = 16, ((2, 1), (2, 2), (2, 2))


def load(path: str | os.PathLike[str], task: int | str = 0) -> Agent:
    """Loads an agent with discrete actions.

    Args:
        path: A file of ``ale-train export``, or one saved with its metadata.
        task: The game that the agent shall play, by its name such as ``"breakout"`` or by its index in ``Agent.tasks``.

    Raises:
        ValueError: The agent has no such game, has continuous actions or was trained by SAC, or the file lacks the
            metadata.
    """
    with safe_open(os.fspath(path), framework="pt") as file:
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata() or {}
    if "tasks" not in metadata:
        raise ValueError(f"{path} has no metadata of an agent; keep the metadata of the export when you save weights")
    agent = Agent(weights, metadata, task)
    agent.load_state_dict(weights)
    return agent


class Agent(nn.Module):  # type: ignore[misc]
    """An agent that plays one game.

    The parameters are those of the export, with its names in ``state_dict()``. Weights that were trained further can
    be saved as they were loaded::

        safetensors.torch.save_file(agent.state_dict(), "new.safetensors", agent.metadata)

    ``ale-train eval``, ``record``, ``play`` and ``--init-from`` accept this file. Noisy layers have no noise.

    Attributes:
        tasks: The names of the games that the agent was trained on.
        task: The index of the game that it plays.
        metadata: The metadata of the file. The guide on exports describes it.
    """

    def __init__(self, weights: dict[str, torch.Tensor], metadata: dict[str, str], task: int | str = 0) -> None:
        """Creates the modules for these weights, without their values. ``load`` also sets these."""
        super().__init__()
        described = json.loads(metadata["tasks"])
        self.metadata = metadata
        self.tasks: list[str] = [task["name"] for task in described]
        self.task = _index(self.tasks, task)
        if any("num_components" in task for task in described):
            raise ValueError("the agent has continuous actions, but only agents with discrete actions can be loaded")
        if metadata["algorithm"] == "sac":
            raise ValueError("the agent was trained by SAC, which this module lacks; ale_train.load_agent can load it")
        self._actions = _Actions.of(described[self.task])
        self._is_ppo = metadata["algorithm"] == "ppo"
        self._is_shared = json.loads(metadata["head"]) == "shared"
        self._num_atoms = int(metadata["num_atoms"])
        self.obs_rms = _Statistics(weights) if "obs_rms.mean" in weights else None
        embedding = weights.get("game_embedding.weight")
        self.game_embedding = None if embedding is None else nn.Embedding(*embedding.shape)
        shape, torso = json.loads(metadata["observation_shape"]), json.loads(metadata["torso"])
        if not shape:
            raise ValueError("the agent observes images and other values, but only agents with one kind can be loaded")
        is_image = len(shape) == 3
        # The bytes of grids of symbols are not divided.
        self._largest_byte = 1.0 if is_image and torso == "small" else 255.0
        layers = _torso(weights, torso, shape, self._is_ppo)
        self._num_features = len(layers)
        self._add_heads(weights, layers, nn.ReLU if is_image or not self._is_ppo else nn.Tanh)

    def _add_heads(
        self, weights: dict[str, torch.Tensor], layers: list[nn.Module], activation: type[nn.Module]
    ) -> None:
        self.lstm = None
        if self._is_ppo:
            layers += _hidden(weights, "network", len(layers), activation)
            self.actor, self.critic = _linear(weights, "actor"), _linear(weights, "critic")
            if "lstm.weight_hh_l0" in weights:
                inputs, hidden = weights["lstm.weight_ih_l0"].shape[1], weights["lstm.weight_hh_l0"].shape[1]
                self.lstm = nn.LSTM(inputs, hidden)
        elif self._is_dueling(weights):
            for head in ("advantage_head", "value_head"):
                stream = _hidden(weights, head, 0)
                setattr(self, head, nn.Sequential(*stream, _linear(weights, f"{head}.{len(stream)}")))
        else:
            layers += _hidden(weights, "network", len(layers))
            layers.append(_linear(weights, f"network.{len(layers)}"))
        self.network = nn.Sequential(*layers)

    @staticmethod
    def _is_dueling(weights: dict[str, torch.Tensor]) -> bool:
        return any(name.startswith("value_head") for name in weights)

    def forward(self, observations: torch.Tensor, state: Any = None) -> Any:
        """Returns the outputs for the actions of the game.

        Args:
            observations: Images as uint8, or floats, with a row for each environment.
            state: The state of a recurrent network, as the last call returned it; None at the start. Set the columns of
                both tensors to 0 for environments in which an episode starts.

        Returns:
            For PPO, logits ``(rows, actions)`` and state values ``(rows,)``, followed by the new state if the network
            is recurrent. For DQN and PQN, action values ``(rows, actions, atoms)``: one atom, or a distribution. Values
            are in the scale in which the agent learned them, with PopArt normalised. If an action is several choices,
            outputs of their options are side by side, except for games whose actions were factored, where they are
            combined: logits into log-probabilities, and values into means. If the agent was trained with
            ``rescale_observations``, floats must be rescaled from the bounds of their space to -1 to 1 first.
        """
        x = observations / (self._largest_byte if observations.dtype == torch.uint8 else 1.0)
        if self.obs_rms is not None:
            x = self.obs_rms(x, self.task)
        x = self.network[: self._num_features](x)
        if self.game_embedding is not None:
            x = torch.cat([x, self.game_embedding.weight[self.task].expand(len(x), -1)], 1)
        x = self.network[self._num_features :](x)
        if self.lstm is not None:
            rows, state = self.lstm(x[None], state)
            return *self._policy_and_values(rows[0]), state
        if self._is_ppo:
            return self._policy_and_values(x)
        columns = len(self._actions.columns)
        if hasattr(self, "value_head"):
            advantages = self._select(self.advantage_head(x), columns)
            return self._actions.values(self._actions.centred(advantages) + self._select(self.value_head(x), 1))
        return self._actions.values(self._select(x, columns))

    def act(self, observations: Any, state: Any = None, *, greedy: bool = True) -> tuple[np.ndarray, Any]:
        """Chooses actions.

        Args:
            observations: Observations of ``make_vec``, as an array or a tensor.
            state: The state of a recurrent network, as for ``forward``.
            greedy: True for the most probable actions. False draws those of PPO from its policy, as ``ale-train eval``
                does without ``--greedy``.

        Returns:
            The indices of the actions, int64 of shape ``(rows,)``, or ``(rows, choices)`` if an action is several
            choices; and the new state, None unless the network is recurrent.
        """
        device = next(self.parameters()).device
        with torch.no_grad():
            outputs = self(torch.as_tensor(observations, device=device), state)
        scores = outputs[0] if self._is_ppo else self._means(outputs)
        parts = [scores] if self._actions.factors is not None else scores.split(self._actions.choices, 1)
        if self._is_ppo and not greedy:
            chosen = [torch.distributions.Categorical(logits=part).sample() for part in parts]
        else:
            chosen = [part.argmax(1) for part in parts]
        actions = chosen[0] if len(chosen) == 1 else torch.stack(chosen, 1)
        return actions.cpu().numpy(), outputs[2] if self.lstm is not None else None

    def make_vec(self, num_envs: int = 1, **options: Any) -> AtariVectorEnv | TaskVectorEnv:
        """Creates environments of the agent's game with the settings of its training, for evaluation.

        Rewards are not clipped, and episodes do not end with a life, as in ``ale-train eval``.

        Args:
            num_envs: Number of environments.
            options: Options of ``ale_train.make_vec`` that replace those of the agent.

        Raises:
            ValueError: The agent was trained on observations that the environments do not return.
        """
        from ale_train.by_id import make_vec
        from ale_train.names import is_task

        name = self.tasks[self.task]
        if not is_task(name):
            return make_vec(name, num_envs, **{**self.environment_options(), **options})
        envs = make_vec(name, num_envs, **options)
        shape = tuple(json.loads(self.metadata["observation_shape"]))
        if envs.single_observation_space.shape != shape or self.metadata["rescale_observations"] == "true":
            raise ValueError(f"the agent was trained on observations of {name} that were encoded or rescaled")
        return envs

    def environment_options(self) -> dict[str, Any]:
        """Returns the options of ``AtariVectorEnv`` with which the agent plays its game."""
        return atari_options(self.tasks[self.task], self._experiment)

    @functools.cached_property
    def _experiment(self) -> dict[str, Any]:
        # The parser of Python 3.11 was a package before.
        tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
        experiment: dict[str, Any] = tomllib.loads(self.metadata["experiment"])
        return experiment

    def _policy_and_values(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = self._select(self.actor(x), len(self._actions.columns)).squeeze(2)
        return self._actions.policy(logits), self.critic(x)[:, self.task]

    def _select(self, outputs: torch.Tensor, width: int) -> torch.Tensor:
        """Returns the outputs of this game, ``(rows, width, atoms)``."""
        if self._is_shared and width == 1 and not self._is_ppo:
            return outputs.unflatten(1, (1, self._num_atoms))
        if self._is_shared and width > 1:
            return outputs.unflatten(1, (-1, self._num_atoms))[:, self._actions.columns]
        by_task = outputs.unflatten(1, (len(self.tasks), -1, self._num_atoms))[:, self.task]
        return by_task[:, : min(width, len(self._actions.columns))]

    def _means(self, outputs: torch.Tensor) -> torch.Tensor:
        """Returns the expected values of distributions."""
        settings = self._experiment.get("dqn", {}) if self._num_atoms > 1 else {}
        if settings.get("distribution") != "c51":
            return outputs.mean(2)
        if self._actions.factors is not None:
            raise ValueError("act cannot choose from the distributions of factored actions")
        support = torch.linspace(settings["v_min"], settings["v_max"], self._num_atoms, device=outputs.device)
        return outputs.softmax(2) @ support


@dataclasses.dataclass(frozen=True)
class _Actions:
    """The actions of a game, and the outputs of a network that belong to them.

    Attributes:
        columns: The indices of the outputs in a head that all games share.
        choices: The number of options of each choice.
        factors: The options of each action, if actions were factored.
    """

    columns: list[int]
    choices: list[int]
    factors: list[list[int]] | None

    @classmethod
    def of(cls, task: dict[str, Any]) -> _Actions:
        return cls(task["shared"], task.get("choices", [len(task["shared"])]), task.get("factors"))

    def _first(self, choice: int) -> int:
        """Returns the column of the first option of a choice."""
        return sum(self.choices[:choice])

    def _legal(self, choice: int, beginning: Sequence[int] | None) -> list[int]:
        """Returns the options of a choice that some action has, if ``beginning`` is given after these options."""
        if self.factors is None:
            return list(range(self.choices[choice]))
        continued = (action for action in self.factors if beginning is None or action[:choice] == beginning)
        return sorted({action[choice] for action in continued})

    def centred(self, advantages: torch.Tensor) -> torch.Tensor:
        """Subtracts the mean over the legal options of each choice."""
        parts = enumerate(advantages.split(self.choices, 1))
        return torch.cat([part - part[:, self._legal(choice, None)].mean(1, keepdim=True) for choice, part in parts], 1)

    def policy(self, logits: torch.Tensor) -> torch.Tensor:
        """Returns the logits of actions."""
        if self.factors is None:
            return logits
        return torch.stack([self._log_probability(logits, action) for action in self.factors], 1)

    def _log_probability(self, logits: torch.Tensor, action: list[int]) -> torch.Tensor:
        total = torch.zeros_like(logits[:, 0])
        for choice, option in enumerate(action):
            first = self._first(choice)
            columns = [first + legal for legal in self._legal(choice, action[:choice])]
            total = total + logits[:, first + option] - logits[:, columns].logsumexp(1)
        return total

    def values(self, of_options: torch.Tensor) -> torch.Tensor:
        """Returns the values of actions: the means of those of their options."""
        if self.factors is None:
            return of_options
        return torch.stack([of_options[:, self._columns(action)].mean(1) for action in self.factors], 1)

    def _columns(self, action: list[int]) -> list[int]:
        """Returns the columns of the options that an action consists of."""
        return [self._first(choice) + option for choice, option in enumerate(action)]


class _Statistics(nn.Module):  # type: ignore[misc]
    """The statistics of the observations of each game, by which they are normalised."""

    mean: torch.Tensor
    var: torch.Tensor

    def __init__(self, weights: dict[str, torch.Tensor]) -> None:
        super().__init__()
        for name in ("mean", "var", "count"):
            if f"obs_rms.{name}" in weights:
                self.register_buffer(name, torch.empty(weights[f"obs_rms.{name}"].shape))

    def forward(self, observations: torch.Tensor, task: int) -> torch.Tensor:
        scaled = (observations - self.mean[task]) / (self.var[task] + 1e-8).sqrt()
        return scaled.clamp(-10, 10)


class _ResidualBlock(nn.Module):  # type: ignore[misc]
    def __init__(self, channels: int, norms: list[nn.Module]) -> None:
        super().__init__()
        self.conv0, self.conv1 = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.norm0, self.norm1 = norms

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.conv0(torch.relu(self.norm0(x)))
        return x + self.conv1(torch.relu(self.norm1(inner)))


class _ConvSequence(nn.Module):  # type: ignore[misc]
    def __init__(self, inputs: int, channels: int, norms: list[nn.Module]) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, channels, 3, padding=1)
        self.res_block0, self.res_block1 = (_ResidualBlock(channels, norms[first : first + 2]) for first in (0, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.max_pool2d(self.conv(x), 3, stride=2, padding=1)
        return self.res_block1(self.res_block0(x))


class _NoisyLinear(nn.Module):  # type: ignore[misc]
    """A noisy layer in evaluation mode: without noise."""

    weight_mu: torch.Tensor
    bias_mu: torch.Tensor

    def __init__(self, weights: dict[str, torch.Tensor], name: str) -> None:
        super().__init__()
        for part in ("weight_mu", "weight_sigma", "bias_mu", "bias_sigma"):
            setattr(self, part, nn.Parameter(torch.empty(weights[f"{name}.{part}"].shape)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x, self.weight_mu, self.bias_mu)


def _index(tasks: list[str], task: int | str) -> int:
    if isinstance(task, str) and task in tasks:
        return tasks.index(task)
    if isinstance(task, int) and 0 <= task < len(tasks):
        return task
    known = ", ".join(tasks)
    raise ValueError(f"task is {task!r}, but must be the name or the index of a game of the agent: {known}")


def _linear(weights: dict[str, torch.Tensor], name: str) -> nn.Module:
    if f"{name}.weight_mu" in weights:
        return _NoisyLinear(weights, name)
    outputs, inputs = weights[f"{name}.weight"].shape
    return nn.Linear(inputs, outputs)


def _norm(weights: dict[str, torch.Tensor], name: str) -> list[nn.Module]:
    """Returns the layer normalisation of this name, if there is one."""
    return [nn.LayerNorm(list(weights[f"{name}.weight"].shape))] if f"{name}.weight" in weights else []


def _hidden(
    weights: dict[str, torch.Tensor], name: str, index: int, activation: type[nn.Module] = nn.ReLU
) -> list[nn.Module]:
    """Returns a hidden layer whose modules begin at this index."""
    return [_linear(weights, f"{name}.{index}"), *_norm(weights, f"{name}.{index + 1}"), activation()]


def _torso(weights: dict[str, torch.Tensor], torso: str, shape: list[int], is_ppo: bool) -> list[nn.Module]:
    """Returns the layers up to the features of an observation of this shape."""
    if len(shape) != 3:
        return _hidden(weights, "network", 0, nn.Tanh if is_ppo else nn.ReLU)
    if torso == "impala":
        return _impala(weights)
    is_strided = torso == "small" and min(shape[1:]) >= _STRIDED_SIDE
    return _convolutions(weights, _STRIDED if is_strided else _KERNELS[torso])


def _convolutions(weights: dict[str, torch.Tensor], kernels: Sequence[tuple[int, int]]) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for kernel, stride in kernels:
        outputs, inputs = weights[f"network.{len(layers)}.weight"].shape[:2]
        layers += [nn.Conv2d(inputs, outputs, kernel, stride), *_norm(weights, f"network.{len(layers) + 1}"), nn.ReLU()]
    return [*layers, nn.Flatten()]


def _impala(weights: dict[str, torch.Tensor]) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for index in range(3):
        blocks = [f"network.{index}.res_block{block}.norm{norm}" for block in (0, 1) for norm in (0, 1)]
        norms = [(_norm(weights, name) or [nn.Identity()])[0] for name in blocks]
        outputs, inputs = weights[f"network.{index}.conv.weight"].shape[:2]
        layers.append(_ConvSequence(inputs, outputs, norms))
    last = _norm(weights, "network.3")
    return [*layers, *last, nn.ReLU(), nn.Flatten()] if last else [*layers, nn.Flatten(), nn.ReLU()]
