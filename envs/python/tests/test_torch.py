"""A PyTorch training loop that uses the arrays without copying them."""

from __future__ import annotations

import numpy as np
import pytest

from ale_train.vector_env import AtariVectorEnv

pytestmark = pytest.mark.frameworks


def test_policy_gradient_loop() -> None:
    import torch

    torch.manual_seed(0)
    env = AtariVectorEnv(games=["harvest", "pong"], num_envs=2, img_height=42, img_width=42)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(4, 8, 8, stride=4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(6)
    )
    observations, info = env.reset(seed=1)
    network(torch.zeros(1, 4, 42, 42))
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    before = [parameter.clone() for parameter in network.parameters()]
    for _ in range(5):
        log_probabilities, rewards = [], []
        for _ in range(16):
            shared = torch.from_numpy(observations)
            assert shared.data_ptr() == observations.ctypes.data, "PyTorch shares the memory of the batch"
            logits = network(shared.float() / 255)
            logits = logits.masked_fill(~torch.from_numpy(info["action_mask"]), -torch.inf)
            choice = torch.distributions.Categorical(logits=logits)
            actions = choice.sample()
            observations, reward, _, _, info = env.step(actions.numpy())
            log_probabilities.append(choice.log_prob(actions))
            rewards.append(torch.from_numpy(reward).float())
        # Autograd keeps the observations until here, and they have not changed.
        loss = -(torch.stack(log_probabilities) * (torch.stack(rewards) + 0.1)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        assert torch.isfinite(loss)
    assert any(not torch.equal(old, new) for old, new in zip(before, network.parameters()))
    assert isinstance(observations, np.ndarray)
