"""Networks as functions of named weights, in double precision.

Names and axes are those of the PyTorch modules that ale-train exports: `network`, `lstm`, `actor` and `critic`; `network`,
`advantage_head` and `value_head`; or `actor`, `qf1` and `qf2`.
"""

import math

import torch
from torch.nn import functional as F


class Case:
    """The environments of a recording: observations, and the actions of each task among those that all tasks share."""

    def __init__(self, observation, actions, task_ids, same_step=False):
        self.observation = observation
        self.is_image = len(observation) == 3
        # Images that are too small for the convolutions of pictures are grids of symbols.
        self.is_small = self.is_image and min(observation[1:]) < 36
        self.actions = actions
        self.task_ids = task_ids
        self.same_step = same_step
        self.num_envs = len(task_ids)
        self.max_actions = max(map(len, actions))
        self.shared_actions = 1 + max(max(own) for own in actions)

    def description(self):
        return {
            "observation": self.observation,
            "actions": self.actions,
            "task_ids": self.task_ids,
            "same_step": self.same_step,
        }

    def step_names(self):
        """Returns the names of the tensors that describe the steps of the environments."""
        names = ["observations", "rewards", "terminated", "truncated", "autoreset"]
        return [*names, "final_observations"] if self.same_step else names

    def random_observations(self, generator, *shape):
        """Returns observations as they are stored."""
        shape = (*shape, *self.observation)
        if self.is_image:
            largest = 10 if self.is_small else 255
            return torch.randint(0, largest + 1, shape, generator=generator, dtype=torch.uint8)
        return torch.randn(shape, generator=generator)

    def inputs(self, observations):
        """Returns the inputs of a network."""
        return observations.double() / 255 if self.is_image and not self.is_small else observations.double()

    def convolutions(self):
        """Returns outputs, kernel and stride of the convolutions."""
        return SMALL_CONVOLUTIONS if self.is_small else CONVOLUTIONS

    def select(self, outputs, task_ids, shared):
        """Returns for each row the outputs [max_actions, ...] of the actions of its task, and which of them are legal.

        `outputs` are [rows, tasks * max_actions, ...], or [rows, shared actions, ...] if the tasks share a head.
        """
        index = torch.zeros(len(task_ids), self.max_actions, dtype=torch.long)
        legal = torch.zeros(len(task_ids), self.max_actions, dtype=torch.bool)
        for row, task in enumerate(task_ids):
            own = self.actions[task]
            legal[row, : len(own)] = True
            for action, number in enumerate(own):
                index[row, action] = number if shared else task * self.max_actions + action
        picked = torch.stack([outputs[row, index[row]] for row in range(len(task_ids))])
        return picked, legal


def random_linear(weights, name, inputs, outputs, generator):
    weights[f"{name}.weight"] = torch.randn(outputs, inputs, generator=generator) / math.sqrt(inputs)
    weights[f"{name}.bias"] = torch.randn(outputs, generator=generator) / 10


def random_norm(weights, name, shape, generator):
    weights[f"{name}.weight"] = 1 + torch.randn(shape, generator=generator) / 10
    weights[f"{name}.bias"] = torch.randn(shape, generator=generator) / 10


def random_noisy(weights, name, inputs, outputs, generator):
    for suffix, scale in [("mu", 1.0), ("sigma", 0.5)]:
        weights[f"{name}.weight_{suffix}"] = scale * torch.randn(outputs, inputs, generator=generator) / math.sqrt(inputs)
        weights[f"{name}.bias_{suffix}"] = scale * torch.randn(outputs, generator=generator) / 10


# Outputs, kernel and stride of the convolutions of Mnih et al. 2015, with an eighth of the channels.
CONVOLUTIONS = [(4, 8, 4), (8, 4, 2), (8, 3, 1)]

# The same for the convolutions of the documentation of MiniGrid, `MinigridFeaturesExtractor`.
SMALL_CONVOLUTIONS = [(2, 2, 1), (4, 2, 1), (8, 2, 1)]


def random_body(case, weights, width, layer_norm, generator):
    """Adds the layers in front of the last hidden one. Returns the number of their outputs and the next index."""
    step = 3 if layer_norm else 2
    if not case.is_image:
        random_linear(weights, "network.0", case.observation[0], width, generator)
        if layer_norm:
            random_norm(weights, "network.1", [width], generator)
        return width, step
    channels, side = case.observation[0], case.observation[1]
    assert case.observation[2] == side
    for index, (outputs, kernel, stride) in enumerate(case.convolutions()):
        name = f"network.{index * step}"
        shape = (outputs, channels, kernel, kernel)
        weights[f"{name}.weight"] = torch.randn(shape, generator=generator) / math.sqrt(channels * kernel**2)
        weights[f"{name}.bias"] = torch.randn(outputs, generator=generator) / 10
        channels, side = outputs, (side - kernel) // stride + 1
        if layer_norm:
            random_norm(weights, f"network.{index * step + 1}", [channels, side, side], generator)
    return channels * side**2, 3 * step + 1


def linear(weights, name, inputs):
    return F.linear(inputs, weights[f"{name}.weight"], weights[f"{name}.bias"])


def norm(weights, name, inputs):
    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    return F.layer_norm(inputs, weight.shape, weight, bias)


def body(case, weights, inputs, layer_norm, activation):
    """Returns the features in front of the last hidden layer."""
    step = 3 if layer_norm else 2
    if not case.is_image:
        hidden = linear(weights, "network.0", inputs)
        return activation(norm(weights, "network.1", hidden) if layer_norm else hidden)
    maps = inputs
    for index, (_, _, stride) in enumerate(case.convolutions()):
        name = f"network.{index * step}"
        maps = F.conv2d(maps, weights[f"{name}.weight"], weights[f"{name}.bias"], stride)
        maps = torch.relu(norm(weights, f"network.{index * step + 1}", maps) if layer_norm else maps)
    return maps.flatten(1)


def lstm_cell(weights, inputs, hidden, cell):
    """Makes one step of a long short-term memory."""
    gates = F.linear(inputs, weights["lstm.weight_ih_l0"], weights["lstm.bias_ih_l0"])
    gates = gates + F.linear(hidden, weights["lstm.weight_hh_l0"], weights["lstm.bias_hh_l0"])
    write, keep, new, read = gates.chunk(4, 1)
    cell = keep.sigmoid() * cell + write.sigmoid() * new.tanh()
    return read.sigmoid() * cell.tanh(), cell


def adam(weights, learning_rate, epsilon):
    return torch.optim.Adam(list(weights.values()), lr=learning_rate, betas=(0.9, 0.999), eps=epsilon)


def learnable(weights):
    """Returns double-precision parameters with the values of `weights`."""
    return {name: value.double().requires_grad_() for name, value in weights.items()}


def moments(weights, optimizer):
    """Returns the moments of Adam. After one step the first is a tenth of the clipped gradient."""
    result = {}
    for name, parameter in weights.items():
        state = optimizer.state[parameter]
        result[f"first_moment.{name}"] = state["exp_avg"]
        result[f"second_moment.{name}"] = state["exp_avg_sq"]
    return result


def gradient_norm(weights):
    return torch.sqrt(sum((weight.grad**2).sum() for weight in weights.values()))


def clip(weights, max_norm):
    """Clips the gradient of all weights together. Returns its norm before."""
    size = gradient_norm(weights)
    if max_norm is not None and size > max_norm:
        for weight in weights.values():
            weight.grad *= max_norm / size
    return size
