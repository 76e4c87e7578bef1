#!/usr/bin/env python3
"""Prints the mean return of the shortest plans in MiniGrid-MultiRoom-N2-S4-v0, which no agent can exceed.

    benches/results/multiroom.py [EPISODES]

A plan turns, moves forward and opens doors. Needs pip install minigrid.
"""

import statistics
import sys
from collections import deque

import gymnasium
import minigrid  # noqa: F401 (registers the environment)

#: What the four directions of the agent add to its position.
DIRECTIONS = [(1, 0), (0, 1), (-1, 0), (0, -1)]


def shortest_plan(env):
    """Returns the number of steps of the shortest plan, by breadth-first search."""
    start = (tuple(env.agent_pos), env.agent_dir, frozenset())
    queue, seen = deque([(start, 0)]), {start}
    while queue:
        (position, direction, opened), steps = queue.popleft()
        ahead = tuple(place + change for place, change in zip(position, DIRECTIONS[direction], strict=True))
        cell = env.grid.get(*ahead)
        if cell is not None and cell.type == "goal":
            return steps + 1
        following = [(position, (direction + turn) % 4, opened) for turn in (1, -1)]
        if cell is not None and cell.type == "door" and ahead not in opened:
            following.append((position, direction, opened | {ahead}))
        elif cell is None or cell.type == "door":
            following.append((ahead, direction, opened))
        for state in following:
            if state not in seen:
                seen.add(state)
                queue.append((state, steps + 1))
    raise ValueError("the goal cannot be reached")


def main():
    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    env = gymnasium.make("MiniGrid-MultiRoom-N2-S4-v0").unwrapped
    returns = []
    for seed in range(episodes):
        env.reset(seed=seed)
        returns.append(1 - 0.9 * shortest_plan(env) / env.max_steps)
    error = statistics.stdev(returns) / len(returns) ** 0.5
    print(f"{statistics.fmean(returns):.3f}, standard error {error:.3f}, {episodes} mazes")


if __name__ == "__main__":
    main()
