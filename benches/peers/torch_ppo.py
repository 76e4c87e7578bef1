"""PPO on Atari in PyTorch in the usual style: one process, one network, ale-py's vector environment.

The network and the hyperparameters are the defaults of ale-train (Huang et al., 2022)."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical
from torch_mode import Mode

STEPS, EPOCHS, MINIBATCHES = 128, 4, 4
GAMMA, GAE_LAMBDA, CLIP, ENTROPY, VALUE, MAX_GRAD_NORM = 0.99, 0.95, 0.1, 0.01, 0.5, 0.5


def layer(module, gain=2**0.5):
    nn.init.orthogonal_(module.weight, gain)
    nn.init.zeros_(module.bias)
    return module


class Network(nn.Module):
    def __init__(self, actions):
        super().__init__()
        self.torso = nn.Sequential(
            layer(nn.Conv2d(4, 32, 8, stride=4)),
            nn.ReLU(),
            layer(nn.Conv2d(32, 64, 4, stride=2)),
            nn.ReLU(),
            layer(nn.Conv2d(64, 64, 3)),
            nn.ReLU(),
            nn.Flatten(),
            layer(nn.Linear(64 * 7 * 7, 512)),
            nn.ReLU(),
        )
        self.policy = layer(nn.Linear(512, actions), 0.01)
        self.value = layer(nn.Linear(512, 1), 1.0)

    def forward(self, observations):
        features = self.torso(observations.float() / 255.0)
        return self.policy(features), self.value(features).squeeze(1)


class Ppo:
    """Collects rollouts from `num_envs` environments and learns from them."""

    def __init__(self, num_envs, actions, mode: Mode):
        torch.manual_seed(1)
        self.mode, self.network = mode, mode.place(Network(actions))
        self.evaluate, self.loss = mode.compile(self.network), mode.compile(self.losses)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=2.5e-4, eps=1e-5)
        shape = (STEPS, num_envs)
        self.observations = torch.zeros((*shape, 4, 84, 84), dtype=torch.uint8)
        self.actions = torch.zeros(shape, dtype=torch.long)
        self.log_probabilities, self.rewards, self.ended, self.values = (torch.zeros(shape) for _ in range(4))
        self.num_envs = num_envs

    @torch.no_grad()
    def act(self, step, observations):
        observations = torch.from_numpy(observations)
        logits, value = self.evaluate(self.mode.images(observations))
        policy = Categorical(logits=logits, validate_args=False)
        action = policy.sample()
        self.observations[step], self.actions[step], self.values[step] = observations, action, value
        self.log_probabilities[step] = policy.log_prob(action)
        return action.numpy()

    def observe(self, step, rewards, ended):
        self.rewards[step] = torch.from_numpy(np.clip(rewards, -1, 1).astype(np.float32))
        self.ended[step] = torch.from_numpy(ended.astype(np.float32))

    @torch.no_grad()
    def advantages(self, last_observations):
        _, following = self.evaluate(self.mode.images(torch.from_numpy(last_observations)))
        advantages, last = torch.zeros_like(self.rewards), torch.zeros(self.num_envs)
        for step in reversed(range(STEPS)):
            not_ended = 1.0 - self.ended[step]
            delta = self.rewards[step] + GAMMA * following * not_ended - self.values[step]
            last = advantages[step] = delta + GAMMA * GAE_LAMBDA * not_ended * last
            following = self.values[step]
        return advantages

    def update(self, last_observations):
        """Makes an update. Returns the number of samples, counting a sample once per epoch."""
        advantages = self.advantages(last_observations)
        rows = [self.observations, self.actions, self.log_probabilities, self.values, advantages]
        rows = [tensor.flatten(0, 1) for tensor in [*rows, advantages + self.values]]
        size = STEPS * self.num_envs
        for _ in range(EPOCHS):
            for indices in torch.randperm(size).chunk(MINIBATCHES):
                self.step(*(tensor[indices] for tensor in rows))
        return EPOCHS * size

    def losses(self, observations, actions, old_log_probabilities, old_values, advantages, returns):
        logits, values = self.network(observations)
        policy = Categorical(logits=logits, validate_args=False)
        ratio = (policy.log_prob(actions) - old_log_probabilities).exp()
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy_loss = torch.max(-advantages * ratio, -advantages * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
        clipped = old_values + (values - old_values).clamp(-CLIP, CLIP)
        value_loss = 0.5 * torch.max((values - returns) ** 2, (clipped - returns) ** 2).mean()
        return policy_loss - ENTROPY * policy.entropy().mean() + VALUE * value_loss

    def step(self, observations, *columns):
        loss = self.loss(self.mode.images(observations), *columns)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), MAX_GRAD_NORM)
        self.optimizer.step()
