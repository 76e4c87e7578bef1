"""PettingZoo's games: its own tests, and equality with its environments."""

import importlib
import json
import pickle
import zlib

import gymnasium
import numpy as np
import pytest

pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test  # noqa: E402

import ale_train.pettingzoo  # noqa: E402
from ale_train.pettingzoo import combat_tank_v2, joust_v3, pong_v3, warlords_v3  # noqa: E402
from record_pettingzoo import PATH, play  # noqa: E402

GAMES = list(ale_train.pettingzoo.games())
RUNS = [json.loads(line) for line in PATH.read_text().splitlines()]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run[0]}-{run[1]}")
def test_games_equal_those_of_pettingzoo(run):
    name, options, seed, steps, *expected = run
    env = importlib.import_module(f"ale_train.pettingzoo.{name}").parallel_env(**options)
    assert env.metadata["name"] == name
    assert list(play(env, seed, steps)) == expected


def test_the_recording_has_every_game():
    assert {run[0] for run in RUNS} == set(GAMES)


@pytest.mark.parametrize("name", GAMES)
def test_games_pass_the_tests_of_pettingzoo(name):
    module = getattr(ale_train.pettingzoo, name)
    api_test(module.env(obs_type="ram", max_cycles=50), num_cycles=120)
    parallel_api_test(module.parallel_env(obs_type="ram", max_cycles=50), num_cycles=120)


def test_seeds_pass_the_tests_of_pettingzoo():
    seed_test(lambda: combat_tank_v2.env(obs_type="ram"), num_cycles=50)
    parallel_seed_test(lambda: combat_tank_v2.parallel_env(obs_type="ram"), num_cycles=50)


def test_players_in_turn_get_the_results_of_players_at_the_same_time():
    together, in_turn = joust_v3.parallel_env(), joust_v3.env()
    assert isinstance(in_turn.unwrapped, ale_train.pettingzoo.ParallelAtariEnv)
    together.reset(seed=1)
    in_turn.reset(seed=1)
    random = np.random.RandomState(1)
    for _ in range(100):
        actions = {agent: int(random.randint(18)) for agent in together.agents}
        observations, rewards, *_ = together.step(actions)
        for action in actions.values():
            in_turn.step(action)
        for agent in together.agents:
            assert (in_turn.observe(agent) == observations[agent]).all()
            assert in_turn.rewards[agent] == rewards[agent]


def test_the_wrappers_of_supersuit_work():
    supersuit = pytest.importorskip("supersuit")
    env = pong_v3.parallel_env()
    env = supersuit.max_observation_v0(env, 2)
    env = supersuit.frame_skip_v0(env, 4)
    env = supersuit.clip_reward_v0(env, lower_bound=-1, upper_bound=1)
    env = supersuit.color_reduction_v0(env, mode="B")
    env = supersuit.resize_v1(env, x_size=84, y_size=84)
    env = supersuit.frame_stack_v1(env, 4)
    env = supersuit.agent_indicator_v0(env, type_only=False)
    env = supersuit.pettingzoo_env_to_vec_env_v1(env)
    envs = supersuit.concat_vec_envs_v1(env, 2, num_cpus=0, base_class="gymnasium")
    observations, _ = envs.reset(seed=1)
    assert observations.shape == (4, 84, 84, 6)
    for _ in range(30):
        observations, rewards, terminations, truncations, _ = envs.step(np.array([1, 2, 3, 1]))
    assert observations[..., :4].any() and rewards.shape == (4,)


def test_a_player_who_has_left_has_no_more_results():
    env = joust_v3.parallel_env(obs_type="ram")
    env.reset(seed=3)
    random = np.random.RandomState(1)
    while len(env.agents) == 2:
        _, _, terminations, _, _ = env.step({agent: int(random.randint(18)) for agent in env.agents})
    assert sorted(terminations.values()) == [False, True]
    observations, rewards, *others = env.step({agent: 0 for agent in env.agents})
    assert all(list(result) == env.agents for result in (observations, rewards, *others))


