"""Records spaces.json: draws of NumPy's generator; samples, flattened values and batches of Gymnasium's spaces.

Needs gymnasium 1.4.0 and numpy 2.4.6:  python record_spaces.py > spaces.json
"""

import json

import numpy
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple, flatdim, flatten
from gymnasium.vector.utils import batch_differing_spaces, batch_space

SEEDS = [0, 1, 42, 2**32 - 1, 2**32, 123456789012345678, 2**64 - 1]


def number(value):
    """Encodes infinity as a string, because JSON has no infinity."""
    return float(value) if numpy.isfinite(value) else str(value)


def describe(space):
    if isinstance(space, Box):
        low, high = ([number(value) for value in bound.ravel()] for bound in (space.low, space.high))
        return {"kind": "Box", "low": low, "high": high, "shape": space.shape, "dtype": str(space.dtype)}
    if isinstance(space, Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, MultiDiscrete):
        return {"kind": "MultiDiscrete", "nvec": space.nvec.tolist(), "start": space.start.tolist()}
    if isinstance(space, MultiBinary):
        return {"kind": "MultiBinary", "shape": space.shape}
    if isinstance(space, Dict):
        return {"kind": "Dict", "spaces": {key: describe(part) for key, part in space.items()}}
    return {"kind": "Tuple", "spaces": [describe(part) for part in space]}


def elements(value):
    """The elements of a value, leaf by leaf."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple):
        return [element for part in value for element in elements(part)]
    return [float(element) for element in numpy.asarray(value).ravel()]


def digest(numbers):
    """Combines the bits of many floats in one number."""
    value = 0
    for bits in numbers.view(numpy.uint64).tolist():
        value = (value * 6364136223846793005 + bits) % 2**64
    return value


def draws(seed):
    generator = numpy.random.default_rng(seed)
    return {
        "seed": seed,
        "bits": [int(generator.random() * 2**53) for _ in range(4)],
        # An odd number of draws leaves 32 bits for later, across the draw of a float.
        "below_13": [int(generator.integers(13)) for _ in range(5)],
        "float": int(generator.random() * 2**53),
        "below_3_000_000_000": [int(generator.integers(3_000_000_000)) for _ in range(8)],
        "choice": [int(generator.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10])) for _ in range(8)],
        "tosses": generator.integers(0, 2, 11, dtype=numpy.int8).tolist(),
        "uniform": [float(numpy.float32(generator.uniform(-0.6, -0.4))) for _ in range(4)],
        # Enough for every layer of the ziggurat and for its tail.
        "normal": digest(generator.standard_normal(50_000)),
    }


SPACES = [
    Box(-1.0, 1.0, (3,)),
    Box(numpy.array([0, -numpy.pi, 0], numpy.float32), numpy.array([1, numpy.pi, 1], numpy.float32)),
    Box(0, 255, (2, 3, 2), numpy.uint8),
    Box(-5, 7, (4,), numpy.int64),
    Box(-0.1, 0.3, (4,), numpy.float64),
    Discrete(4),
    Discrete(500),
    Discrete(3, start=-1),
    MultiDiscrete([2, 18, 6]),
    MultiDiscrete([3, 5], start=[-2, 10]),
    MultiBinary(5),
    MultiBinary([2, 3]),
    Tuple((Discrete(32), Discrete(11), Discrete(2))),
    Dict({"speed": Box(-1.0, 1.0, (2,)), "camera": Box(0, 255, (3, 3), numpy.uint8), "gear": Discrete(6, start=-1)}),
    Tuple((MultiBinary(3), Dict({"b": MultiDiscrete([2, 3]), "a": Tuple((Box(0.0, 2.0, (1, 2)), Discrete(2)))}))),
]

DIFFERING = [
    [Discrete(3), Discrete(18, start=2), Discrete(4)],
    [Box(0.0, 1.0, (2,)), Box(-1.0, 3.0, (2,))],
    [MultiDiscrete([2, 3]), MultiDiscrete([5, 4], start=[1, -1])],
    [MultiBinary(2), MultiBinary(2)],
    [Tuple((Discrete(2), Box(0.0, 1.0, (1,)))), Tuple((Discrete(5), Box(0.0, 9.0, (1,))))],
    [Dict({"x": Discrete(2)}), Dict({"x": Discrete(7)})],
]


def case(space):
    space.seed(7)
    samples = [space.sample() for _ in range(5)]
    return {
        "space": describe(space),
        "samples": [elements(sample) for sample in samples],
        "flat": [elements(flatten(space, sample)) for sample in samples],
        "flat_len": flatdim(space),
        "batch": describe(batch_space(space, 3)),
        "text": repr(space),
    }


def main():
    differing = [
        {"spaces": [describe(space) for space in spaces], "batch": describe(batch_differing_spaces(spaces))}
        for spaces in DIFFERING
    ]
    record = {"draws": [draws(seed) for seed in SEEDS], "spaces": [case(space) for space in SPACES], "differing": differing}
    # One case per line.
    parts = [f'"{name}": [\n' + ",\n".join(map(json.dumps, cases)) + "\n]" for name, cases in record.items()]
    print("{" + ",\n".join(parts) + "}")


main()
