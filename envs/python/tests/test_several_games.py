"""``games=``: environments of one game are adjacent and behave as they do alone."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Discrete, MultiDiscrete

import ale_train
from ale_train import Action
from ale_train.agent_envs import make_agent_envs
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


def modes(env: AtariVectorEnv) -> list[int]:
    return env.reset(seed=1)[1]["mode"].tolist()


def test_modes_and_difficulties_can_be_chosen_by_game() -> None:
    games = ["pong", "breakout", "freeway"]
    env = AtariVectorEnv(games=games, num_envs=2, mode={"pong": 1, "breakout": [12]}, difficulty={"breakout": 1})
    assert modes(env) == [1, 1, 12, 12, 0, 0]
    assert env.reset(seed=1)[1]["difficulty"].tolist() == [0, 0, 1, 1, 0, 0]
    assert modes(AtariVectorEnv("breakout", 2, mode={"breakout": 12}, extra_info=True)) == [12, 12]
    with pytest.raises(
        ValueError, match="mode has a value for 'freway', but its keys must be among the games pong, br"
    ):
        AtariVectorEnv(games=games, num_envs=2, mode={"freway": 1})
    with pytest.raises(ValueError, match="pong has no mode 12; its modes are"):
        AtariVectorEnv(games=games, num_envs=2, mode={"pong": 12})


def test_environments_of_an_agent_have_the_mode_of_its_task() -> None:
    experiment = {"environments": {"img_height": 44, "img_width": 44}}
    for task, expected in [("breakout", (0, 0)), ("breakout@12", (12, 0)), ("breakout@12.1", (12, 1))]:
        env = make_agent_envs(task, experiment, 2, {"extra_info": True})
        info = env.reset(seed=1)[1]
        assert [(mode, difficulty) for mode, difficulty in zip(info["mode"], info["difficulty"])] == [expected] * 2
        assert env.single_observation_space.shape == (4, 44, 44)
    with pytest.raises(ValueError, match="pong@2p is a game of several players"):
        make_agent_envs("pong@2p", experiment, 2, {})


def test_a_flat_list_for_the_environments_is_a_clear_error() -> None:
    by_env = r"\[\[0\], \[0\], \[12\], \[12\]\] has one value for each environment"
    with pytest.raises(ValueError, match=f"pong has no mode 12; every .* {by_env}$"):
        AtariVectorEnv(games=["pong", "breakout"], num_envs=2, mode=[0, 0, 12, 12])
    with pytest.raises(ValueError, match="a dictionary such as {'pong': 0, 'breakout': 12} one for each game"):
        AtariVectorEnv(games=["pong", "breakout"], num_envs=1, mode=[0, 12])
    # A list that every game allows is drawn from, whatever its length.
    assert set(modes(AtariVectorEnv("breakout", 4, mode=[0, 4, 8, 12], extra_info=True))) <= {0, 4, 8, 12}


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_each_game_plays_as_it_does_alone(mode: str) -> None:
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


def test_info_contains_the_raw_reward() -> None:
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


def test_restored_snapshots_continue_exactly() -> None:
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


def test_modes_and_difficulties() -> None:
    env = AtariVectorEnv("breakout", 3, mode=[[0], [4], [8, 12]], difficulty=1, extra_info=True)
    _, info = env.reset(seed=1)
    seen = set()
    for _ in range(20):
        _, info = env.reset()
        assert info["mode"][:2].tolist() == [0, 4]
        assert info["difficulty"].tolist() == [1, 1, 1]
        seen.add(int(info["mode"][2]))
    assert seen == {8, 12}
    assert AtariVectorEnv("breakout", 2, mode=4, extra_info=True).reset()[1]["mode"].tolist() == [4, 4]
    drawn = AtariVectorEnv("breakout", 20, mode=[0, 4], extra_info=True).reset(seed=3)[1]["mode"]
    assert set(drawn.tolist()) == {0, 4}


def test_masks_say_which_actions_exist() -> None:
    env = AtariVectorEnv(games=["pong", "breakout"], num_envs=1)
    mask = env.reset()[1]["action_mask"]
    assert mask.dtype == np.bool_
    assert mask.tolist() == [[True] * 6, [True] * 4 + [False] * 2]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_statistics_of_episodes(mode: str) -> None:
    env = AtariVectorEnv("harvest", 3, autoreset_mode=mode, extra_info=True, max_num_frames_per_episode=120)
    env.reset(seed=1)
    random = np.random.default_rng(1)
    returns, lengths, ends = np.zeros(3), np.zeros(3, int), 0
    for _ in range(100):
        _, _, terminated, truncated, info = env.step(random.integers(env.action_space.nvec))
        returns += info["raw_reward"]
        lengths += info["steps"]
        ended = terminated | truncated
        assert ("episode" in info) == ended.any()
        if ended.any():
            ends += ended.sum()
            assert np.array_equal(info["_episode"], ended)
            assert np.array_equal(info["episode"]["r"][ended], returns[ended])
            assert np.array_equal(info["episode"]["l"][ended], lengths[ended])
            assert (info["episode"]["t"][ended] > 0).all()
            assert (info["final_info"]["episode_frame_number"][ended] >= 4 * lengths[ended]).all()
            returns[ended], lengths[ended] = 0, 0
    assert ends >= 6


def test_ram_and_pictures() -> None:
    env = AtariVectorEnv("pong", 2, ram=True, stack_num=1)
    observations, _ = env.reset(seed=1)
    assert observations.shape == (2, 1, 128)
    assert np.array_equal(observations[:, 0], env.ram())
    assert env.render_mode == "rgb_array"
    frames = env.render()
    assert [frame.shape for frame in frames] == [(210, 160, 3)] * 2
    assert np.array_equal(env.render(1), frames[1])
    colours = AtariVectorEnv("pong", 2, img_height=210, img_width=160, grayscale=False, stack_num=1, maxpool=False)
    assert np.array_equal(np.array(frames), colours.reset(seed=1)[0][:, 0])


def test_a_sequence_of_actions_is_one_step() -> None:
    one, many = AtariVectorEnv("harvest", 2), AtariVectorEnv("harvest", 2, extra_info=True)
    one.reset(seed=1)
    many.reset(seed=1)
    many.send(np.array([1, 1, 1, 2, 2]), lengths=[3, 2])
    observations, _, _, _, info = many.recv()
    assert info["steps"].tolist() == [3, 2]
    for actions in ([1, 2], [1, 2]):
        second = one.step(np.array(actions))[0]
    first = one.step(np.array([1, 0]))[0]
    assert np.array_equal(observations[0], first[0])
    assert np.array_equal(observations[1], second[1])


def test_an_episode_is_forked() -> None:
    env = AtariVectorEnv("harvest", 3)
    env.reset(seed=1)
    for _ in range(10):
        env.step(np.array([0, 1, 2]))
    present, _ = env.restore(env.snapshot([1]), [2])
    assert np.array_equal(present[1], present[2])
    for _ in range(10):
        observations = env.step(np.array([0, 2, 2]))[0]
        assert np.array_equal(observations[1], observations[2])


def test_stacks_filled_with_the_first_frame() -> None:
    observations = AtariVectorEnv("harvest", 1, fill_stack=True).reset(seed=1)[0]
    assert observations[0, -1].any()
    assert all(np.array_equal(frame, observations[0, -1]) for frame in observations[0])
