"""Classic control, toy text and MuJoCo equal Gymnasium's SyncVectorEnv in every bit."""

import copy
import os
import pickle
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordEpisodeStatistics

import ale_train
from ale_train import TaskVectorEnv
from ale_train.task_env import TaskEnv
from same import assert_same

pytest.importorskip("mujoco")
pytest.importorskip("imageio")

MUJOCO = [id for id in ale_train.tasks() if "mujoco" in str(gymnasium.spec(id).entry_point)]
OTHERS = [id for id in ale_train.tasks() if id not in MUJOCO]
MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]

#: Options of ``reset`` that change the first states.
BOUNDS = [
    ("CartPole-v1", {"low": -0.2, "high": 0.1}),
    ("CartPole-v1", {"high": 3}),
    ("MountainCar-v0", {"low": -1.3, "high": 0.7}),
    ("MountainCarContinuous-v0", {"low": -1.3, "high": 0.7}),
    ("MountainCarContinuous-v0", {"low": -0.5}),
    ("Acrobot-v1", {"low": -4.0, "high": 4.0}),
    ("Pendulum-v1", {"x_init": 8.0, "y_init": 9.0}),
    ("Pendulum-v1", {"y_init": "0.5"}),
]

#: Arguments of Gymnasium's that change the dynamics, the observations or the infos.
ARGUMENTS = [
    ("CartPole-v1", {"sutton_barto_reward": True}),
    ("CartPole-v0", {"sutton_barto_reward": False}),
    ("Pendulum-v1", {"g": 9.81}),
    ("MountainCar-v0", {"goal_velocity": 0.01}),
    ("MountainCarContinuous-v0", {"goal_velocity": 0.01}),
    ("FrozenLake-v1", {"map_name": "8x8", "is_slippery": False, "desc": None}),
    ("FrozenLake-v1", {"desc": ["SFF", "FHF", "FFG"], "success_rate": 0.5, "map_name": None}),
    ("FrozenLake-v1", {"reward_schedule": (0.7, -0.3, -0.01)}),
    ("FrozenLake8x8-v1", {"reward_schedule": [10, -5, -1], "is_slippery": False}),
    ("CliffWalking-v1", {"is_slippery": True}),
    ("Taxi-v4", {"is_rainy": True, "fickle_passenger": True}),
    ("Blackjack-v1", {"natural": True, "sab": False}),
    ("Ant-v5", {"healthy_z_range": (0.3, 0.9), "include_cfrc_ext_in_observation": False, "main_body": "torso"}),
    ("HalfCheetah-v5", {"frame_skip": 2, "exclude_current_positions_from_observation": False}),
    ("Hopper-v5", {"terminate_when_unhealthy": False, "reset_noise_scale": 0.05, "max_episode_steps": 50}),
    ("Ant-v4", {"use_contact_forces": True, "healthy_z_range": (0.3, 0.9)}),
    ("Humanoid-v5", {"include_cinert_in_observation": False, "contact_cost_range": (-1.0, 1.0)}),
]


def pair(id, num_envs, mode, **arguments):
    """Returns the environments of this package and of Gymnasium."""
    ours = TaskVectorEnv(id, num_envs, num_threads=2, autoreset_mode=mode, **arguments)
    theirs = gymnasium.make_vec(
        id, num_envs, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **arguments
    )
    return ours, theirs


def random_actions(space, generator):
    """Returns random actions, which for continuous ones also exceed the bounds."""
    if isinstance(space, gymnasium.spaces.Box):
        return (1.5 * generator.uniform(space.low, space.high)).astype(np.float32)
    return generator.integers(0, space.nvec)


