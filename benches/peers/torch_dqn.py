"""The gradient steps of DQN and Rainbow in PyTorch in the usual style, from a replay buffer in memory.

The networks and the hyperparameters are those of ale-train's presets (Mnih et al. 2015, Hessel et al. 2018, van Hasselt et al.
2019). The frames of the replay buffer are random: the time of a step does not depend on them."""

import dataclasses

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch_mode import Mode

ACTIONS, BATCH, GAMMA, MAX_GRAD_NORM = 4, 32, 0.99, 10.0
ATOMS, V_MIN, V_MAX = 51, -10.0, 10.0
ALPHA, BETA, PRIORITY_EPSILON = 0.5, 0.4, 1e-6
CAPACITY, STACK, SIDE = 20_000, 4, 84


@dataclasses.dataclass(frozen=True)
class Preset:
    """An algorithm: (channels, kernel, stride) of its convolutions, the rest as in the literature."""

    convolutions: tuple
    features: int
    hidden: int
    n_step: int
    target_frequency: int
    learning_rate: float
    adam_epsilon: float
    rainbow: bool
    sigma: float = 0.0


NATURE = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
DATA_EFFICIENT = ((32, 5, 5), (64, 5, 5))
PRESETS = {
    "atari-dqn": Preset(NATURE, 3136, 512, 1, 250, 1e-4, 1e-8, rainbow=False),
    "rainbow-dqn": Preset(NATURE, 3136, 512, 3, 2000, 6.25e-5, 1.5e-4, rainbow=True, sigma=0.5),
    "atari100k-dqn": Preset(DATA_EFFICIENT, 576, 256, 20, 2000, 1e-4, 1.5e-4, rainbow=True, sigma=0.1),
}