def test_bad_actions_are_errors_and_nothing_is_stepped():
    env = pong_v3.parallel_env(obs_type="ram")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step({})
    env.reset(seed=1)
    before = env.clone_state()
    for actions, message in [
        ({"first_0": 0}, "the action of second_0 is missing, but all players act together"),
        ({"first_0": 0, "second_0": 6}, "the action of second_0 is 6, but must be in Discrete(6)"),
        ({"first_0": 0, "third_0": 0}, "there is no player 'third_0'; the players are first_0, second_0"),
    ]:
        with pytest.raises(ale_train.errors.ActionError) as error:
            env.step(actions)
        assert str(error.value) == message
    assert env.clone_state() == before


def test_bad_arguments_are_errors(tmp_path):
    for module, options, message in [
        (pong_v3, {"num_players": 3}, "num_players is 3, but must be 2 or 4"),
        (pong_v3, {"game_version": "golf"}, "game_version is 'golf', but must be one of classic, two_paddles"),
        (warlords_v3, {"obs_type": "rgb"}, "obs_type is 'rgb', but must be one of rgb_image, grayscale_image, ram"),
        (warlords_v3, {"seed": -1}, "seed is -1, but must be between 0 and 4294967295"),
        (warlords_v3, {"render_mode": "ansi"}, "render_mode is 'ansi', but must be one of human, rgb_array"),
    ]:
        with pytest.raises(ValueError) as error:
            module.parallel_env(**options)
        assert str(error.value).startswith(message)
    with pytest.raises(TypeError):
        warlords_v3.env(num_players=4)
    with pytest.raises(FileNotFoundError, match="the ROM of warlords is missing"):
        warlords_v3.env(auto_rom_install_path=str(tmp_path))


def test_roms_are_read_from_a_directory(tmp_path):
    rom = ale_train.roms.get_rom_path("pong")
    (tmp_path / "ROM" / "pong").mkdir(parents=True)
    (tmp_path / "ROM" / "pong" / "pong.bin").write_bytes(rom.read_bytes())
    env, other = pong_v3.parallel_env(auto_rom_install_path=str(tmp_path)), pong_v3.parallel_env()
    assert (env.reset(seed=1)[0]["first_0"] == other.reset(seed=1)[0]["first_0"]).all()


def test_states_and_copies():
    env = pong_v3.parallel_env(obs_type="ram", render_mode="rgb_array")
    env.reset(seed=1)
    copy = pickle.loads(pickle.dumps(env))
    assert (copy.reset(seed=1)[0]["first_0"] == env.reset(seed=1)[0]["first_0"]).all()
    state = env.clone_state()
    first = env.step({"first_0": 1, "second_0": 2})[0]["first_0"]
    env.step({"first_0": 2, "second_0": 1})
    env.restore_state(state)
    assert (env.step({"first_0": 1, "second_0": 2})[0]["first_0"] == first).all()
    assert env.render().shape == (210, 160, 3)
    with pytest.raises(ValueError):
        warlords_v3.parallel_env().restore_state(state)


def test_states_equal_those_of_the_vector_environment():
    """Both use the same emulator, without sticky actions."""
    env = pong_v3.parallel_env(obs_type="ram")
    env.reset(seed=5)
    envs = ale_train.make_vec(
        "pong", 1, num_players=2, mode=4, ram=True, stack_num=1, frameskip=1, noop_max=0, use_fire_reset=False
    )
    envs.reset(seed=5)
    random = np.random.RandomState(1)
    for _ in range(200):
        actions = random.randint(6, size=2)
        observations, *_ = env.step(dict(zip(env.agents, actions.tolist())))
        rows, *_ = envs.step(actions)
        assert zlib.crc32(rows[0, 0]) == zlib.crc32(observations["first_0"])
