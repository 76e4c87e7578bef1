"""Steps the vector environments of ale-py and of this package side by side and compares every byte."""

from __future__ import annotations

from typing import Any

import ale_py.vector_env
import numpy as np

import ale_train.vector_env


def assert_same_array(name: str, ours: np.ndarray, theirs: np.ndarray) -> None:
    """Compares dtype, shape, layout and every byte."""
    assert isinstance(ours, np.ndarray), name
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), name
    assert ours.flags.c_contiguous and ours.flags.writeable, name
    if not np.array_equal(ours, theirs):
        where = np.argwhere(ours != theirs)
        raise AssertionError(
            f"{name} differs at {len(where)} places, first at {where[0]}: "
            f"{ours[tuple(where[0])]}, ale-py has {theirs[tuple(where[0])]}"
        )


class Beside:
    """Both vector environments, created with the same arguments."""

    def __init__(self, game: str, num_envs: int, **options: Any) -> None:
        self.theirs = ale_py.vector_env.AtariVectorEnv(game, num_envs, **options)
        self.ours = ale_train.vector_env.AtariVectorEnv(game, num_envs, **options)
        self.same_step = self.ours.autoreset_mode.value == "SameStep"
        for name in ("observation_space", "single_observation_space", "action_space", "single_action_space"):
            assert getattr(self.ours, name) == getattr(self.theirs, name), name
        for name in ("num_envs", "batch_size", "metadata", "autoreset_mode"):
            assert getattr(self.ours, name) == getattr(self.theirs, name), name
        #: The numbers of terminations and truncations compared.
        self.ends = np.zeros(2, int)

    def reset(self, **arguments: Any) -> dict[str, np.ndarray]:
        """Resets both and compares. Returns our info."""
        ours, info = self.ours.reset(**arguments)
        theirs, their_info = self.theirs.reset(**arguments)
        assert_same_array("observations of reset", ours, theirs)
        self._compare_info("reset", info, their_info, ended=None)
        return info

    def step(
        self, actions: np.ndarray, their_actions: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Steps both and compares. ``their_actions`` are the same actions in another layout. Returns our batch."""
        ours, theirs = self.ours.step(actions), self.theirs.step(actions if their_actions is None else their_actions)
        for name, our, their in zip(("observations", "rewards", "terminated", "truncated"), ours, theirs):
            assert_same_array(name, our, their)
        self._compare_info("step", ours[4], theirs[4], ended=ours[2] | ours[3])
        self.ends += [ours[2].sum(), ours[3].sum()]
        return ours

    def run(self, seed: int, steps: int) -> None:
        """Resets with a seed and takes ``steps`` random steps."""
        random = np.random.default_rng(seed)
        try:
            self.reset(seed=seed)
            for self.step_number in range(steps):
                self.step(self.random_actions(random))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, step {getattr(self, 'step_number', None)}: {error}") from error

    def random_actions(self, random: np.random.Generator) -> np.ndarray:
        """Returns a random action for each row."""
        if isinstance(self.ours.action_space, ale_train.vector_env.MultiDiscrete):
            return random.integers(self.ours.action_space.nvec)
        space = self.ours.action_space
        return random.uniform(space.low, space.high).astype(np.float32)

    def _compare_info(
        self, call: str, ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray], ended: np.ndarray | None
    ) -> None:
        assert list(ours) == list(theirs), call
        for name, their in theirs.items():
            if name != "final_obs":
                assert_same_array(f"info[{name!r}] of {call}", ours[name], their)
                continue
            # ale-py leaves rows uninitialised in which no episode ended, including lost lives that end nothing.
            assert (ours[name].dtype, ours[name].shape) == (their.dtype, their.shape)
            reset = ours["episode_frame_number"] < self._frames
            assert_same_array("info['final_obs']", ours[name][reset], their[reset])
        self._frames = ours["episode_frame_number"].copy()