class Noisy(nn.Module):
    """A fully connected layer with factorised noise."""

    def __init__(self, inputs, outputs, sigma):
        super().__init__()
        bound, scale = inputs**-0.5, sigma * inputs**-0.5
        self.weight = nn.Parameter(torch.empty(outputs, inputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(outputs).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(torch.full((outputs, inputs), scale))
        self.bias_sigma = nn.Parameter(torch.full((outputs,), scale))
        self.register_buffer("noise_in", torch.zeros(inputs))
        self.register_buffer("noise_out", torch.zeros(outputs))

    def draw_noise(self):
        for noise in (self.noise_in, self.noise_out):
            normal = torch.randn(noise.shape)
            noise.copy_(normal.sign() * normal.abs().sqrt())

    def forward(self, inputs):
        weight = self.weight + self.weight_sigma * torch.outer(self.noise_out, self.noise_in)
        return F.linear(inputs, weight, self.bias + self.bias_sigma * self.noise_out)


class Network(nn.Module):
    def __init__(self, preset):
        super().__init__()
        layers, channels = [], STACK
        for outputs, kernel, stride in preset.convolutions:
            layers += [nn.Conv2d(channels, outputs, kernel, stride), nn.ReLU()]
            channels = outputs
        self.torso = nn.Sequential(*layers, nn.Flatten())
        self.rainbow = preset.rainbow

        def linear(inputs, outputs):
            return Noisy(inputs, outputs, preset.sigma) if preset.rainbow else nn.Linear(inputs, outputs)

        def head(outputs):
            hidden = linear(preset.features, preset.hidden)
            return nn.Sequential(hidden, nn.ReLU(), linear(preset.hidden, outputs))

        self.advantage = head(ACTIONS * ATOMS if preset.rainbow else ACTIONS)
        self.value = head(ATOMS) if preset.rainbow else None

    def draw_noise(self):
        for module in self.modules():
            if isinstance(module, Noisy):
                module.draw_noise()

    def forward(self, observations):
        """Returns the values of the actions, or the logits of the distributions of their returns."""
        features = self.torso(observations.float() / 255.0)
        if not self.rainbow:
            return self.advantage(features)
        advantage = self.advantage(features).view(-1, ACTIONS, ATOMS)
        return self.value(features).unsqueeze(1) + advantage - advantage.mean(1, keepdim=True)


class Replay:
    """The steps of one environment, each frame once, with priorities in a sum tree."""

    def __init__(self, n_step):
        random = np.random.default_rng(1)
        self.random, self.n_step = random, n_step
        self.frames = random.integers(0, 256, (CAPACITY, SIDE, SIDE), dtype=np.uint8)
        self.actions = random.integers(0, ACTIONS, CAPACITY)
        self.rewards = random.integers(-1, 2, CAPACITY).astype(np.float32)
        self.ended = random.random(CAPACITY) < 0.001
        self.leaves = 1 << (CAPACITY - 1).bit_length()
        self.tree = np.zeros(2 * self.leaves)
        self.set_priorities(np.arange(STACK, CAPACITY - n_step), 1.0)

    def set_priorities(self, steps, priorities):
        places = steps + self.leaves
        self.tree[places] = priorities
        while places[0] > 1:
            places = np.unique(places // 2)
            self.tree[places] = self.tree[2 * places] + self.tree[2 * places + 1]

    def draw(self, prioritized):
        if not prioritized:
            steps = self.random.integers(STACK, CAPACITY - self.n_step, BATCH)
            return steps, np.ones(BATCH, np.float32)
        position = (np.arange(BATCH) + self.random.random(BATCH)) / BATCH * self.tree[1]
        places = np.ones(BATCH, np.int64)
        while places[0] < self.leaves:
            places *= 2
            left = self.tree[places]
            is_right = position >= left
            position -= np.where(is_right, left, 0.0)
            places += is_right
        weights = (self.tree[places] / self.tree[1] * CAPACITY) ** -BETA
        return places - self.leaves, (weights / weights.max()).astype(np.float32)

    def observations(self, steps):
        return torch.from_numpy(self.frames[steps[:, None] + np.arange(1 - STACK, 1)])

    def batch(self, steps):
        """Returns observations, actions, rewards, discounts and successors of n-step returns."""
        following = steps[:, None] + np.arange(self.n_step)
        running = np.cumprod(~self.ended[following], 1)
        before = np.concatenate([np.ones((BATCH, 1)), running[:, :-1]], 1)
        rewards = (self.rewards[following] * before * GAMMA ** np.arange(self.n_step)).sum(1)
        discounts = running[:, -1] * GAMMA**self.n_step
        columns = self.actions[steps], rewards.astype(np.float32), discounts.astype(np.float32)
        successors = self.observations(steps + self.n_step)
        return self.observations(steps), *map(torch.from_numpy, columns), successors


class Dqn:
    def __init__(self, preset, mode: Mode):
        torch.manual_seed(1)
        self.preset, self.mode = preset, mode
        self.online, self.target = (mode.place(Network(preset)) for _ in range(2))
        self.target.load_state_dict(self.online.state_dict())
        self.optimizer = torch.optim.Adam(self.online.parameters(), preset.learning_rate, eps=preset.adam_epsilon)
        self.replay = Replay(preset.n_step)
        self.support = torch.linspace(V_MIN, V_MAX, ATOMS)
        self.steps = 0
        self.losses = mode.compile(self.rainbow_losses if preset.rainbow else self.dqn_losses)
        self.targets = mode.compile(self.rainbow_targets if preset.rainbow else self.dqn_targets)

    def dqn_targets(self, rewards, discounts, successors):
        return rewards + discounts * self.target(successors).amax(1)

    def dqn_losses(self, observations, actions, targets):
        return (self.online(observations)[torch.arange(BATCH), actions] - targets).square()

    def rainbow_targets(self, rewards, discounts, successors):
        rows = torch.arange(BATCH)
        chosen = (self.online(successors).softmax(2) * self.support).sum(2).argmax(1)
        probabilities = self.target(successors)[rows, chosen].softmax(1)
        returns = (rewards[:, None] + discounts[:, None] * self.support).clamp(V_MIN, V_MAX)
        places = (returns - V_MIN) / (V_MAX - V_MIN) * (ATOMS - 1)
        lower = places.floor().clamp(0, ATOMS - 2)
        upper_part = places - lower
        projected = torch.zeros(BATCH, ATOMS)
        projected = projected.scatter_add(1, lower.long(), probabilities * (1 - upper_part))
        return projected.scatter_add(1, lower.long() + 1, probabilities * upper_part)

    def rainbow_losses(self, observations, actions, targets):
        logits = self.online(observations)[torch.arange(BATCH), actions]
        return -(targets * logits.log_softmax(1)).sum(1)

    def step(self):
        """Takes a gradient step. Returns the number of samples."""
        rainbow = self.preset.rainbow
        steps, weights = self.replay.draw(rainbow)
        observations, actions, rewards, discounts, successors = self.replay.batch(steps)
        observations, successors = map(self.mode.images, (observations, successors))
        with torch.no_grad():
            self.online.draw_noise()
            self.target.draw_noise()
            targets = self.targets(rewards, discounts, successors)
        self.online.draw_noise()
        losses = self.losses(observations, actions, targets)
        self.optimizer.zero_grad()
        (losses * torch.from_numpy(weights)).mean().backward()
        if rainbow:
            nn.utils.clip_grad_norm_(self.online.parameters(), MAX_GRAD_NORM)
        self.optimizer.step()
        if rainbow:
            self.replay.set_priorities(np.sort(steps), self.priorities(losses, steps))
        self.steps += 1
        if self.steps % self.preset.target_frequency == 0:
            self.target.load_state_dict(self.online.state_dict())
        return BATCH

    @staticmethod
    def priorities(losses, steps):
        errors = losses.detach().numpy()[np.argsort(steps, kind="stable")]
        return (np.abs(errors) + PRIORITY_EPSILON) ** ALPHA