def compare(ours, theirs, steps, seed=7):
    """Compares a reset with this seed and the steps after it. Returns the number of episodes that ended."""
    # In Acrobot Gymnasium computes the first observation in single precision.
    ulps = 1 if theirs.envs[0].spec.id == "Acrobot-v1" else 0
    assert_same(ours.reset(seed=seed), theirs.reset(seed=seed), ulps)
    generator = np.random.default_rng(3)
    ended = 0
    for _ in range(steps):
        actions = random_actions(theirs.action_space, generator)
        batch = ours.step(actions)
        assert_same(batch, theirs.step(actions), ulps)
        ended += (batch[2] | batch[3]).sum()
    return ended


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("id", OTHERS)
def test_thousands_of_steps_are_equal(id, mode):
    # Random walks along the cliff hardly ever end.
    limit = {"max_episode_steps": 150} if id.startswith("CliffWalking") else {}
    assert compare(*pair(id, 4, mode, **limit), 2500) >= 8


@pytest.mark.parametrize("id", MUJOCO)
def test_a_thousand_steps_of_mujoco_are_equal(id):
    assert compare(*pair(id, 2, AutoresetMode.NEXT_STEP), 1010) >= 2


@pytest.mark.parametrize("id", MUJOCO)
def test_mujoco_is_reset_in_the_same_step(id):
    assert compare(*pair(id, 2, AutoresetMode.SAME_STEP, max_episode_steps=100), 250) >= 4


@pytest.mark.parametrize(("id", "arguments"), ARGUMENTS)
def test_arguments_have_the_same_effect(id, arguments):
    compare(*pair(id, 3, AutoresetMode.SAME_STEP, **arguments), 300)


@pytest.mark.parametrize(("id", "bounds"), BOUNDS)
def test_bounds_of_first_states_have_the_same_effect(id, bounds):
    ulps = 1 if id == "Acrobot-v1" else 0
    ours, theirs = pair(id, 3, AutoresetMode.NEXT_STEP, max_episode_steps=12)
    generator = np.random.default_rng(1)
    for seed in range(20):
        mask = np.array([True, seed % 2 == 0, True])
        resets = ({**bounds, **({"reset_mask": mask.copy()} if seed else {})} for _ in range(2))
        assert_same(ours.reset(seed=seed, options=next(resets)), theirs.reset(seed=seed, options=next(resets)), ulps)
        # The next episodes have the defaults again.
        for _ in range(20):
            actions = random_actions(theirs.action_space, generator)
            assert_same(ours.step(actions), theirs.step(actions), ulps)


@pytest.mark.parametrize(("id", "bounds"), BOUNDS)
def test_single_environments_have_the_same_bounds(id, bounds):
    ours, theirs = gymnasium.make(f"ale_train/{id}"), gymnasium.make(id)
    ulps = 1 if id == "Acrobot-v1" else 0
    for options in (bounds, None, {}):
        (one, _), (other, _) = (env.reset(seed=4, options=options) for env in (ours, theirs))
        assert_same(one, other, ulps)


def test_a_failed_reset_leaves_no_bounds():
    ours, theirs = pair("CartPole-v1", 2, AutoresetMode.NEXT_STEP)
    with pytest.raises(RuntimeError, match="first reset"):
        ours.reset(options={"high": 0.5, "reset_mask": np.array([True, False])})
    assert_same(ours.reset(seed=3), theirs.reset(seed=3))


@pytest.mark.parametrize("id", ale_train.tasks())
def test_spaces_and_properties_are_equal(id):
    ours, theirs = pair(id, 3, AutoresetMode.SAME_STEP)
    for name in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(ours, name) == getattr(theirs, name), name
        assert repr(getattr(ours, name)) == repr(getattr(theirs, name)), name
    assert ours.num_envs == theirs.num_envs
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]


