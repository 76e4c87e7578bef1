"""Exact comparison of nested results."""

import numpy as np


def assert_same(ours, theirs, ulps=0, path="result"):
    """Requires equal types, shapes, keys and bits; floats may differ by ``ulps`` units in the last place."""
    if isinstance(theirs, dict):
        assert isinstance(ours, dict) and ours.keys() == theirs.keys(), (path, ours, theirs)
        for key in theirs:
            assert_same(ours[key], theirs[key], ulps, f"{path}[{key!r}]")
    elif isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs), path
        for index, (one, other) in enumerate(zip(ours, theirs)):
            assert_same(one, other, ulps, f"{path}[{index}]")
    elif isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), path
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), path
        if theirs.dtype == object:
            assert_same(list(ours), list(theirs), ulps, path)
        elif ours.tobytes() != theirs.tobytes():
            assert ulps and theirs.dtype.kind == "f", (path, ours, theirs)
            np.testing.assert_array_max_ulp(ours, theirs, ulps)
    else:
        assert type(ours) is type(theirs) and ours == theirs, (path, ours, theirs)
