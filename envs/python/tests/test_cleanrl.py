"""CleanRL's PPO on ale_train: the diff of the book, and the script's wrappers beside our environments."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
import zipfile
from collections import deque
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from ale_train.cleanrl import CleanRLVectorEnv
from ale_train.vector_env import AtariVectorEnv

MIGRATION = Path(__file__).parents[3] / "docs" / "src" / "python" / "migrate.md"
#: CleanRL's last release allows Python up to 3.10, but its script runs with every Python.
RELEASE = ["cleanrl==1.2.0", "--no-deps", "--only-binary=:all:", "--python-version=3.10"]
LOSSES = ["value_loss", "policy_loss", "entropy", "approx_kl", "clipfrac", "explained_variance"]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """CleanRL's ppo_atari.py."""
    folder = tmp_path_factory.mktemp("cleanrl")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", f"--dest={folder}"]
    subprocess.run([*pip, *RELEASE], check=True, timeout=300)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        return files.read("cleanrl/ppo_atari.py").decode()


def diffs() -> list[list[str]]:
    """The lines of each diff in the book."""
    return [text.splitlines() for text in re.findall(r"^```diff\n(.*?)^```", MIGRATION.read_text("utf-8"), re.S | re.M)]


def applied(diff: list[str], text: str) -> str:
    """Applies a diff, in which the lines to be removed come right before those that replace them."""
    changes = re.findall(r"((?:^[ -].*\n)+)((?:^\+.*\n)+)", "\n".join(diff) + "\n", re.MULTILINE)
    for before, after in changes:
        old = "".join(line[1:] for line in before.splitlines(keepends=True))
        kept = "".join(line[1:] for line in before.splitlines(keepends=True) if line[0] == " ")
        assert text.count(old) == 1, f"the script has no such lines:\n{old}"
        text = text.replace(old, kept + "".join(line[1:] for line in after.splitlines(keepends=True)))
    return text


def test_no_diff_has_more_than_three_new_lines() -> None:
    assert [sum(line[0] == "+" for line in diff) for diff in diffs()] == [3, 2]


