"""Observations in page-locked memory. No test has a GPU: a substitute for PyTorch allocates ordinary memory."""

from __future__ import annotations

import gc
import sys
import threading
import types
import weakref
from typing import Any

import numpy as np
import pytest

from ale_train.vector_env import AtariVectorEnv

#: The shape of an observation, and the rows of a batch.
SHAPE, ROWS = (4, 84, 84), 3


class Torch(types.ModuleType):
    """A substitute for PyTorch that records what is allocated and still alive."""

    uint8 = "uint8"

    def __init__(self, gpu: bool = True) -> None:
        super().__init__("torch")
        self.cuda = types.SimpleNamespace(is_available=lambda: gpu)
        self.sizes: list[int] = []
        self.alive: weakref.WeakSet[Tensor] = weakref.WeakSet()

    def empty(self, size: int, *, dtype: str, pin_memory: bool) -> Tensor:
        assert dtype == "uint8" and pin_memory
        self.sizes.append(size)
        tensor = Tensor(size)
        self.alive.add(tensor)
        return tensor

    def addresses(self) -> set[int]:
        return {tensor.data_ptr() for tensor in self.alive}


class Tensor:
    """Memory filled with noise. Like that of page-locked memory, its address is a multiple of 512."""

    def __init__(self, size: int) -> None:
        memory = np.full(size + 512, 171, np.uint8)
        self.memory = memory[-memory.ctypes.data % 512 :][:size]

    def data_ptr(self) -> int:
        return self.memory.ctypes.data


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Torch:
    found = Torch()
    monkeypatch.setitem(sys.modules, "torch", found)
    return found


@pytest.mark.parametrize(
    "options",
    [{}, {"batch_size": 2}, {"autoreset_mode": "SameStep", "max_num_frames_per_episode": 40}, {"ram": True}],
    ids=["images", "asynchronous", "same step", "RAM"],
)
def test_observations_are_in_memory_of_pytorch(torch: Torch, options: dict[str, Any]) -> None:
    env = AtariVectorEnv("pong", ROWS, pin_memory=True, num_threads=1, **options)
    plain = AtariVectorEnv("pong", ROWS, num_threads=1, **options)
    observations, expected = env.reset(seed=1)[0], plain.reset(seed=1)[0]
    for step in range(60):
        assert np.array_equal(observations, expected), f"step {step}"
        assert observations.ctypes.data in torch.addresses(), f"step {step}"
        actions = np.full(len(observations), step % 6)
        observations, expected = env.step(actions)[0], plain.step(actions)[0]
    assert set(torch.sizes) == {observations.nbytes}
    if "batch_size" not in options:
        state = plain.snapshot()
        assert np.array_equal(env.restore(state)[0], plain.restore(state)[0])


def test_each_batch_has_memory_of_its_own(torch: Torch) -> None:
    env = AtariVectorEnv("pong", ROWS, pin_memory=True)
    kept = [env.reset(seed=1)[0], *(env.step(np.full(ROWS, 2))[0] for _ in range(20))]
    copies = [observations.copy() for observations in kept]
    assert len({observations.ctypes.data for observations in kept}) == 21
    for _ in range(20):
        env.step(np.full(ROWS, 3))
    assert all(map(np.array_equal, kept, copies))


def test_memory_returns_to_pytorch(torch: Torch) -> None:
    env = AtariVectorEnv("pong", ROWS, pin_memory=True)
    view = env.reset(seed=1)[0][1, -1]
    before = view.copy()
    for _ in range(20):
        env.step(np.full(ROWS, 2))
    # One batch is allocated for each step, and one for each batch that the environments were created with.
    assert 21 < len(torch.sizes) <= 24 and len(torch.alive) <= 4
    env.close()
    gc.collect()
    assert len(torch.alive) == 1, "only the memory of the view"
    assert np.array_equal(view, before)
    del view
    assert not torch.alive


def test_errors_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", Torch(gpu=False))
    with pytest.raises(RuntimeError) as no_gpu:
        AtariVectorEnv("pong", ROWS, pin_memory=True)
    assert str(no_gpu.value) == (
        "pin_memory=True requires PyTorch with CUDA, but it finds no GPU with CUDA; install a driver and a build of "
        "PyTorch with CUDA, or leave out pin_memory"
    )
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(RuntimeError) as no_pytorch:
        AtariVectorEnv("pong", ROWS, pin_memory=True)
    assert str(no_pytorch.value) == (
        "pin_memory=True requires PyTorch with CUDA, but it is not installed; install it (pip install torch), or leave "
        "out pin_memory"
    )


def test_rows_must_be_contiguous(torch: Torch) -> None:
    with pytest.raises(ValueError, match=r"multiple of 8, but their shape is \(1, 83, 83\)"):
        AtariVectorEnv("pong", ROWS, pin_memory=True, img_height=83, img_width=83, stack_num=1)


def test_a_failed_allocation_is_an_error(torch: Torch, monkeypatch: pytest.MonkeyPatch) -> None:
    env, plain = AtariVectorEnv("pong", ROWS, pin_memory=True), AtariVectorEnv("pong", ROWS)
    env.reset(seed=1)
    plain.reset(seed=1)

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("CUDA error: out of memory")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="out of memory"):
        patch.setattr(torch, "empty", fail)
        env.step(np.full(ROWS, 2))
    # Nothing was sent.
    observations, *_, info = env.step(np.full(ROWS, 2))
    expected, *_, expected_info = plain.step(np.full(ROWS, 2))
    assert np.array_equal(observations, expected)
    assert np.array_equal(info["frame_number"], expected_info["frame_number"])


def test_python_code_that_runs_in_the_allocator_may_use_the_environments(
    torch: Torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like a signal handler that Python calls there."""
    env = AtariVectorEnv("pong", ROWS, pin_memory=True)
    env.reset(seed=1)
    before = env.ram()
    allocate, seen, batches = torch.empty, [], []

    def empty(size: int, **options: Any) -> Tensor:
        seen.append(env.ram())
        return allocate(size, **options)

    monkeypatch.setattr(torch, "empty", empty)
    # A deadlock blocks the thread instead of the tests.
    thread = threading.Thread(target=lambda: batches.append(env.step(np.full(ROWS, 2))), daemon=True)
    thread.start()
    thread.join(timeout=30)
    assert not thread.is_alive(), "deadlock"
    assert batches[0][0].shape == (ROWS, *SHAPE)
    assert np.array_equal(seen[0], before), "the first allocation precedes the step"
