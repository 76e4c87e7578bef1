"""PPO for vectors of observations in eager PyTorch, with the algorithm and the network of CleanRL's ppo.py."""

import numpy as np
import torch
from torch import nn

GAMMA, GAE_LAMBDA, CLIP, ENTROPY, VALUE, MAX_NORM, RATE = 0.99, 0.95, 0.2, 0.01, 0.5, 0.5, 2.5e-4


def layer(inputs, outputs, gain=2**0.5):
    module = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(module.weight, gain)
    nn.init.zeros_(module.bias)
    return module


def network(inputs, outputs, gain):
    return nn.Sequential(layer(inputs, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, outputs, gain))


class Ppo:
    """An agent with a rollout."""

    def __init__(self, envs, steps, epochs, minibatch):
        self.envs, self.steps, self.epochs, self.minibatch = envs, steps, epochs, minibatch
        length, num_envs = envs.single_observation_space.shape[0], envs.num_envs
        self.actor = network(length, int(envs.single_action_space.n), 0.01)
        self.critic = network(length, 1, 1.0)
        self.parameters = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, RATE, eps=1e-5)
        self.observations = torch.zeros(steps, num_envs, length)
        self.actions = torch.zeros(steps, num_envs, dtype=torch.int64)
        self.log_probs, self.rewards, self.dones, self.values = (torch.zeros(steps, num_envs) for _ in range(4))
        self.observation = torch.as_tensor(envs.reset(seed=1)[0])
        self.done = torch.zeros(num_envs)

    def rollout(self):
        for step in range(self.steps):
            self.observations[step], self.dones[step] = self.observation, self.done
            with torch.no_grad():
                policy = torch.distributions.Categorical(logits=self.actor(self.observation))
                action = policy.sample()
                self.values[step] = self.critic(self.observation).squeeze(1)
            self.actions[step], self.log_probs[step] = action, policy.log_prob(action)
            observation, reward, terminated, truncated, _ = self.envs.step(action.numpy())
            self.rewards[step] = torch.as_tensor(reward)
            self.observation = torch.as_tensor(observation)
            self.done = torch.as_tensor(np.logical_or(terminated, truncated), dtype=torch.float32)

    def advantages(self):
        with torch.no_grad():
            following = self.critic(self.observation).squeeze(1)
        advantages, last, done = torch.zeros_like(self.rewards), 0.0, self.done
        for step in reversed(range(self.steps)):
            delta = self.rewards[step] + GAMMA * following * (1 - done) - self.values[step]
            last = delta + GAMMA * GAE_LAMBDA * (1 - done) * last
            advantages[step], following, done = last, self.values[step], self.dones[step]
        return advantages

    def update(self):
        advantages = self.advantages()
        targets = (advantages + self.values).flatten()
        advantages, log_probs, actions = advantages.flatten(), self.log_probs.flatten(), self.actions.flatten()
        observations, values = self.observations.flatten(0, 1), self.values.flatten()
        for _ in range(self.epochs):
            for rows in torch.randperm(len(targets)).split(self.minibatch):
                policy = torch.distributions.Categorical(logits=self.actor(observations[rows]))
                ratio = (policy.log_prob(actions[rows]) - log_probs[rows]).exp()
                chosen = advantages[rows]
                chosen = (chosen - chosen.mean()) / (chosen.std() + 1e-8)
                policy_loss = torch.max(-chosen * ratio, -chosen * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                value, old = self.critic(observations[rows]).squeeze(1), values[rows]
                clipped = old + (value - old).clamp(-CLIP, CLIP)
                value_loss = 0.5 * torch.max((value - targets[rows]) ** 2, (clipped - targets[rows]) ** 2).mean()
                loss = policy_loss - ENTROPY * policy.entropy().mean() + VALUE * value_loss
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.parameters, MAX_NORM)
                self.optimizer.step()