@pytest.mark.parametrize("id", ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1", "Ant-v5"])
def test_resets_are_equal(id):
    ours, theirs = pair(id, 4, AutoresetMode.DISABLED)
    generator = np.random.default_rng(1)
    assert_same(ours.reset(seed=[5, 1, 9, 9]), theirs.reset(seed=[5, 1, 9, 9]))
    # Without a seed the generators continue.
    assert_same(ours.reset(), theirs.reset())
    for seed in (None, 3, [None, 4, None, 2]):
        for _ in range(5):
            mask = generator.random(4) < 0.5
            mask[generator.integers(4)] = True
            assert_same(
                ours.reset(seed=seed, options={"reset_mask": mask.copy()}),
                theirs.reset(seed=seed, options={"reset_mask": mask.copy()}),
            )


@pytest.mark.parametrize("id", ["CartPole-v1", "Taxi-v4"])
def test_environments_without_autoreset_are_equal(id):
    ours, theirs = pair(id, 4, AutoresetMode.DISABLED)
    generator = np.random.default_rng(1)
    assert_same(ours.reset(seed=1), theirs.reset(seed=1))
    for _ in range(1000):
        actions = random_actions(theirs.action_space, generator)
        batch = ours.step(actions)
        assert_same(batch, theirs.step(actions))
        ended = batch[2] | batch[3]
        if ended.any():
            masks = ({"reset_mask": ended.copy()} for _ in range(2))
            assert_same(ours.reset(options=next(masks)), theirs.reset(options=next(masks)))


@pytest.mark.parametrize("id", ["CartPole-v1", "FrozenLake-v1", "HalfCheetah-v5"])
def test_make_vec_of_gymnasium_finds_the_environments(id):
    ours = gymnasium.make_vec(f"ale_train/{id}", num_envs=3)
    assert isinstance(ours, TaskVectorEnv)
    assert ours.spec.max_episode_steps == gymnasium.spec(id).max_episode_steps
    assert ours.spec.reward_threshold == gymnasium.spec(id).reward_threshold
    compare(ours, gymnasium.make_vec(id, num_envs=3, vectorization_mode="sync"), 30)
    again = gymnasium.make_vec(ours.spec)
    assert again.num_envs == 3


@pytest.mark.parametrize(
    "options",
    [{"vectorization_mode": "async", "vector_kwargs": {"context": "spawn"}}, {"wrappers": [RecordEpisodeStatistics]}],
)
def test_make_vec_of_gymnasium_takes_single_environments(options):
    options = {"num_envs": 2, "vectorization_mode": "sync", **options}
    ours, theirs = (gymnasium.make_vec(id, **options) for id in ("ale_train/CartPole-v1", "CartPole-v1"))
    ours.reset(seed=1)
    theirs.reset(seed=1)
    for actions in np.random.default_rng(1).integers(0, 2, (60, 2)):
        (*batch, info), (*expected, their_info) = ours.step(actions), theirs.step(actions)
        assert_same(batch, expected)
        assert info.keys() == their_info.keys()
    ours.close()
    theirs.close()


def in_memory(env):
    return pickle.loads(pickle.dumps(env))


@pytest.mark.parametrize("copied", [copy.deepcopy, in_memory])
@pytest.mark.parametrize("id", ["CartPole-v1", "Taxi-v4", "Blackjack-v1", "Pendulum-v1", "FrozenLake-v1", "Hopper-v5"])
def test_copies_continue_the_episode(id, copied):
    ours, theirs = gymnasium.make(f"ale_train/{id}", max_episode_steps=20), gymnasium.make(id, max_episode_steps=20)
    ours.reset(seed=3)
    theirs.reset(seed=3)
    theirs.action_space.seed(5)
    for step in range(60):
        # Copies are made in the middle of episodes and at their ends.
        original, ours = (ours, copied(ours)) if step % 3 == 0 else (None, ours)
        action = theirs.action_space.sample()
        (one, *results, _), (other, *expected, _) = ours.step(action), theirs.step(action)
        assert np.array_equal(one, other) and results == expected
        if original is not None:
            assert np.array_equal(original.step(action)[0], other)
        if any(expected[1:]):
            assert np.array_equal(ours.reset()[0], theirs.reset()[0])
    assert copied(ours).unwrapped.np_random.random() == ours.unwrapped.np_random.random()


def test_copies_before_the_first_reset_and_after_close():
    env = gymnasium.make("ale_train/FrozenLake-v1", is_slippery=False).unwrapped
    copied = copy.deepcopy(env)
    with pytest.raises(RuntimeError):
        copied.step(1)
    assert env.reset(seed=1) == copied.reset(seed=1)
    env.close()
    copied.step(1)
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        copy.deepcopy(env).reset()


def test_a_limit_of_minus_one_disables_it():
    options = {"num_envs": 2, "max_episode_steps": -1}
    theirs = gymnasium.make_vec("Pendulum-v1", vectorization_mode="sync", **options)
    compare(gymnasium.make_vec("ale_train/Pendulum-v1", **options), theirs, 450)
    ours = ale_train.make("Pendulum-v1", **options)
    ours.reset()
    assert not any(ours.step(np.zeros((2, 1)))[3].any() for _ in range(250))
    with pytest.raises(ValueError, match="max_episode_steps is -2"):
        TaskVectorEnv("Pendulum-v1", 2, max_episode_steps=-2)


def test_the_arguments_of_a_spec_make_the_same_environment():
    spec = gymnasium.make("ale_train/FrozenLake-v1", is_slippery=False).spec
    assert gymnasium.make(spec.id, **spec.kwargs).spec.kwargs == spec.kwargs
    assert gymnasium.make(spec).spec == spec


@pytest.mark.parametrize("id", ale_train.tasks())
def test_single_environments_are_equal(id):
    limit = {"max_episode_steps": 40}
    ours, theirs = gymnasium.make(f"ale_train/{id}", **limit), gymnasium.make(id, **limit)
    ulps = 1 if id == "Acrobot-v1" else 0
    generator = np.random.default_rng(2)
    for episode in range(4):
        seed = 5 if episode == 0 else None
        (one, info), (other, their_info) = ours.reset(seed=seed), theirs.reset(seed=seed)
        assert_same(np.asarray(one), np.asarray(other), ulps)
        assert info.keys() == their_info.keys()
        ended = False
        while not ended:
            action = random_actions(gymnasium.vector.utils.batch_space(theirs.action_space, 1), generator)[0]
            (one, *results, info), (other, *their_results, their_info) = ours.step(action), theirs.step(action)
            assert_same(np.asarray(one), np.asarray(other), ulps)
            assert results == their_results and info.keys() == their_info.keys()
            for name in info:
                assert np.array_equal(info[name], their_info[name]), name
            ended = any(results[1:])


@pytest.mark.parametrize("id", ale_train.tasks())
def test_single_environments_pass_the_checks_of_gymnasium(id):
    env = gymnasium.make(f"ale_train/{id}").unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Gymnasium's own environments have these action spaces and bounds too.
        warnings.filterwarnings("ignore", ".*(symmetric and normalized space|space (minimum|maximum) value is)")
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("id", OTHERS)
def test_pictures_equal_those_of_gymnasium(id):
    ours, theirs = (gymnasium.make(name, render_mode="rgb_array") for name in (f"ale_train/{id}", id))
    assert ours.metadata["render_fps"] == theirs.metadata["render_fps"]
    theirs.action_space.seed(4)
    pictures = set()
    # The second episode continues the random numbers of the first.
    for seed in (3, None):
        ours.reset(seed=seed)
        theirs.reset(seed=seed)
        for _ in range(5):
            picture = ours.render()
            assert picture.dtype == np.uint8 and np.array_equal(picture, theirs.render())
            pictures.add(picture.tobytes())
            action = theirs.action_space.sample()
            if any(ours.step(action)[2:4]) | any(theirs.step(action)[2:4]):
                break
    assert len(pictures) > 1
    ours.close()
    theirs.close()


def test_a_picture_shows_the_state_of_an_episode_without_a_seed():
    ours, theirs = (gymnasium.make(name, render_mode="rgb_array") for name in ("ale_train/CartPole-v1", "CartPole-v1"))
    theirs.reset()
    shown = set()
    for _ in range(3):
        observation, _ = ours.reset()
        theirs.unwrapped.state = observation
        # The observation is the state in single precision.
        assert np.mean(ours.render() != theirs.render()) < 0.001
        shown.add(ours.render().tobytes())
    assert len(shown) == 3


def test_the_first_picture_may_come_late_but_not_too_late(monkeypatch):
    monkeypatch.setattr("ale_train.task_pictures._MAX_HISTORY", 20)
    ours, theirs = (gymnasium.make(name, render_mode="rgb_array") for name in ("ale_train/CartPole-v1", "CartPole-v1"))

    def play(env, steps):
        env.reset(seed=5)
        for index in range(steps):
            if any(env.step(index % 2)[2:4]) or index == 7:
                env.reset()

    play(ours, 15)
    play(theirs, 15)
    assert np.array_equal(ours.render(), theirs.render())
    late = gymnasium.make("ale_train/CartPole-v1", render_mode="rgb_array")
    play(late, 25)
    with pytest.raises(gymnasium.error.ResetNeeded, match="at most 20 steps after a reset with a seed"):
        late.render()
    play(late, 1)
    play(theirs, 1)
    assert np.array_equal(late.render(), theirs.render())


def test_toy_text_is_printed_as_by_gymnasium():
    ours, theirs = (gymnasium.make(name, render_mode="ansi") for name in ("ale_train/Taxi-v4", "Taxi-v4"))
    for env in (ours, theirs):
        env.reset(seed=2)
        env.step(1)
    assert ours.render() == theirs.render() and "(North)" in ours.render()


def test_mujoco_is_drawn_by_its_own_renderer():
    program = """
import gymnasium, numpy, ale_train
ours, theirs = (gymnasium.make(name, render_mode="rgb_array", width=64, height=48)
                for name in ("ale_train/Hopper-v5", "Hopper-v5"))
for env in (ours, theirs):
    env.reset(seed=1)
for _ in range(3):
    for env in (ours, theirs):
        env.step(numpy.full(3, 0.4, numpy.float32))
    assert ours.render().shape == (48, 64, 3) and numpy.array_equal(ours.render(), theirs.render())
"""
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "MUJOCO_GL": "osmesa"}, check=True)


