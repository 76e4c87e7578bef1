"""Collects batches with TorchRL: pip install './envs/python[frameworks]'."""

from __future__ import annotations

import argparse

from torchrl.collectors import Collector

from ale_train.torchrl import AtariTorchEnv


def main(game: str, frames: int) -> None:
    """Collects frames of random actions and prints the reward of each batch."""
    env = AtariTorchEnv(game, 8, max_num_frames_per_episode=2000)
    env.set_seed(1)
    collector = Collector(env, None, frames_per_batch=800, total_frames=frames)
    for batch in collector:
        next_batch = batch["next"]
        print(tuple(batch.shape), "reward", next_batch["reward"].sum().item(), "ends", next_batch["done"].sum().item())
    collector.shutdown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", nargs="?", default="harvest")
    parser.add_argument("frames", nargs="?", type=int, default=3200)
    arguments = parser.parse_args()
    main(arguments.game, arguments.frames)
