"""The compiled part of the package."""

from typing import Any

import numpy as np
import numpy.typing as npt

__version__: str

def games() -> list[str]:
    """Returns the ids of all games."""

_ResetBatch = tuple[npt.NDArray[np.uint8], dict[str, Any]]
_StepBatch = tuple[
    npt.NDArray[np.uint8], npt.NDArray[np.int32], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]
]

class AtariPool:
    """Atari environments on a work-stealing pool."""

    def __new__(cls, settings: dict[str, Any], python: str) -> AtariPool: ...
    @property
    def action_codes(self) -> list[bytes]: ...
    @property
    def num_threads(self) -> int: ...
    @property
    def observation_shape(self) -> list[int]: ...
    def reset(self, seeds: list[int | None], mask: npt.NDArray[np.bool_] | None = None) -> _ResetBatch: ...
    def send(
        self,
        actions: npt.NDArray[np.int32] | npt.NDArray[np.int64] | npt.NDArray[np.float32],
        env_ids: list[int] | None = None,
        lengths: list[int] | None = None,
    ) -> None: ...
    def send_reset(self, env_ids: list[int], seeds: list[int | None]) -> None: ...
    def recv(self) -> _StepBatch: ...
    def snapshot(self, env_ids: list[int] | None = None) -> bytes: ...
    def restore(self, state: bytes, env_ids: list[int] | None = None) -> _ResetBatch: ...
    def render(self, env_id: int) -> npt.NDArray[np.uint8]: ...
    def ram(self) -> npt.NDArray[np.uint8]: ...
