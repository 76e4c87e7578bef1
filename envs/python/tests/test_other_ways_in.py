"""``make_vec``, the names of the older guide, and ``make_atari_vector_env``."""

from __future__ import annotations

import inspect
import subprocess
import sys

import ale_py
import gymnasium
import numpy as np
import pytest

import ale_train
from ale_train.errors import GameError
from ale_train.vector_env import AtariVectorEnv


@pytest.fixture
def registry() -> object:
    before = dict(gymnasium.registry)
    yield gymnasium.registry
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


def test_the_signature_begins_as_that_of_ale_py() -> None:
    def parameters(cls: type) -> list[inspect.Parameter]:
        return list(inspect.signature(cls).parameters.values())

    ours, theirs = parameters(AtariVectorEnv), parameters(ale_py.vector_env.AtariVectorEnv)
    for our, their in zip(ours, theirs):
        assert (our.name, our.kind) == (their.name, their.kind)
        # game and num_envs are optional because of games=.
        assert our.default == their.default or their.name in ("game", "num_envs")
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in ours[len(theirs) :])


def test_the_actions_are_those_of_ale_py() -> None:
    assert {action.name: int(action) for action in ale_train.Action} == {
        name: value.value for name, value in ale_py.Action.__members__.items()
    }


def test_make_vec(registry: dict[str, object]) -> None:
    gymnasium.register_envs(ale_py)
    theirs = gymnasium.make_vec("ALE/MsPacman-v5", num_envs=2)
    ale_train.register_envs()
    ours = gymnasium.make_vec("ALE/MsPacman-v5", num_envs=2)
    assert isinstance(ours.unwrapped, AtariVectorEnv)
    assert ours.spec.kwargs == theirs.spec.kwargs
    ours.reset(seed=1)
    theirs.reset(seed=1)
    random = np.random.default_rng(1)
    for _ in range(40):
        actions = random.integers(9, size=2)
        assert np.array_equal(ours.step(actions)[0], theirs.step(actions)[0])


def test_every_id_of_ale_py_is_registered_with_its_options(registry: dict[str, object]) -> None:
    def specs(package: str) -> dict[str, tuple[object, ...]]:
        return {
            spec.id: (spec.kwargs, spec.nondeterministic, spec.max_episode_steps, spec.order_enforce)
            for spec in gymnasium.registry.values()
            if str(spec.entry_point).startswith(f"{package}.env:")
        }

    gymnasium.register_envs(ale_py)
    theirs = specs("ale_py")
    ale_train.register_envs()
    ours = specs("ale_train")
    assert not specs("ale_py")
    assert ours.pop("ALE/Harvest-v5")
    assert len(theirs) == 352
    assert ours == theirs


@pytest.mark.parametrize(
    "id", ["ALE/Pong-v5", "Pong-v0", "Pong-v4", "PongNoFrameskip-v0", "PongNoFrameskip-v4", "ALE/MsPacman-v5"]
)
def test_make(id: str, registry: dict[str, object]) -> None:
    gymnasium.register_envs(ale_py)
    theirs = gymnasium.make(id)
    ale_train.register_envs()
    ours = gymnasium.make(id)
    assert isinstance(ours.unwrapped, ale_train.AtariEnv)
    assert not isinstance(theirs.unwrapped, ale_train.AtariEnv)
    assert np.array_equal(ours.reset(seed=1)[0], theirs.reset(seed=1)[0])
    for action in np.random.default_rng(1).integers(6, size=40):
        assert np.array_equal(ours.step(action)[0], theirs.step(action)[0])


def test_another_namespace_keeps_the_ids_of_ale_py(registry: dict[str, object]) -> None:
    gymnasium.register_envs(ale_py)
    ale_train.register_envs("Ours")
    assert gymnasium.make_vec("Ours/Harvest-v5", num_envs=3).num_envs == 3
    for id in ("ALE/Pong-v5", "PongNoFrameskip-v4"):
        assert type(gymnasium.make(id).unwrapped) is ale_py.AtariEnv
        assert type(gymnasium.make(f"Ours/{id.removeprefix('ALE/')}").unwrapped) is ale_train.AtariEnv


def test_wrappers_of_gymnasium_work() -> None:
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(AtariVectorEnv("harvest", 2, max_num_frames_per_episode=40))
    env.reset(seed=1)
    infos = [env.step(np.array([1, 2]))[4] for _ in range(12)]
    assert any("episode" in info for info in infos)


