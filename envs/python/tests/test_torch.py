"""PyTorch: a training loop that uses the arrays without copying them, and exported agents."""

from __future__ import annotations

from pathlib import Path

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


ZOO = Path(__file__).parents[3] / "checkpoints" / "zoo"


@pytest.fixture
def agents():
    pytest.importorskip("safetensors")
    return pytest.importorskip("ale_train.pytorch", exc_type=ImportError)


def test_an_agent_plays_with_the_settings_of_its_training(agents) -> None:
    agent = agents.load(ZOO / "pong.safetensors")
    env = agent.make_vec(1)
    observations, _ = env.reset(seed=1)
    assert observations.shape == (1, 4, 44, 44)
    state, score, length, over = None, 0, 0, False
    while not over:
        actions, state = agent.act(observations, state)
        observations, rewards, terminated, truncated, _ = env.step(actions)
        score, length, over = score + rewards[0], length + 1, terminated[0] or truncated[0]
    # As in `ale-train eval zoo:pong --greedy --episodes 2 --seed 1`.
    assert (score, length) == (21, 2064)


def test_an_agent_is_a_module_with_the_names_of_the_file(agents, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    path = ZOO / "harvest.safetensors"
    agent = agents.load(path)
    weights = load_file(path)
    assert {name: tuple(value.shape) for name, value in agent.state_dict().items()} == {
        name: tuple(value.shape) for name, value in weights.items()
    }
    images = torch.randint(256, (5, 4, 44, 44), dtype=torch.uint8)
    optimizer = torch.optim.SGD(agent.parameters(), lr=0.1)
    agent(images)[0].square().sum().backward()
    optimizer.step()
    save_file(agent.state_dict(), tmp_path / "tuned.safetensors", agent.metadata)
    tuned = agents.load(tmp_path / "tuned.safetensors")
    assert torch.equal(tuned(images)[0], agent(images)[0])
    assert not torch.equal(tuned(images)[0], agents.load(path)(images)[0])
    save_file(agent.state_dict(), tmp_path / "bare.safetensors")
    with pytest.raises(ValueError, match="keep the metadata of the export"):
        agents.load(tmp_path / "bare.safetensors")


def test_the_game_of_an_agent_is_chosen_by_name_or_index(agents) -> None:
    path = ZOO / "atari57.safetensors"
    agent = agents.load(path, task="breakout")
    assert agents.load(path, task=agent.task).tasks[agent.task] == "breakout"
    assert agent.make_vec(2).num_actions == [4, 4]
    actions, state = agent.act(np.zeros((2, 4, 44, 44), np.uint8), greedy=False)
    assert actions.shape == (2,) and (actions < 4).all() and state is None
    for unknown in ("brekout", 57, -1):
        with pytest.raises(ValueError, match="must be the name or the index of a game of the agent"):
            agents.load(path, task=unknown)
