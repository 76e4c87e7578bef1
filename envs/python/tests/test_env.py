"""AtariEnv alone: Gymnasium's checks, rendering for people, errors, pickling and threads."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings

import gymnasium
import numpy as np
import pygame
import pytest
from gymnasium.utils.env_checker import check_env

import ale_train
from ale_train.errors import GameError


@pytest.mark.parametrize(
    "options",
    [{}, {"obs_type": "ram"}, {"obs_type": "grayscale", "frameskip": (2, 5)}, {"continuous": True}],
    ids=["rgb", "ram", "grayscale", "continuous"],
)
@pytest.mark.parametrize("game", ["harvest", "pong", "air_raid"])
def test_passes_the_checks_of_gymnasium(game: str, options: dict[str, object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Gymnasium recommends action spaces that differ from ale-py's.
        warnings.filterwarnings("ignore", ".*symmetric and normalized space")
        # To check rendering, check_env creates environments itself, which it can do only from a spec.
        check_env(ale_train.AtariEnv(game, render_mode="rgb_array", **options), skip_render_check=True)


def test_copies_are_new_environments_with_the_same_arguments() -> None:
    env = ale_train.AtariEnv("harvest", obs_type="ram", frameskip=2)
    env.reset(seed=1)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert other.observation_space == env.observation_space
        assert np.array_equal(other.reset(seed=1)[0], env.reset(seed=1)[0])
        assert np.array_equal(other.step(1)[0], env.step(1)[0])


def test_states_fit_the_same_game_only() -> None:
    env, other = ale_train.AtariEnv("harvest"), ale_train.AtariEnv("pong")
    with pytest.raises(RuntimeError, match="does not belong to pong"):
        other.restore_state(env.clone_state())
    state = pickle.loads(pickle.dumps(env.clone_state()))
    assert state == env.clone_state()
    with pytest.raises(ValueError, match="states of ale-py cannot be loaded"):
        ale_train.ALEState(b"abc")
    with pytest.raises(ValueError, match="by another version, in format 1; this version reads format 2"):
        # Before states had a mark, they began with the id of the game.
        ale_train.ALEState(b"\x07harvest" + bytes(5000))
    with pytest.raises(RuntimeError, match="is empty"):
        env.restore_state(ale_train.ALEState())


@pytest.mark.parametrize("played", [0, 101])
@pytest.mark.parametrize("game", ["journey_escape", "miniature_golf", "pitfall2", "qbert", "tetris", "tic_tac_toe_3d"])
def test_frames_after_a_restore_equal_those_of_the_saved_game(game: str, played: int) -> None:
    env, other = (ale_train.AtariEnv(game, frameskip=1, repeat_action_probability=0) for _ in range(2))
    env.reset(seed=1)
    other.reset(seed=2)
    actions = np.random.default_rng(0).integers(env.action_space.n, size=played + 60)
    for action in actions[:played]:
        env.step(action)
    state = env.clone_state(include_rng=True)
    expected = [(*env.step(action), env.ale.getRAM()) for action in actions[played:]]
    for restored, saved in ((env, state), (other, pickle.loads(pickle.dumps(state)))):
        restored.restore_state(saved)
        assert restored.clone_state(include_rng=True) == state
        for step, (action, (observation, *rest, ram)) in enumerate(zip(actions[played:], expected)):
            again, *others = restored.step(action)
            assert others == rest
            assert np.array_equal(restored.ale.getRAM(), ram)
            # Where the first frame draws nothing, it shows the old screen, as in ale-py.
            assert step == 0 or np.array_equal(again, observation), step


def test_a_state_restores_into_another_environment() -> None:
    env, other = (ale_train.AtariEnv("pong", obs_type="ram") for _ in range(2))
    env.reset(seed=1)
    for action in np.random.default_rng(0).integers(6, size=60):
        env.step(action)
    # A saved state lacks the last action. With these seeds the next frame is not sticky and does not need it.
    other.reset(seed=2)
    other.restore_state(env.clone_state(include_rng=True))
    for action in np.random.default_rng(1).integers(6, size=60):
        assert np.array_equal(env.step(action)[0], other.step(action)[0])


def test_errors() -> None:
    with pytest.raises(GameError, match="unknown game 'Pong'; did you mean pong?"):
        ale_train.AtariEnv("Pong")
    with pytest.raises(RuntimeError, match="harvest has no mode 7; its modes are"):
        ale_train.AtariEnv("harvest", mode=7)
    with pytest.raises(gymnasium.error.Error, match="Invalid render mode `None`"):
        ale_train.AtariEnv("harvest").render()
    env = ale_train.AtariEnv("harvest", continuous=True)
    env.reset()
    with pytest.raises(AttributeError, match="continuous=True"):
        env.get_keys_to_action()
    short, not_finite = np.array([1, 0], np.float32), np.array([np.nan, 0, 0], np.float32)
    for wrong in (1, [1, 0, 0], np.array([1.0, 0, 0]), short, not_finite):
        with pytest.raises(AssertionError, match="must be a float32 array of three finite numbers"):
            env.step(wrong)


def test_a_window_shows_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "SDL_VIDEODRIVER", "dummy")
    env = ale_train.AtariEnv("harvest", render_mode="human", repeat_action_probability=0.0)
    other = ale_train.AtariEnv("harvest", render_mode="rgb_array", repeat_action_probability=0.0)
    for one in (env, other):
        one.reset(seed=1)
    for action in (0, 1, 2, 1, 0):
        ours, theirs = env.step(action), other.step(action)
        assert np.array_equal(ours[0], theirs[0]) and ours[1:] == theirs[1:]
    assert env.render() is None
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    assert np.array_equal(shown, other.render().repeat(2, axis=0).repeat(4, axis=1))
    env.close()
    assert not pygame.display.get_init()


def test_closing_the_window_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "SDL_VIDEODRIVER", "dummy")
    env = ale_train.AtariEnv("harvest", render_mode="human")
    env.reset(seed=1)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    with pytest.raises(KeyboardInterrupt, match="the window was closed"):
        env.step(0)
    assert not pygame.display.get_init()


def test_a_window_does_not_catch_signals() -> None:
    program = (
        "import os, signal, ale_train\n"
        "env = ale_train.AtariEnv('harvest', render_mode='human')\n"
        "env.reset(seed=1)\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "env.step(0)\n"
        "print('alive')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "SDL_VIDEODRIVER": "dummy"})
    assert done.returncode == -signal.SIGTERM


def test_a_window_needs_pygame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match="pip install pygame"):
        ale_train.AtariEnv("harvest", render_mode="human")


def test_threads_may_share_an_environment() -> None:
    env = ale_train.AtariEnv("harvest", obs_type="ram", frameskip=1)
    env.reset(seed=1)
    threads = [threading.Thread(target=lambda: [env.step(1) for _ in range(300)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert env.ale.getFrameNumber() <= 1200
    assert env.ale.game_over() or env.ale.getFrameNumber() == 1200


@pytest.mark.parametrize("frameskip", [2**31, (1, 2**31 + 1)])
def test_frame_skips_have_an_upper_limit(frameskip: int | tuple[int, int]) -> None:
    with pytest.raises(gymnasium.error.Error, match="must be at most 214748364[78]"):
        ale_train.AtariEnv("harvest", frameskip=frameskip)