@pytest.mark.frameworks
def test_the_script_of_the_release_trains(script: str, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (tmp_path / "ppo_atari.py").write_text(applied(diffs()[0], script), "utf-8")
    arguments = ["--env-id=BreakoutNoFrameskip-v4", "--num-envs=4", "--total-timesteps=2560", "--update-epochs=1"]
    # The threads of PyTorch would wait for each other in busy loops.
    subprocess.run(
        [sys.executable, "ppo_atari.py", *arguments, "--cuda=False"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=True,
        timeout=1200,
    )
    (run,) = (tmp_path / "runs").iterdir()
    events = EventAccumulator(str(run)).Reload()
    for loss in LOSSES:
        values = [event.value for event in events.Scalars(f"losses/{loss}")]
        assert len(values) == 5 and np.isfinite(values).all(), loss
    # The policy moves: its first rows are almost uniform over Breakout's four actions.
    assert all(event.value > 0 for event in events.Scalars("losses/approx_kl"))
    assert np.isclose(events.Scalars("losses/entropy")[0].value, np.log(4), atol=0.01)
    returns = [event.value for event in events.Scalars("charts/episodic_return")]
    assert len(returns) >= 4 and all(0 <= score == int(score) <= 30 for score in returns)


class Screens(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Keeps the grayscale screens of the last two frames."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.screens: deque[np.ndarray] = deque(maxlen=2)

    def step(self, action: Any) -> Any:
        results = super().step(action)
        self.screens.append(self.unwrapped.ale.getScreenGrayscale())
        return results


class SeededFrameStack(gymnasium.wrappers.FrameStackObservation[Any, Any, Any]):
    """The last wrapper, which has the ``seed`` of Gym's environments."""

    def seed(self, seed: int) -> None:
        self.first_seed = seed


def made_by_the_script(script: str, env_id: str) -> Any:
    """Creates an environment by the script's ``make_env``, on ale-py, with today's names of Gymnasium's wrappers."""
    ale_py = pytest.importorskip("ale_py")
    registry = dict(gymnasium.registry)
    gymnasium.register_envs(ale_py)
    wrappers = gymnasium.wrappers
    gym = types.SimpleNamespace(
        make=lambda id: Screens(gymnasium.make(id)),
        wrappers=types.SimpleNamespace(
            RecordEpisodeStatistics=wrappers.RecordEpisodeStatistics,
            ResizeObservation=wrappers.ResizeObservation,
            GrayScaleObservation=wrappers.GrayscaleObservation,
            FrameStack=SeededFrameStack,
        ),
    )
    names: dict[str, Any] = {"__name__": "ppo_atari", "__file__": "ppo_atari.py"}
    exec(compile(script.replace("import gym\n", ""), "ppo_atari.py", "exec"), names)
    names["gym"] = gym
    try:
        return names["make_env"](env_id, 1, 0, False, "")()
    finally:
        gymnasium.registry.clear()
        gymnasium.registry.update(registry)


def wrapper(env: Any, kind: type) -> Any:
    """Returns the wrapper of a kind in a chain of them."""
    while not isinstance(env, kind):
        env = env.env
    return env


@pytest.mark.frameworks
@pytest.mark.parametrize("game", ["Breakout", "Seaquest"])
def test_games_play_as_with_the_wrappers_of_the_script(script: str, game: str) -> None:
    import cv2
    from stable_baselines3.common.atari_wrappers import NoopResetEnv

    ours = CleanRLVectorEnv(f"{game}NoFrameskip-v4", 1, use_fire_reset=False, noop_max=30)
    observations, info = ours.reset(seed=3)
    theirs = made_by_the_script(script, f"{game}NoFrameskip-v4")
    wrapper(theirs, NoopResetEnv).override_num_noops = int(info["episode_frame_number"][0])
    screens = wrapper(theirs, Screens).screens
    theirs.reset()
    # The script's reset presses FIRE and the third action for four frames each; ours has only played the no-ops.
    ours.step(np.array([1]))
    observations, *_, info = ours.step(np.array([2]))
    lost = 0
    for action in np.random.default_rng(1).integers(ours.action_space.nvec[0], size=2000):
        assert np.array_equal(ours.ram()[0], theirs.unwrapped.ale.getRAM())
        frame = cv2.resize(np.max(screens, 0), (84, 84), interpolation=cv2.INTER_AREA)
        assert np.array_equal(observations[0, -1], frame)
        observations, rewards, terminated, truncated, info = ours.step(np.array([action]))
        _, reward, done, cut, their_info = theirs.step(action)
        assert (rewards[0], terminated[0], truncated[0]) == (reward, done, cut)
        if "episode" in their_info:
            break
        if done:
            lost += 1
            assert info["final_info"][0] == {"lives": their_info["lives"]}
            assert np.array_equal(info["final_observation"][0], observations[0])
            theirs.reset()
        else:
            assert "final_info" not in info
    assert lost == {"Breakout": 4, "Seaquest": 3}[game]
    assert info["final_info"][0]["lives"] == 0 and info["_final_info"][0]
    assert info["final_info"][0]["episode"]["r"] == their_info["episode"]["r"]


@pytest.mark.parametrize("mode", ["NextStep", gymnasium.vector.AutoresetMode.DISABLED])
def test_other_autoreset_modes_are_errors(mode: Any) -> None:
    with pytest.raises(ValueError, match="CleanRLVectorEnv requires SameStep"):
        CleanRLVectorEnv("harvest", 1, autoreset_mode=mode)
    CleanRLVectorEnv("harvest", 1, autoreset_mode="SameStep")


def test_infos_have_the_form_of_gymnasium_0_29() -> None:
    options: dict[str, Any] = {"max_num_frames_per_episode": 200}
    env = CleanRLVectorEnv("breakout", 3, **options)
    same = AtariVectorEnv(
        "breakout", 3, autoreset_mode="SameStep", fill_stack=True, life_loss_info=True, fire_after_lost_life=True,
        extra_info=True, **options,
    )  # fmt: skip
    assert np.array_equal(env.reset(seed=1)[0], same.reset(seed=1)[0])
    episodes = 0
    for actions in np.random.default_rng(1).integers(4, size=(120, 3)):
        observations, rewards, terminated, truncated, info = env.step(actions)
        expected, reward, terminations, truncations, raw = same.step(actions)
        assert np.array_equal(observations, expected) and np.array_equal(rewards, reward)
        assert np.array_equal(terminated, terminations) and np.array_equal(truncated, truncations)
        over = terminated | truncated
        assert ("final_info" in info) == over.any() and "final_obs" not in info and "episode" not in info
        for row in np.flatnonzero(over):
            assert np.array_equal(info["final_observation"][row], raw["final_obs"][row])
            final = info["final_info"][row]
            assert ("episode" in final) == ("_episode" in raw and raw["_episode"][row])
            if "episode" in final:
                episodes += 1
                assert final["episode"]["r"] == raw["episode"]["r"][row]
        if over.any():
            assert [final is None for final in info["final_info"]] == (~over).tolist()
            assert [one is None for one in info["final_observation"]] == (~over).tolist()
    assert episodes >= 6
