"""``games=``: each game's environments stand together and behave as they would alone."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Discrete, MultiDiscrete

import ale_train
from ale_train import Action
from ale_train.vector_env import AtariVectorEnv


def test_spaces_when_games_differ() -> None:
    env = AtariVectorEnv(games=["pong", "breakout"], num_envs=2)
    assert (env.num_envs, env.batch_size) == (4, 4)
    assert env.num_actions == [6, 6, 4, 4]
    assert env.action_space == MultiDiscrete([6, 6, 4, 4])
    assert env.single_action_space is None
    assert env.action_sets[3] == [Action.NOOP, Action.FIRE, Action.RIGHT, Action.LEFT]
    assert env.observation_space.shape == (4, 4, 84, 84)


def test_spaces_when_games_agree() -> None:
    env = AtariVectorEnv(games=["pong", "breakout"], num_envs=2, full_action_space=True)
    assert env.num_actions == [18] * 4
    assert env.single_action_space == Discrete(18)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_each_game_plays_as_alone(mode: str) -> None:
    games = ["air_raid", "pong", "harvest"]
    options = {"autoreset_mode": mode, "max_num_frames_per_episode": 90}
    together = AtariVectorEnv(games=games, num_envs=2, **options)
    alone = [AtariVectorEnv(game, 2, extra_info=True, **options) for game in games]
    observations, info = together.reset(seed=3)
    assert info["game_id"].tolist() == [0, 0, 1, 1, 2, 2]
    separate = [env.reset(seed=3 + 2 * index)[0] for index, env in enumerate(alone)]
    assert np.array_equal(observations, np.concatenate(separate))
    random = np.random.default_rng(3)
    for _ in range(60):
        actions = random.integers(together.action_space.nvec)
        batch = together.step(actions)
        rows = [env.step(part) for env, part in zip(alone, np.split(actions, 3))]
        for index in range(4):
            assert np.array_equal(batch[index], np.concatenate([row[index] for row in rows]))
        for key in ("lives", "frame_number", "episode_frame_number", "raw_reward"):
            assert np.array_equal(batch[4][key], np.concatenate([row[4][key] for row in rows]))


def test_the_raw_reward_stands_beside_the_clipped_one() -> None:
    env = AtariVectorEnv("harvest", 4, extra_info=True)
    raw = AtariVectorEnv("harvest", 4, reward_clipping=False)
    env.reset(seed=1)
    raw.reset(seed=1)
    random = np.random.default_rng(1)
    for _ in range(300):
        actions = random.integers(env.action_space.nvec)
        _, clipped, _, _, info = env.step(actions)
        rewards = raw.step(actions)[1]
        assert info["raw_reward"].dtype == np.int32
        assert np.array_equal(info["raw_reward"], rewards)
        assert np.array_equal(clipped, rewards.clip(-1, 1))


def test_snapshots_go_on_as_if_nothing_had_happened() -> None:
    env = AtariVectorEnv(games=["pong", "harvest"], num_envs=1)
    env.reset(seed=1)
    actions = np.random.default_rng(2).integers(env.action_space.nvec, size=(40, 2))
    for action in actions[:20]:
        present = env.step(action)[0]
    state = env.snapshot()
    first = [env.step(action) for action in actions[20:]]
    other = AtariVectorEnv(games=["pong", "harvest"], num_envs=1)
    observations, _ = other.restore(state)
    assert np.array_equal(observations, present)
    for action, expected in zip(actions[20:], first):
        assert np.array_equal(other.step(action)[0], expected[0])


def test_all_games_are_listed() -> None:
    games = ale_train.games()
    assert len(games) == len(set(games)) == 105
    assert {"pong", "tic_tac_toe_3d", "harvest"} <= set(games)
