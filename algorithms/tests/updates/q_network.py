"""Networks of action values, plain or with the parts of Rainbow."""

import math

import torch
from torch.nn import functional as F

from networks import body, learnable, linear, norm, random_body, random_linear, random_noisy, random_norm


class QNetwork:
    """Outputs of the actions of all tasks, one or more for each action."""

    def __init__(self, case, width, generator, atoms=1, dueling=False, noisy=False, layer_norm=False, shared=False):
        self.case, self.atoms, self.dueling, self.noisy = case, atoms, dueling, noisy
        self.layer_norm, self.shared, self.width = layer_norm, shared, width
        self.step = 3 if layer_norm else 2
        weights = {}
        self.features, self.next = random_body(case, weights, width, layer_norm, generator)
        actions = case.shared_actions if shared else case.max_actions
        tasks = 1 if shared else len(case.actions)
        layers = random_noisy if noisy else random_linear
        self.columns = {}
        for prefix, index, columns in self.heads(actions):
            layers(weights, f"{prefix}.{index}", self.features, width, generator)
            if layer_norm:
                random_norm(weights, f"{prefix}.{index + 1}", [width], generator)
            layers(weights, f"{prefix}.{index + self.step}", width, tasks * columns * atoms, generator)
            self.columns[prefix] = columns * atoms
        self.weights = learnable(weights)

    def heads(self, actions):
        if self.dueling:
            return [("advantage_head", 0, actions), ("value_head", 0, 1)]
        return [("network", self.next, actions)]

    def draw_noise(self, generator):
        """Draws pairs of uniform numbers, as integers of 53 bits, and returns them with the noise that they stand for:
        for both layers of each head one number for each input and each output. The heads of all tasks share it."""
        pairs, noise = [], {}
        for prefix, columns in self.columns.items():
            for place, sizes in [("hidden", (self.features, self.width)), ("output", (self.width, columns))]:
                parts = []
                for size in sizes:
                    drawn = torch.randint(0, 1 << 53, (size, 2), generator=generator)
                    uniform = drawn.double() / (1 << 53)
                    normal = torch.sqrt(-2 * torch.log(1 - uniform[:, 0])) * torch.cos(2 * math.pi * uniform[:, 1])
                    parts.append(normal.sign() * normal.abs().sqrt())
                    pairs.append(drawn.flatten())
                noise[prefix, place] = parts
        return torch.cat(pairs), noise

    def layer(self, name, inputs, noise):
        if not self.noisy:
            return linear(self.weights, name, inputs)
        weight, bias = self.weights[f"{name}.weight_mu"], self.weights[f"{name}.bias_mu"]
        if noise is not None:
            of_inputs, of_outputs = noise
            of_outputs = of_outputs.repeat(len(bias) // len(of_outputs))
            weight = weight + self.weights[f"{name}.weight_sigma"] * torch.outer(of_outputs, of_inputs)
            bias = bias + self.weights[f"{name}.bias_sigma"] * of_outputs
        return F.linear(inputs, weight, bias)

    def head(self, prefix, index, features, noise):
        of = noise or {}
        hidden = self.layer(f"{prefix}.{index}", features, of.get((prefix, "hidden")))
        if self.layer_norm:
            hidden = norm(self.weights, f"{prefix}.{index + 1}", hidden)
        output = self.layer(f"{prefix}.{index + self.step}", torch.relu(hidden), of.get((prefix, "output")))
        return output.unflatten(1, (-1, self.atoms))

    def outputs(self, observations, task_ids, noise=None):
        """Returns [rows, max_actions, atoms], and which actions are legal."""
        inputs = self.case.inputs(observations)
        features = body(self.case, self.weights, inputs, self.layer_norm, torch.relu)
        prefix = "advantage_head" if self.dueling else "network"
        index = 0 if self.dueling else self.next
        picked, legal = self.case.select(self.head(prefix, index, features, noise), task_ids, self.shared)
        if self.dueling:
            values = self.head("value_head", 0, features, noise)
            own = [0 if self.shared else task for task in task_ids]
            values = values[torch.arange(len(own)), own].unsqueeze(1)
            counts = legal.sum(1).double().reshape(-1, 1, 1)
            means = (picked * legal.unsqueeze(2)).sum(1, keepdim=True) / counts
            picked = values + picked - means
        return picked, legal
