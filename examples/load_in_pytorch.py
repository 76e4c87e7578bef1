"""Loads an agent of `ale-train export` into PyTorch and plays an episode of each of its games with the best actions.

Needs the wheel of the same release (from a checkout, ./envs/python), torch and safetensors, and tomli on Python 3.10:

pip install ale_train-*.whl torch safetensors
python examples/load_in_pytorch.py agent.safetensors [GAME ...]
"""

import sys

from ale_train.pytorch import load


def play(agent):
    env = agent.make_vec(1)
    observations, _ = env.reset(seed=1)
    score, over, state = 0, False, None
    while not over:
        actions, state = agent.act(observations, state)
        observations, rewards, terminated, truncated, _ = env.step(actions)
        score += rewards[0]
        over = terminated[0] or truncated[0]
    return score


if __name__ == "__main__":
    path, *games = sys.argv[1:]
    for game in games or load(path).tasks:
        print(f"{game}: {play(load(path, game))}")
