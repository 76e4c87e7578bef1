"""Vector environments of games with several players."""

import numpy as np
import pytest

import ale_train
from ale_train.errors import ActionError, GameError

SMALL = {"img_height": 20, "img_width": 16, "stack_num": 2}


def test_each_player_is_a_row():
    env = ale_train.make_vec("ALE/Pong-v5", num_envs=3, num_players=4, **SMALL)
    assert isinstance(env, ale_train.AtariPlayersVectorEnv)
    assert (env.num_envs, env.batch_size, env.num_players) == (12, 12, 4)
    assert env.action_space.shape == (12,) and env.single_action_space.n == 6
    observations, info = env.reset(seed=1)
    assert observations.shape == (12, 2, 20, 16) == env.observation_space.shape
    assert info["env_id"].tolist() == [0] * 4 + [1] * 4 + [2] * 4 == info["players"]["env_id"].tolist()
    assert info["player"].tolist() == [0, 1, 2, 3] * 3
    rewards = np.zeros(12)
    for step in range(400):
        observations, reward, terminations, truncations, info = env.step(np.full(12, step // 4 % 6))
        rewards += reward
        games = observations.reshape(3, 4, -1)
        assert (games == games[:, :1]).all(), "all players see the same screen"
    rewards = rewards.reshape(3, 2, 2)
    assert rewards.any() and (rewards[:, 0] == rewards[:, 1]).all(), "players 0 and 2 are a team"
    assert not terminations.any() and not truncations.any()
    assert env.render(2).shape == (210, 160, 3) and len(env.render()) == 3
    env.close()


def test_results_are_those_of_single_games():
    together = ale_train.make_vec("joust", num_envs=2, num_players=2, num_threads=2, **SMALL)
    alone = [ale_train.make_vec("joust", num_players=2, **SMALL) for _ in range(2)]
    together.reset(seed=np.array([5, 6]))
    for env, seed in zip(alone, (5, 6)):
        env.reset(seed=seed)
    random = np.random.RandomState(1)
    for _ in range(50):
        actions = random.randint(18, size=4)
        results = together.step(actions)
        expected = [env.step(actions[2 * index :][:2]) for index, env in enumerate(alone)]
        for field in range(4):
            assert (results[field] == np.concatenate([other[field] for other in expected])).all()


def test_the_games_that_finish_first_have_all_their_players():
    env = ale_train.make_vec("pong", num_envs=4, num_players=2, batch_size=2, **SMALL)
    _, info = env.reset(seed=1)
    assert (env.num_envs, env.batch_size) == (8, 4)
    for _ in range(30):
        ids = info["env_id"].reshape(2, 2)
        assert (ids[:, 0] == ids[:, 1]).all() and info["player"].tolist() == [0, 1, 0, 1]
        env.send(np.zeros(4, np.int64), ids[:, 0])
        *_, info = env.recv()


def test_autoreset_in_the_same_step_keeps_the_final_observations():
    env = ale_train.make_vec(
        "boxing", num_players=2, max_num_frames_per_episode=40, autoreset_mode="SameStep", noop_max=1, **SMALL
    )
    env.reset(seed=1)
    for _ in range(10):
        observations, _, terminations, truncations, info = env.step(np.array([1, 2]))
    assert truncations.all() and not terminations.any()
    assert (info["final_obs"] != observations).any() and info["final_obs"].shape == observations.shape
    assert info["_episode"].all() and (info["episode"]["l"] == 10).all()


def test_bad_input_is_an_error_and_nothing_is_stepped():
    env = ale_train.make_vec("pong", num_envs=2, num_players=2, **SMALL)
    env.reset(seed=1)
    before = env.snapshot()
    with pytest.raises((ActionError, AssertionError)):
        env.step(np.zeros(3, np.int64))
    with pytest.raises(ValueError, match="environment 1"):
        env.step(np.array([0, 0, 6, 0]))
    with pytest.raises(ValueError):
        env.send(np.zeros(2, np.int64), [2])
    with pytest.raises(ActionError):
        env.send(np.zeros(1, np.int64), [0])
    assert env.snapshot() == before
    for options, message in [
        ({"num_players": 3}, r"pong cannot be played by 3 players; the numbers of its players are \[1, 2, 4\]"),
        ({"num_players": 2, "mode": 0}, "pong has no mode 0"),
        ({"num_players": 2, "episodic_life": True}, "episodic_life is true, but must be false with several players"),
        ({"num_players": 2, "continuous": True}, "continuous is True, but is available for one player only"),
    ]:
        with pytest.raises(ValueError, match=message):
            ale_train.make_vec("pong", **options)
    with pytest.raises(ValueError, match="CartPole-v1 is not an Atari game"):
        ale_train.make_vec("CartPole-v1", num_players=2)
    with pytest.raises(GameError):
        ale_train.make_vec("pongg", num_players=2)
    with pytest.raises(ValueError, match="breakout cannot be played by 2 players"):
        ale_train.AtariPlayersVectorEnv("breakout", 1)


def test_snapshots_restore_all_players():
    env = ale_train.make_vec("Combat-v5", num_envs=2, num_players=2, **SMALL)
    env.reset(seed=1)
    state = env.snapshot()
    first = [env.step(np.full(4, action)) for action in range(5)]
    observations, info = env.restore(state)
    assert info["player"].tolist() == [0, 1, 0, 1]
    again = [env.step(np.full(4, action)) for action in range(5)]
    assert all((a[0] == b[0]).all() and (a[1] == b[1]).all() for a, b in zip(first, again))


def test_the_interface_of_envpool_has_a_row_for_each_player():
    env = ale_train.make("Pong-v5", num_envs=3, num_players=2, seed=1)
    assert (env.num_envs, len(env), env.config["batch_size"]) == (3, 3, 3)
    observations, info = env.reset()
    assert observations.shape == (6, 4, 84, 84)
    assert info["env_id"].tolist() == [0, 1, 2]
    assert info["players"]["env_id"].tolist() == [0, 0, 1, 1, 2, 2]
    assert info["players"]["player"].tolist() == [0, 1] * 3
    observations, rewards, terminated, truncated, info = env.step(np.zeros(6, np.int64), info["env_id"])
    assert rewards.shape == terminated.shape == (6,) and rewards.dtype == np.float32
    env.send(np.zeros(4, np.int64), [2, 0])
    observations, *_, info = env.recv()
    assert info["env_id"].tolist() == [2, 0] and info["players"]["env_id"].tolist() == [2, 2, 0, 0]
    assert observations.shape == (4, 4, 84, 84)
    with pytest.raises(ValueError, match="num_players is 2, but must be 1 with env_type='dm'"):
        ale_train.make("Pong-v5", env_type="dm", num_players=2)


def test_the_interface_of_envpool_receives_games_first_come():
    env = ale_train.make("Pong-v5", num_envs=4, batch_size=2, num_players=2, img_height=20, img_width=16)
    env.async_reset()
    for _ in range(20):
        observations, *_, info = env.recv()
        assert observations.shape == (4, 4, 20, 16) and len(info["env_id"]) == 2
        env.send(np.zeros(4, np.int64), info["env_id"])
    assert env.config["batch_size"] == 2 and env.is_async
