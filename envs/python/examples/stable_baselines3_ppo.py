"""Trains PPO of Stable-Baselines3: pip install './envs/python[frameworks]'."""

from __future__ import annotations

import argparse

from stable_baselines3 import PPO

from ale_train.stable_baselines3 import AtariVecEnv


def main(game: str, timesteps: int) -> None:
    """Trains on a game for some steps of eight environments."""
    env = AtariVecEnv(game, 8, life_loss_info=True, repeat_action_probability=0.25)
    env.seed(1)
    model = PPO("CnnPolicy", env, n_steps=128, batch_size=256, n_epochs=4, seed=1, verbose=1)
    model.learn(timesteps)
    env.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", nargs="?", default="harvest")
    parser.add_argument("timesteps", nargs="?", type=int, default=100_000)
    arguments = parser.parse_args()
    main(arguments.game, arguments.timesteps)
