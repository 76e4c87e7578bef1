"""Trains PPO of Stable-Baselines3: pip install './envs/python[frameworks]'."""

from __future__ import annotations

import sys

from stable_baselines3 import PPO

from ale_train.stable_baselines3 import AtariVecEnv


def main(game: str = "harvest", timesteps: int = 100_000) -> None:
    """Trains on a game for some steps of eight environments."""
    env = AtariVecEnv(game, 8, life_loss_info=True, repeat_action_probability=0.25)
    env.seed(1)
    model = PPO("CnnPolicy", env, n_steps=128, batch_size=256, n_epochs=4, seed=1, verbose=1)
    model.learn(timesteps)
    env.close()


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