def test_impossible_pictures_are_errors():
    with pytest.raises(ValueError, match="render_mode is 'ansi', but must be one of human, rgb_array"):
        TaskEnv("CartPole-v1", render_mode="ansi")
    env = TaskEnv("CartPole-v1", render_mode="rgb_array")
    with pytest.raises(gymnasium.error.ResetNeeded, match="before reset"):
        env.render()
    env.reset(seed=1)
    assert np.array_equal(pickle.loads(pickle.dumps(env)).render(), env.render())
    with pytest.raises(TypeError, match="has drawn a picture cannot be copied or pickled"):
        pickle.dumps(env)
    assert TaskEnv("CartPole-v1").render() is None
    with pytest.raises(TypeError, match='no argument "width"'):
        TaskEnv("Hopper-v5", width=64)


def test_a_step_that_reaches_the_limit_may_also_terminate():
    # For some seed, the pole falls in the last step.
    ours, theirs = pair("CartPole-v1", 64, AutoresetMode.SAME_STEP, max_episode_steps=20)
    assert_same(ours.reset(seed=0), theirs.reset(seed=0))
    both = 0
    generator = np.random.default_rng(0)
    for _ in range(60):
        actions = generator.integers(0, 2, 64)
        batch = ours.step(actions)
        assert_same(batch, theirs.step(actions))
        both += (batch[2] & batch[3]).sum()
    assert both > 0


CONTINUED = [*((id, {}) for id in [*OTHERS, "Hopper-v4", "Hopper-v5"]), ("CartPole-v1", {"sutton_barto_reward": True})]


@pytest.mark.parametrize(("id", "arguments"), CONTINUED)
def test_single_environments_continue_after_the_end_of_an_episode(id, arguments):
    ours, theirs = gymnasium.make(f"ale_train/{id}", **arguments), gymnasium.make(id, **arguments)
    ends = 0
    for seed in range(3):
        assert_same(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
        theirs.action_space.seed(seed)
        for step in range(250):
            action = theirs.action_space.sample()
            our, their = ours.step(action), theirs.step(action)
            assert_same(our[0], their[0])
            assert [float(our[1]), *our[2:4]] == [float(their[1]), *their[2:4]], f"step {step} of seed {seed}"
            ends += our[2] or our[3]
            if step == 200:
                ours = pickle.loads(pickle.dumps(ours))
    assert ends > 3 or id.startswith(("Acrobot", "Mountain", "Pendulum", "Taxi", "Cliff"))
