"""Collects batches with TorchRL: pip install './envs/python[frameworks]'."""

from __future__ import annotations

import sys

from torchrl.collectors import Collector

from ale_train.torchrl import AtariTorchEnv


def main(game: str = "harvest", frames: int = 3200) -> None:
    """Collects frames of random actions and prints the reward of each batch."""
    env = AtariTorchEnv(game, 8, max_num_frames_per_episode=2000)
    env.set_seed(1)
    collector = Collector(env, None, frames_per_batch=800, total_frames=frames)
    for batch in collector:
        next_batch = batch["next"]
        print(tuple(batch.shape), "reward", next_batch["reward"].sum().item(), "ends", next_batch["done"].sum().item())
    collector.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