def test_older_names() -> None:
    older = ale_train.VectorAtariEnv(
        "Breakout", 2, frame_skip=2, fire_reset=False, max_episode_steps=40, img_height=64, seed=7
    )
    newer = AtariVectorEnv(
        "breakout", 2, frameskip=2, use_fire_reset=False, max_num_frames_per_episode=40, img_height=64
    )
    assert np.array_equal(older.reset()[0], newer.reset(seed=7)[0])
    for _ in range(50):
        ours, theirs = older.step(np.array([1, 2])), newer.step(np.array([1, 2]))
        assert all(np.array_equal(one, other) for one, other in zip(ours[:4], theirs[:4]))
    # Only the first reset uses the seed.
    assert older.reset()[1]["frame_number"][0] > 40
    assert ale_train.VectorAtariEnv("breakout", 1).num_envs == 1
    # A reset that fails leaves the seed to the next one.
    failing = ale_train.VectorAtariEnv("breakout", 2, seed=7)
    with pytest.raises(RuntimeError, match="first reset"):
        failing.reset(options={"reset_mask": np.array([True, False])})
    expected = AtariVectorEnv("breakout", 2).reset(seed=7)[1]
    assert np.array_equal(failing.reset()[1]["frame_number"], expected["frame_number"])
    # The seed does not depend on how the first reset is made.
    sent = ale_train.VectorAtariEnv("breakout", 2, seed=7)
    sent.send_reset()
    assert np.array_equal(np.sort(sent.recv()[4]["frame_number"]), np.sort(expected["frame_number"]))
    with pytest.raises(TypeError, match="two names of the same option"):
        ale_train.VectorAtariEnv("breakout", 1, frame_skip=2, frameskip=2)
    with pytest.raises(GameError):
        ale_train.VectorAtariEnv("Brekout", 1)


@pytest.mark.parametrize(
    ("obs_type", "shape"), [("rgb", (2, 1, 210, 160, 3)), ("grayscale", (2, 1, 210, 160)), ("ram", (2, 1, 128))]
)
def test_make_atari_vector_env(obs_type: str, shape: tuple[int, ...]) -> None:
    env = ale_train.make_atari_vector_env(
        game="Pong",
        num_envs=2,
        obs_type=obs_type,
        frameskip=4,
        repeat_action_probability=0.25,
        full_action_space=True,
        seed=3,
    )
    observations, info = env.reset()
    assert observations.shape == shape == env.observation_space.shape
    assert info["frame_number"].tolist() == [0, 0]
    assert env.num_actions == [18, 18]
    with pytest.raises(ValueError, match="obs_type is 'foo'"):
        ale_train.make_atari_vector_env("pong", 1, obs_type="foo")


def ids_made(code: str) -> list[str]:
    """Returns the modules of environments that a new process makes."""
    code = f"import gymnasium, warnings; warnings.simplefilter('ignore'); {code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


MAKES = "print(type(gymnasium.make(ID).unwrapped).__module__)"


@pytest.mark.parametrize("id", ["ALE/Pong-v5", "PongNoFrameskip-v4"])
def test_the_usual_forms_of_gymnasium_create_environments(id: str) -> None:
    ours, theirs = ["ale_train.env"], ["ale_py.env"]
    assert ids_made(MAKES.replace("ID", repr(f"ale_train:{id}"))) == ours
    assert ids_made(f"import ale_train; gymnasium.register_envs(ale_train); ID = {id!r}; {MAKES}") == ours
    # Importing the package replaces no id, but register_envs does. ale-py replaces all.
    assert ids_made(f"import ale_py, ale_train; ID = {id!r}; {MAKES}") == theirs
    assert ids_made(f"import ale_train, ale_py; ID = {id!r}; {MAKES}") == theirs
    assert ids_made(f"import ale_py, ale_train; ale_train.register_envs(); ID = {id!r}; {MAKES}") == ours


def test_vector_environments_have_no_render_mode_and_say_so_with_a_type_error() -> None:
    with pytest.raises(TypeError, match="render_mode is 'rgb_array', but must be None"):
        gymnasium.make_vec("ale_train/CartPole-v1", render_mode="rgb_array")
