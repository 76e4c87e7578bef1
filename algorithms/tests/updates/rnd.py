"""Intrinsic rewards by Random Network Distillation, from the text of Burda et al. 2018.

Names of weights are those of the crate, in the order of PyTorch's axes.
"""

import math

import torch
from torch.nn import functional as F

from networks import learnable, linear, random_linear

PREDICTOR, TARGET, VALUE = "exploration.predictor", "exploration.target", "exploration.value"


class Rnd:
    """A predictor, a target, a value head, and the statistics of frames and of discounted sums of intrinsic rewards."""

    def __init__(self, case, config, features, generator):
        self.case, self.config = case, config
        weights, width = {}, config["features"]
        random_linear(weights, VALUE, features, len(case.actions), generator)
        for network in [PREDICTOR, TARGET]:
            inputs = self.random_convolutions(weights, network, generator)
            for layer in range(self.num_layers(network)):
                random_linear(weights, f"{network}.layers.{layer}.linear", inputs, width, generator)
                inputs = width
            random_linear(weights, f"{network}.output", inputs, width, generator)
        weights = learnable(weights)
        self.target = {name: weight.detach() for name, weight in weights.items() if name.startswith(TARGET)}
        self.weights = {name: weight for name, weight in weights.items() if name not in self.target}
        shape, tasks = self.frames(case.random_observations(generator, 1))[0].shape, len(case.actions)
        self.batches = [torch.zeros(0, *shape, dtype=torch.float64)] * tasks
        self.discounted = [[] for _ in range(tasks)]
        self.sums = [0.0] * case.num_envs

    def num_layers(self, network):
        """Returns the number of fully connected layers before the output. Vectors have one instead of convolutions."""
        return (2 if network == PREDICTOR else 0) + (0 if self.case.is_image else 1)

    def random_convolutions(self, weights, network, generator):
        """Adds the convolutions for images. Returns the number of inputs of the next layer."""
        if not self.case.is_image:
            return self.case.observation[0]
        channels, side = 1, self.case.observation[1]
        for index, (outputs, kernel, stride) in enumerate(self.case.convolutions()):
            name, shape = f"{network}.convolutions.conv{index + 1}", (outputs, channels, kernel, kernel)
            weights[f"{name}.weight"] = torch.randn(shape, generator=generator) / math.sqrt(channels * kernel**2)
            weights[f"{name}.bias"] = torch.randn(outputs, generator=generator) / 10
            channels, side = outputs, (side - kernel) // stride + 1
        return channels * side**2

    def frames(self, observations):
        """Returns the newest frames of observations."""
        inputs = self.case.inputs(observations)
        return inputs[..., -1:, :, :] if self.case.is_image else inputs

    def normalized(self, frames, tasks):
        """Normalises frames by all frames of their task so far."""
        rows = []
        for frame, task in zip(frames, tasks, strict=True):
            known = self.batches[task]
            mean, variance = (known.mean(0), known.var(0, unbiased=False)) if len(known) else (0.0, torch.ones(()))
            rows.append(((frame - mean) / torch.sqrt(variance + 1e-8)).clamp(-5, 5))
        return torch.stack(rows)

    def features(self, network, frames):
        weights = self.target if network == TARGET else self.weights
        if self.case.is_image:
            for index, (_, _, stride) in enumerate(self.case.convolutions()):
                name = f"{network}.convolutions.conv{index + 1}"
                frames = torch.relu(F.conv2d(frames, weights[f"{name}.weight"], weights[f"{name}.bias"], stride))
            # The channels of a pixel are next to each other.
            frames = frames.permute(0, 2, 3, 1).flatten(1)
        for layer in range(self.num_layers(network)):
            frames = torch.relu(linear(weights, f"{network}.layers.{layer}.linear", frames))
        return linear(weights, f"{network}.output", frames)

    def errors(self, frames):
        return ((self.features(PREDICTOR, frames) - self.features(TARGET, frames)) ** 2).mean(1)

    def values(self, network, observations):
        """Returns the intrinsic values of observations [steps, environments, ...]."""
        tasks = torch.tensor(self.case.task_ids)
        of_step = [linear(self.weights, VALUE, network.features(own)) for own in observations]
        return torch.stack([values.gather(1, tasks.unsqueeze(1))[:, 0] for values in of_step])

    def observe(self, network, rollout, gae_lambda):
        """Computes the advantages and returns of a rollout, [steps, environments], and updates all statistics. Returns
        them with the normalised frames of its transitions and the metrics."""
        case, gamma, kept = self.case, self.config["int_gamma"], ~rollout.autoreset
        after = rollout.final_observations if case.same_step else rollout.observations[1:]
        frames, tasks = self.frames(after), torch.tensor(case.task_ids).expand(len(after), -1)
        with torch.no_grad():
            errors = torch.zeros(tasks.shape, dtype=torch.float64)
            errors[kept] = self.errors(self.normalized(frames[kept], tasks[kept]))
            values = self.values(network, rollout.observations)
        for env, task in enumerate(case.task_ids):
            for error in errors[:, env][kept[:, env]]:
                self.sums[env] = gamma * self.sums[env] + error
                self.discounted[task].append(self.sums[env])
        for task in range(len(case.actions)):
            own = torch.stack(self.discounted[task])
            errors[tasks == task] /= torch.sqrt(own.var(unbiased=False) + 1e-8)
            self.batches[task] = torch.cat([self.batches[task], frames[kept & (tasks == task)]])
        advantages = torch.zeros_like(errors)
        for env in range(case.num_envs):
            steps = [step for step in range(len(after)) if kept[step, env]]
            next_values = [values[step, env] for step in [*steps[1:], len(after)]]
            for first in range(len(steps)):
                for later in range(first, len(steps)):
                    step = steps[later]
                    delta = errors[step, env] + gamma * next_values[later] - values[step, env]
                    advantages[steps[first], env] += (gamma * gae_lambda) ** (later - first) * delta
        returns = advantages + values[:-1]
        metrics = {
            "intrinsic_reward": errors[kept].mean(),
            "intrinsic_explained_variance": 1 - advantages[kept].var() / returns[kept].var(),
        }
        return advantages, returns, self.normalized(frames[kept], tasks[kept]), metrics

    def statistics(self):
        """Returns the statistics of frames, with the channels of an image last."""
        mean = torch.stack([self.ordered(frames).mean(0) for frames in self.batches])
        var = torch.stack([self.ordered(frames).var(0, unbiased=False) for frames in self.batches])
        count = torch.tensor([[float(len(frames))] for frames in self.batches])
        return {"obs_rms.mean": mean, "obs_rms.var": var, "obs_rms.count": count}

    def ordered(self, frames):
        return frames.permute(0, 2, 3, 1).flatten(1) if self.case.is_image else frames


def in_crate(weight):
    """Returns a weight with the axes of the crate: outputs last, and the channels of an image after its pixels."""
    if weight.dim() == 4:
        return weight.permute(2, 3, 1, 0)
    return weight.T if weight.dim() == 2 else weight
