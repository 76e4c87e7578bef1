"""The program of a worker process, which steps environments of Gymnasium.

The documentation of the crate, in lib.rs, describes the pipes and the shared memory. Needs only the standard library,
NumPy and Gymnasium.
"""

import copy
import ctypes
import difflib
import faulthandler
import importlib
import json
import mmap
import operator
import os
import pickle
import select
import signal
import struct
import sys
import time
import traceback

# The kinds of commands. Equal to `Command` in board.rs.
STEP, RESET, RESET_WITH_SEED, REPORT, IDLE, RESTORE = range(6)

# The flags of a result. Equal to the constants in board.rs.
TERMINATED, TRUNCATED, AUTORESET, ENDED, OVER, STEPPED = 1, 2, 4, 8, 16, 32

# The number of 64-bit words of a command (kind, row, seed) and of a result (reward, return, seconds, length, flags).
COMMAND_WORDS, RESULT_WORDS = 3, 5

# The first word of a request: the number of environments to step, or one of these. Equal to those in protocol.rs.
CONTROL, ALL = 0, 0xFFFFFFFF

# The first byte of a response. Equal to those in protocol.rs.
DONE, FAILED, REPLY = b".", b"!", b"="

# The smallest sides of images for which networks have convolutions, and of those without an axis for channels. Equal to
# those in layout.rs of the crate `algorithms`.
MIN_IMAGE_SIDE, MIN_PICTURE_SIDE = 4, 36

# The largest number of images in an observation. Equal to that in observation.rs of the crate `kernels`.
MAX_IMAGES = 4

# The types of Box observations that keep their type. All others become float32.
KEPT_DTYPES = ("uint8", "int8", "int64", "float32")

SUPPORTED_OBSERVATIONS = "Box, Discrete, MultiDiscrete, MultiBinary, Dict and Tuple of these with up to 4 images"
SUPPORTED_ACTIONS = "Discrete, MultiDiscrete, MultiBinary and Box of floats"
SUPPORTED_MASKED_ACTIONS = "Discrete, MultiDiscrete and MultiBinary, because action_masks is set"

# Discrete actions up to this number are created once.
MAX_TABLE = 4096


class Rejected(Exception):
    """An error that its message explains without a traceback."""


class BuildFailed(Exception):
    """An environment cannot be built. `details` is a `BuildFault` of build_fault.rs."""

    def __init__(self, **details):
        super().__init__(details)
        self.details = details


class Pipes:
    """The pipes from and to the parent."""

    def __init__(self, spin):
        """Takes standard input and output, which environments must not use: what they print goes to standard error.

        `spin` is the time in seconds for which `wait` does not sleep.
        """
        self.requests, self.responses, self.spin = os.dup(0), os.dup(1), spin
        self.poller = select.poll()
        self.poller.register(self.requests, select.POLLIN)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)

    def wait(self):
        """Waits for a request, but not for long. A process that sleeps takes longer to continue."""
        end = time.perf_counter() + self.spin
        while not self.poller.poll(0) and time.perf_counter() < end:
            os.sched_yield()

    def read(self, count):
        """Reads exactly `count` bytes. Raises EOFError when the parent has closed the pipe or ended."""
        data = os.read(self.requests, count)
        while len(data) < count:
            more = os.read(self.requests, count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def write(self, data):
        """Writes all of `data`."""
        view = memoryview(data)
        while view:
            view = view[os.write(self.responses, view) :]

    def read_frame(self):
        """Reads a value in JSON and the bytes that follow it."""
        json_length, length = struct.unpack("=IQ", self.read(12))
        value = json.loads(self.read(json_length))
        return value, self.read(length) if length else b""

    def write_frame(self, kind, value, data=b""):
        """Writes a response with a value in JSON and bytes that follow it."""
        text = json.dumps(value).encode()
        self.write(kind + struct.pack("=IQ", len(text), len(data)) + text + data)


# Spaces of observations.


class BoxObservation:
    """Observations of a Box, in their shape; or, with `flatten`, images with channels first and vectors."""

    def __init__(self, space, flatten):
        self.space, self.own_shape, self.own_dtype = space, space.shape, space.dtype
        self.axes = tuple(range(len(space.shape)))
        axes = image_axes(space) if flatten else None
        if axes is not None:
            self.dtype, self.axes = np.dtype("uint8"), axes
            height, width = (space.shape[axis] for axis in axes[-2:])
            self.shape = (int(np.prod(space.shape)) // (height * width), height, width)
        elif flatten:
            is_bytes = space.dtype.name == "uint8" and len(space.shape) == 1
            self.dtype = np.dtype("uint8" if is_bytes else "float32")
            self.shape = (int(np.prod(space.shape)),)
        else:
            self.dtype = space.dtype if space.dtype.name in KEPT_DTYPES else np.dtype("float32")
            self.shape = space.shape
        self.low, self.high = (bound.transpose(self.axes) for bound in (space.low, space.high))

    def describe(self):
        """Describes the space of the rows."""
        return describe_box(self.shape, self.dtype, self.low, self.high)

    def view(self, memory, offset):
        """Returns the row at `offset` as an array in the shape of the environment."""
        row = np.ndarray([self.own_shape[axis] for axis in self.axes], self.dtype, memory, offset)
        return row.transpose(np.argsort(self.axes))

    def write(self, observation, view):
        """Writes an observation to a row."""
        if (
            type(observation) is not np.ndarray
            or observation.shape != self.own_shape
            or observation.dtype != self.own_dtype
        ):
            observation = self.checked(observation)
        view[...] = observation

    def checked(self, observation):
        """Returns an observation of another type as an array, if its shape is right and Gymnasium would convert it."""
        array = np.asarray(observation)
        if array.shape != self.own_shape or not np.can_cast(array.dtype, self.own_dtype, "same_kind"):
            raise Rejected(
                f"the observation has the shape {array.shape} and the type {array.dtype}, but its space is {self.space}"
            )
        return array.astype(self.own_dtype)


def image_axes(space):
    """Returns the order of the axes that puts the channels of an image before its height and width.

    Images are arrays of bytes or bits with channels first or last, or without channels if they are pictures, and stacks of
    images, whose first axis is part of the channels. Other spaces have none.
    """
    shape = space.shape
    if space.dtype.name not in ("uint8", "bool") or not 2 <= len(shape) <= 4:
        return None
    if len(shape) == 2:
        return (0, 1) if min(shape) >= MIN_PICTURE_SIDE else None
    axes = list(range(len(shape)))
    image = axes[-3:]
    channels = channel_axis(*shape[-3:])
    image.insert(0, image.pop(channels))
    axes[-3:] = image
    return tuple(axes) if min(shape[axis] for axis in image[1:]) >= MIN_IMAGE_SIDE else None


def channel_axis(*shape):
    """Returns the axis of the channels of an image: the odd one out of a square image, else the shorter end."""
    first, second, third = shape
    if (first == second) != (second == third):
        return 2 if first == second else 0
    return 0 if first < third else 2


class FlatObservation:
    """Observations of any other space as a vector of float32: `gymnasium.spaces.flatten`."""

    dtype = property(lambda self: np.dtype("float32"))

    def __init__(self, space):
        self.part = flat_part(space, 0, None)
        self.shape = (self.part.length,)

    def describe(self):
        """Describes the space of the rows."""
        return describe_box(self.shape, self.dtype, *self.part.bounds())

    def view(self, memory, offset):
        """Returns the row at `offset`."""
        return np.ndarray(self.shape, self.dtype, memory, offset)

    def write(self, observation, view):
        """Writes an observation to a row."""
        self.part.write(observation, view)


class MixedObservation:
    """Observations of a Dict or Tuple with images: the images one after the other, and all else as a vector of float32."""

    def __init__(self, space):
        self.images = []
        self.part = flat_part(space, 0, self.images)
        if len(self.images) > MAX_IMAGES:
            raise TypeError(space)

    def describe(self):
        """Describes the space of the rows: a tuple."""
        parts = [image.box.describe() for image in self.images]
        if self.part.length:
            parts.append(describe_box((self.part.length,), np.dtype("float32"), *self.part.bounds()))
        return {"kind": "tuple", "parts": parts}

    def view(self, memory, offset):
        """Returns the images and the vector in the row at `offset`."""
        views = []
        for image in self.images:
            views.append(image.box.view(memory, offset))
            offset += views[-1].size
        # Floats are aligned.
        return views, np.ndarray((self.part.length,), np.float32, memory, -(-offset // 4) * 4)

    def write(self, observation, view):
        """Writes an observation to a row."""
        images, flat = view
        self.part.write(observation, flat)
        for image, target in zip(self.images, images):
            image.box.write(image.value, target)


class ImagePart:
    """An image beside a flat vector, of which it takes nothing."""

    length = 0

    def __init__(self, space):
        self.box, self.value = BoxObservation(space, True), None

    def bounds(self):
        """Returns the lowest and the highest values in the vector."""
        return np.zeros(0), np.zeros(0)

    def write(self, value, _):
        """Keeps a value until images are written."""
        self.value = value


class OneHot:
    """A Discrete space in a flat vector."""

    def __init__(self, space, start):
        self.space, self.start, self.length = space, start, int(space.n)
        self.first = int(space.start)

    def bounds(self):
        """Returns the lowest and the highest values."""
        return np.zeros(self.length), np.ones(self.length)

    def write(self, value, flat):
        """Writes a value to its part of the vector."""
        choice = as_integer(value, self.space) - self.first
        if not 0 <= choice < self.length:
            raise Rejected(f"the observation {value} is not in its space {self.space}")
        flat[self.start : self.start + self.length] = 0
        flat[self.start + choice] = 1


class OneHots:
    """A MultiDiscrete space in a flat vector."""

    def __init__(self, space, start):
        counts = space.nvec.ravel()
        self.space, self.start, self.length = space, start, int(counts.sum())
        self.offsets = np.cumsum(counts) - counts

    def bounds(self):
        """Returns the lowest and the highest values."""
        return np.zeros(self.length), np.ones(self.length)

    def write(self, value, flat):
        """Writes a value to its part of the vector."""
        choices = np.asarray(value)
        if choices.shape == self.space.shape:
            choices = choices - self.space.start
        if (
            choices.shape != self.space.shape
            or choices.dtype.kind not in "iub"
            or ((choices < 0) | (choices >= self.space.nvec)).any()
        ):
            raise Rejected(f"the observation {value} is not in its space {self.space}")
        part = flat[self.start : self.start + self.length]
        part[:] = 0
        part[self.offsets + choices.ravel()] = 1


class Plain:
    """A Box or MultiBinary space in a flat vector."""

    def __init__(self, space, start):
        self.space, self.start, self.length = space, start, int(np.prod(space.shape))

    def bounds(self):
        """Returns the lowest and the highest values."""
        if isinstance(self.space, spaces.MultiBinary):
            return np.zeros(self.length), np.ones(self.length)
        return self.space.low.ravel(), self.space.high.ravel()

    def write(self, value, flat):
        """Writes a value to its part of the vector."""
        array = np.asarray(value, dtype=self.space.dtype)
        if array.shape != self.space.shape:
            raise Rejected(f"a part of the observation has the shape {array.shape}, but its space is {self.space}")
        flat[self.start : self.start + self.length] = array.ravel()


class Parts:
    """A Dict or Tuple space in a flat vector."""

    def __init__(self, space, start, images):
        self.space, self.start, self.parts = space, start, []
        named = isinstance(space, spaces.Dict)
        for key, part in space.spaces.items() if named else enumerate(space.spaces):
            self.parts.append((key, flat_part(part, start, images)))
            start += self.parts[-1][1].length
        self.length = start - self.start

    def bounds(self):
        """Returns the lowest and the highest values."""
        bounds = [part.bounds() for _, part in self.parts]
        return tuple(np.concatenate([pair[side] for pair in bounds]) if bounds else np.zeros(0) for side in (0, 1))

    def write(self, value, flat):
        """Writes a value to its part of the vector."""
        try:
            matches = len(value) == len(self.parts)
            values = [value[key] for key, _ in self.parts]
        except (KeyError, IndexError, TypeError):
            matches = False
        if not matches:
            raise Rejected(f"the observation {value!r:.200} is not in its space {self.space}")
        for (_, part), item in zip(self.parts, values):
            part.write(item, flat)


def as_integer(value, space):
    """Returns an integer value of a Discrete space."""
    try:
        return operator.index(value)
    except TypeError:
        array = np.asarray(value)
        if array.size == 1 and array.dtype.kind in "iub":
            return int(array.item())
        raise Rejected(f"the observation {value!r:.200} is not in its space {space}") from None


def flat_part(space, start, images):
    """Returns the part of a flat vector, from `start` on, that holds the values of a space.

    If `images` is a list, images are added to it instead.
    """
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        return Parts(space, start, images)
    if images is not None and isinstance(space, spaces.Box) and image_axes(space) is not None:
        images.append(ImagePart(space))
        return images[-1]
    kinds = {
        spaces.Discrete: OneHot,
        spaces.MultiDiscrete: OneHots,
        spaces.Box: Plain,
        spaces.MultiBinary: Plain,
    }
    for kind, part in kinds.items():
        if isinstance(space, kind):
            return part(space, start)
    raise TypeError(space)


def observation_of(space, flatten):
    """Returns the way in which observations of a space are written. Raises TypeError if it is not supported."""
    if isinstance(space, spaces.Box):
        return BoxObservation(space, flatten)
    mixed = MixedObservation(space) if flatten else None
    return mixed if mixed is not None and mixed.images else FlatObservation(space)


# Spaces of actions.


class DiscreteAction:
    """One integer, counted from 0 in shared memory."""

    def __init__(self, space):
        self.type, self.start = space.dtype.type, int(space.start)
        self.counts = [int(space.n)]
        self.table = [self.type(self.start + choice) for choice in range(min(self.counts[0], MAX_TABLE))]

    def describe(self):
        """Returns the space of the actions in shared memory."""
        return {"kind": "discrete", "n": self.counts[0]}

    def bind(self, memory, offset):
        """Finds the action in shared memory."""
        self.source = memoryview(memory)[offset : offset + 4].cast("i")

    def read(self):
        """Returns the action in shared memory."""
        choice = self.source[0]
        return self.table[choice] if choice < MAX_TABLE else self.type(self.start + choice)


class ArrayAction:
    """An array of integers, counted from 0 in shared memory."""

    def __init__(self, space):
        self.length, self.dtype, self.shape = int(np.prod(space.shape)), space.dtype, space.shape
        is_binary = isinstance(space, spaces.MultiBinary)
        self.counts = [2] * self.length if is_binary else [int(count) for count in space.nvec.ravel()]
        self.start = np.zeros(self.shape, self.dtype) if is_binary else space.start.astype(self.dtype)

    def describe(self):
        """Returns the space of the actions in shared memory."""
        return {"kind": "multi_discrete", "nvec": self.counts}

    def bind(self, memory, offset):
        """Finds the action in shared memory."""
        self.source = np.ndarray(self.shape, np.int32, memory, offset)

    def read(self):
        """Returns the action in shared memory."""
        return self.source.astype(self.dtype) + self.start


class FloatAction:
    """An array of floats."""

    def __init__(self, space):
        self.length, self.dtype, self.shape = int(np.prod(space.shape)), space.dtype, space.shape
        self.low, self.high = space.low, space.high

    def describe(self):
        """Returns the space of the actions in shared memory."""
        return describe_box((self.length,), np.dtype("float32"), self.low, self.high)

    def bind(self, memory, offset):
        """Finds the action in shared memory."""
        self.source = np.ndarray(self.shape, np.float32, memory, offset)

    def read(self):
        """Returns the action in shared memory."""
        return self.source.astype(self.dtype)


def action_of(space, masked):
    """Returns the way in which actions of a space are read. Raises TypeError if it is not supported."""
    if isinstance(space, spaces.Discrete):
        return DiscreteAction(space)
    if isinstance(space, (spaces.MultiDiscrete, spaces.MultiBinary)):
        return ArrayAction(space)
    if isinstance(space, spaces.Box) and space.dtype.kind == "f" and not masked:
        return FloatAction(space)
    raise TypeError(space)


class ActionMask:
    """The options of each choice of an action that are allowed in the current state."""

    def __init__(self, counts):
        self.counts, self.length = counts, sum(counts)
        self.starts = np.cumsum(counts) - counts

    def read(self, info):
        """Returns a mask as zeros and ones."""
        if "action_mask" not in info:
            raise Rejected('the info has no "action_mask", but must have one, because action_masks is set')
        try:
            mask = joined(info["action_mask"])
        except (TypeError, ValueError):
            mask = np.zeros(0)
        if mask.size != self.length or mask.dtype.kind not in "biuf" or ((mask != 0) & (mask != 1)).any():
            expected = f"{self.length} zeros and ones" + (f", for {self.counts} options" if len(self.counts) > 1 else "")
            raise Rejected(f"the action mask is {info['action_mask']!r:.200}, but must be {expected}")
        mask = mask.astype(np.uint8)
        if not np.maximum.reduceat(mask, self.starts).all():
            raise Rejected(f"the action mask {info['action_mask']!r:.200} allows no action")
        return mask

    def everything(self):
        """Returns the mask that allows all options."""
        return np.ones(self.length, np.uint8)

    def bind(self, layout):
        """Learns the length of a row, which is that of the longest mask."""
        self.row_length = layout["mask_bytes"]

    def view(self, memory, offset):
        """Returns the row at `offset`."""
        return np.ndarray(self.row_length, np.uint8, memory, offset)

    def write(self, mask, view):
        """Writes a mask to a row."""
        view[: self.length] = mask
        view[self.length :] = 0


def joined(mask):
    """Returns the arrays of a mask, which may be in tuples, one after the other."""
    if isinstance(mask, (tuple, list)):
        return np.concatenate([joined(part) for part in mask])
    return np.ravel(mask)


def describe_box(shape, dtype, low, high):
    """Describes a Box. Bounds are text, because JSON has no infinity; equal ones are written once."""
    return {
        "kind": "box",
        "shape": list(shape),
        "dtype": dtype.name,
        "low": describe_bounds(low, dtype),
        "high": describe_bounds(high, dtype),
    }


def describe_bounds(bounds, dtype):
    with np.errstate(over="ignore"):
        bounds = np.asarray(bounds).astype(dtype).astype(np.float64).ravel()
    if bounds.size and (bounds == bounds[0]).all():
        bounds = bounds[:1]
    return [repr(float(bound)) for bound in bounds]


# Building environments.


def import_packages():
    """Imports NumPy and Gymnasium."""
    global np, gymnasium, spaces, cloudpickle
    try:
        import gymnasium
        import numpy as np
        from gymnasium import spaces

        # Gymnasium depends on it.
        import cloudpickle
    except ModuleNotFoundError as error:
        raise BuildFailed(kind="module", module=error.name) from error
    if int(gymnasium.__version__.split(".")[0]) < 1:
        raise BuildFailed(kind="version", found=gymnasium.__version__)


def read_definitions(path):
    """Returns the definitions of environments in a file, by name."""
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            # The callables may refer to modules in these directories.
            sys.path.extend(pickle.load(file))
            return pickle.load(file)
    except ModuleNotFoundError as error:
        raise BuildFailed(kind="module", module=error.name) from error
    except Exception as error:
        text = f"{path} cannot be read: {type(error).__name__}: {first_line(error)}"
        raise BuildFailed(kind="definitions", error=text) from error


def make(spec, definition):
    """Makes an environment with its wrappers. `definition` replaces what its name refers to, unless it is None."""
    if spec["module"] is not None and definition is None:
        module = importlib.import_module(spec["module"])
    options = dict(spec["kwargs"])
    if spec["render_mode"] is not None:
        options["render_mode"] = spec["render_mode"]
    steps = spec["max_episode_steps"]
    if spec["kind"] == "gymnasium":
        env = gymnasium.make(definition or spec["target"], max_episode_steps=steps, **options)
    else:
        env = (definition or attribute(module, spec["target"]))(**options)
        if steps is not None:
            env = gymnasium.wrappers.TimeLimit(env, steps)
    for wrapper in spec["wrappers"]:
        module, _, name = wrapper["name"].replace(":", ".").rpartition(".")
        if not module:
            raise Rejected(f"the wrapper {name!r} needs the name of its module, as in gymnasium.wrappers.TimeLimit")
        env = attribute(importlib.import_module(module), name)(env, **wrapper["kwargs"])
    missing = [
        name for name in ("observation_space", "action_space", "reset", "step", "unwrapped") if not hasattr(env, name)
    ]
    if missing:
        raise Rejected(f"{type(env).__name__} is not an environment of Gymnasium: it has no {missing[0]}")
    return env


def make_shown(spec, definition):
    """Makes an environment. If only its render mode prevents that, the error says so."""
    try:
        return make(spec, definition)
    except Exception as error:
        mode = spec["render_mode"]
        if mode is None:
            raise
        env = make({**spec, "render_mode": None}, definition)
        modes = (getattr(env, "metadata", None) or {}).get("render_modes") or ["none"]
        env.close()
        raise Rejected(
            f"the render mode {mode!r} is not possible ({first_line(error)}); possible are {', '.join(modes)}"
        ) from error


def attribute(module, path):
    """Returns an attribute of a module. An error suggests the nearest name."""
    found = module
    for name in path.split("."):
        if not hasattr(found, name):
            nearest = difflib.get_close_matches(name, dir(found), 1)
            hint = f"; the nearest name is {nearest[0]!r}" if nearest else ""
            raise Rejected(f"{found.__name__} has no attribute {name!r}{hint}")
        found = getattr(found, name)
    return found


def make_slot(index, spec, flatten, masked, definition):
    """Makes environment `index`."""
    about = {"env": index, "name": spec["name"]}
    try:
        env = make_shown(spec, definition)
    except ModuleNotFoundError as error:
        raise BuildFailed(kind="module", module=error.name or str(error), **about) from error
    except (Rejected, gymnasium.error.Error) as error:
        raise BuildFailed(kind="make", error=first_line(error), traceback=None, **about) from error
    except Exception as error:
        text = f"{type(error).__name__}: {first_line(error)}"
        raise BuildFailed(kind="make", error=text, traceback=own_traceback(error), **about) from error
    for role, space, parse, supported in [
        ("observation", env.observation_space, lambda space: observation_of(space, flatten), SUPPORTED_OBSERVATIONS),
        (
            "action",
            env.action_space,
            lambda space: action_of(space, masked),
            SUPPORTED_MASKED_ACTIONS if masked else SUPPORTED_ACTIONS,
        ),
    ]:
        try:
            parse(space)
        except TypeError as error:
            raise BuildFailed(kind="space", role=role, space=str(space), supported=supported, **about) from error
    slot = Slot(index, env, flatten, masked)
    if definition is not None:
        # Unlike pickle, it saves instances of classes that no module has.
        slot.dumps = cloudpickle.dumps
    return slot


def first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def own_traceback(error):
    """Returns the traceback of an error without the frames of this file."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).rstrip()


# Stepping environments.


class Memory:
    """The shared memory of the vector environment."""

    def __init__(self, path, size, layout):
        file = os.open(path, os.O_RDWR)
        self.bytes = mmap.mmap(file, size)
        os.close(file)
        self.layout = layout
        self.same_step, self.next_step = layout["mode"] == "SameStep", layout["mode"] == "NextStep"
        words = memoryview(self.bytes)
        self.running = words[layout["running"] :][:8].cast("q")
        self.commands = self.array(layout["commands"], COMMAND_WORDS, "Q")
        self.integers = self.array(layout["results"], RESULT_WORDS, "q")
        self.floats = self.array(layout["results"], RESULT_WORDS, "d")

    def array(self, offset, words, format):
        """Returns the words of all environments from `offset` on."""
        return memoryview(self.bytes)[offset:][: 8 * words * self.layout["num_envs"]].cast(format)


class Rows(dict):
    """The rows of a buffer of observations or masks, by number, whose arrays are created when they are first used."""

    def __init__(self, memory, start, stride, kind):
        super().__init__()
        self.memory, self.start, self.stride, self.kind = memory.bytes, start, stride, kind

    def __missing__(self, row):
        self[row] = self.kind.view(self.memory, self.start + row * self.stride)
        return self[row]


class Slot:
    """One environment, its episode and its places in shared memory."""

    def __init__(self, index, env, flatten, masked):
        self.index = index
        self.observation = observation_of(env.observation_space, flatten)
        self.action_space = env.action_space
        self.action = action_of(self.action_space, masked)
        self.action_mask = ActionMask(self.action.counts) if masked else None
        self.enter(env)
        self.over, self.total, self.length, self.began = False, 0.0, 0, 0.0
        # The part of a command that is running, for messages.
        self.stage, self.last, self.final = "step", None, None
        self.mask, self.final_mask = None, None
        # A state that has been loaded but not restored.
        self.staged = None
        self.dumps = pickle.dumps

    def describe(self):
        """Describes the spaces of observations and actions."""
        return {"observation": self.observation.describe(), "action": self.action.describe()}

    def bind(self, memory):
        """Finds the places of this environment in shared memory."""
        layout = memory.layout
        self.memory = memory
        stride = layout["observation_stride"]
        self.rows = Rows(memory, layout["observations"], stride, self.observation)
        self.final_rows = Rows(memory, layout["final_observations"], stride, self.observation)
        if self.action_mask is not None:
            self.action_mask.bind(layout)
            stride = -(-layout["mask_bytes"] // 8) * 8
            self.mask_rows = Rows(memory, layout["action_masks"], stride, self.action_mask)
            self.final_mask_rows = Rows(memory, layout["final_action_masks"], stride, self.action_mask)
        self.command, self.place = COMMAND_WORDS * self.index, RESULT_WORDS * self.index
        self.action.bind(memory.bytes, layout["actions"] + self.index * layout["action_stride"])
        # Attributes of attributes, found once instead of at every step.
        self.commands, self.floats, self.integers = memory.commands, memory.floats, memory.integers
        self.read_action, self.write = self.action.read, self.observation.write

    def enter(self, env):
        """Uses an environment from now on."""
        self.env, self.step_env = env, env.step
        # The action space of the innermost environment is cheaper to compare than that of the outermost.
        self.inside = env.unwrapped if hasattr(env.unwrapped, "action_space") else env
        self.action_space_inside = self.inside.action_space

    def perform(self):
        """Carries out the command in shared memory."""
        self.stage = "step"
        kind, row = self.commands[self.command], self.commands[self.command + 1]
        if kind == STEP and not self.over:
            self.step(row)
        elif kind == STEP:
            self.reset(None)
            self.finish(row, AUTORESET)
        elif kind == RESET or kind == RESET_WITH_SEED:
            self.reset(self.commands[self.command + 2] if kind == RESET_WITH_SEED else None)
            self.finish(row, 0)
        elif kind == RESTORE:
            self.restore(row)
        else:
            self.finish(row, AUTORESET if kind == IDLE else 0)

    def step(self, row):
        """Steps the environment, and resets it if the mode is SameStep and the episode has ended."""
        place = self.place
        self.length += 1
        self.last, reward, terminated, truncated, info = self.step_env(self.read_action())
        try:
            self.floats[place] = reward
        except TypeError:
            found = f"{reward!r:.200} of the type {type(reward).__name__}"
            raise Rejected(f"the reward is {found}, but must be a number") from None
        # As it is in shared memory: a sum of float32 would be rounded at every step.
        self.total += self.floats[place]
        if self.inside.action_space is not self.action_space_inside:
            self.check_action_space()
        if self.action_mask is not None:
            # No action follows a terminated step.
            self.mask = self.action_mask.everything() if terminated else self.action_mask.read(info)
        if terminated or truncated:
            flags = (TERMINATED if terminated else 0) | (TRUNCATED if truncated else 0) | ENDED | STEPPED
            self.end(row, self.floats[place], flags)
            return
        self.show(row)
        # The return and the duration are read only at the end of an episode.
        self.integers[place + 3], self.integers[place + 4] = self.length, STEPPED

    def end(self, row, reward, flags):
        """Reports the end of an episode."""
        result = (reward, self.total, time.perf_counter() - self.began, self.length)
        if self.memory.same_step:
            # Environments may reuse the memory of observations.
            self.final, self.final_mask = copy.deepcopy(self.last), self.mask
            self.show_final(row)
            self.reset(None)
        else:
            self.over = True
            flags |= OVER
        self.show(row)
        self.report((*result, flags))

    def show(self, row):
        """Writes the current observation and its mask."""
        self.write(self.last, self.rows[row])
        if self.action_mask is not None:
            self.action_mask.write(self.mask, self.mask_rows[row])

    def show_final(self, row):
        """Writes the last observation of the episode that ended, and its mask."""
        self.write(self.final, self.final_rows[row])
        if self.action_mask is not None:
            self.action_mask.write(self.final_mask, self.final_mask_rows[row])

    def report(self, result):
        """Writes a result: the reward, the return, the seconds and the length of the episode, and flags."""
        place = self.place
        self.floats[place], self.floats[place + 1], self.floats[place + 2] = result[:3]
        self.integers[place + 3], self.integers[place + 4] = result[3:]

    def finish(self, row, flags):
        """Reports the current observation with reward 0."""
        self.show(row)
        self.report((0.0, 0.0, 0.0, self.length, flags | (OVER if self.over else 0)))

    def reset(self, seed):
        """Starts an episode."""
        self.stage, self.length = "reset", 0
        self.last, info = self.env.reset(seed=seed)
        self.over, self.total = False, 0.0
        self.began = time.perf_counter()
        self.check_action_space()
        if self.action_mask is not None:
            self.mask = self.action_mask.read(info)

    def check_action_space(self):
        """Raises an error if the action space is no longer the one that the learner knows."""
        if self.env.action_space != self.action_space:
            raise Rejected(f"the action space was {self.action_space}, but is now {self.env.action_space}")
        self.enter(self.env)

    def render(self):
        """Returns the height, the width and the bytes of a frame."""
        mode = getattr(self.env, "render_mode", None)
        if mode != "rgb_array":
            raise Rejected(f"the render mode is {mode!r}, but must be 'rgb_array'")
        try:
            frame = np.asarray(self.env.render())
        except (ImportError, NotImplementedError, gymnasium.error.DependencyNotInstalled) as error:
            raise Rejected(first_line(error)) from error
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
            found = f"the shape {frame.shape} and the type {frame.dtype}"
            raise Rejected(f"the frame has {found}, but must be (height, width, 3) of uint8")
        return frame.shape[0], frame.shape[1], np.ascontiguousarray(frame).tobytes()

    def render_fps(self):
        """Returns the number of frames in a second at the usual speed, or None."""
        fps = (getattr(self.env, "metadata", None) or {}).get("render_fps")
        return float(fps) if isinstance(fps, (int, float)) and 0 < fps < 1e6 else None

    def save(self):
        """Returns the state of the environment and its episode."""
        layer = self.env
        while layer is not None:
            if isinstance(layer, gymnasium.utils.EzPickle):
                name = type(layer).__name__
                raise Rejected(f"{name} is an EzPickle, which saves only the arguments of its constructor")
            layer = layer.env if isinstance(layer, gymnasium.Wrapper) else None
        seconds = time.perf_counter() - self.began
        place = self.place
        result = (*self.floats[place : place + 3], *self.integers[place + 3 : place + 5])
        state = (self.env, self.last, self.final, self.over, self.total, self.length, seconds, result)
        if self.action_mask is not None:
            state += (self.mask, self.final_mask)
        return self.dumps(state, pickle.HIGHEST_PROTOCOL)

    def load(self, state):
        """Reads a state without changing anything."""
        env, *rest = pickle.loads(state)
        if env.action_space != self.action_space or env.observation_space != self.env.observation_space:
            raise Rejected("its spaces differ from those of the environment")
        has_masks = len(rest) > 7
        if has_masks != (self.action_mask is not None):
            raise Rejected("it has " + ("action masks" if has_masks else "no action masks"))
        self.staged = (env, *rest)

    def restore(self, row):
        """Continues the state that was loaded."""
        self.stage = "restore"
        former = self.env
        env, self.last, self.final, self.over, self.total, self.length, seconds, result, *masks = self.staged
        self.enter(env)
        self.staged = None
        if self.action_mask is not None:
            self.mask, self.final_mask = masks
        self.began = time.perf_counter() - seconds
        if self.memory.same_step and result[4] & ENDED:
            self.show_final(row)
        self.show(row)
        self.report(result)
        former.close()


class Worker:
    """The environments of this process and the requests that it answers."""

    def __init__(self, pipes):
        self.pipes, self.slots, self.memory = pipes, [], None

    def serve(self):
        """Answers requests until the parent closes the pipe."""
        pipes = self.pipes
        while True:
            pipes.wait()
            (count,) = struct.unpack("=I", pipes.read(4))
            if count == CONTROL:
                self.control(*pipes.read_frame())
                continue
            slots = self.slots
            if count != ALL:
                slots = [slots[index] for index in struct.unpack(f"={count}I", pipes.read(4 * count))]
            if self.each(slots, Slot.perform) is not None:
                pipes.write(DONE)

    def each(self, slots, method, stage=None):
        """Calls a method of environments, and notes in shared memory which one is running.

        `stage` is the name of the method in messages; None stands for commands, which have their own. Returns the results. Sends an error instead, and returns None, if one of them fails.
        """
        running, results = self.memory.running, []
        try:
            for slot in slots:
                running[0] = slot.index
                results.append(method(slot))
        except Rejected as error:
            self.fail(slot, stage, str(error), None)
            return None
        except BaseException as error:
            text = f"{type(error).__name__}: {first_line(error)}"
            self.fail(slot, stage, text, own_traceback(error))
            return None
        running[0] = -1
        return results

    def fail(self, slot, stage, error, trace):
        """Sends the error of an environment."""
        about = {"env": slot.index, "stage": stage or slot.stage, "step": slot.length}
        self.pipes.write_frame(FAILED, {**about, "error": error, "traceback": trace})

    def control(self, request, data):
        """Answers a request in JSON."""
        getattr(self, request.pop("request"))(data, **request)

    def build(self, _, first, paths, definitions, flatten, action_masks, specs):
        """Makes the environments, and replies with their spaces."""
        sys.path[:0] = paths
        try:
            import_packages()
            defined = read_definitions(definitions)
            index = first
            for spec in specs:
                for _ in range(spec["count"]):
                    self.slots.append(make_slot(index, spec, flatten, action_masks, defined.get(spec["name"])))
                    index += 1
        except BuildFailed as error:
            self.pipes.write_frame(REPLY, {"fault": error.details})
            return
        distinct, indices = [], []
        for slot in self.slots:
            described = slot.describe()
            if described not in distinct:
                distinct.append(described)
            indices.append(distinct.index(described))
        self.pipes.write_frame(REPLY, {"spaces": {"distinct": distinct, "indices": indices}})

    def attach(self, _, path, size, layout):
        """Maps the shared memory."""
        self.memory = Memory(path, size, layout)
        for slot in self.slots:
            slot.bind(self.memory)
        self.pipes.write_frame(REPLY, {})

    def snapshot(self, _):
        """Replies with the state of each environment."""
        states = self.each(self.slots, Slot.save, "snapshot")
        if states is not None:
            self.pipes.write_frame(REPLY, {"sizes": [len(state) for state in states]}, b"".join(states))

    def restore(self, data, sizes):
        """Reads a state for each environment. The command RESTORE continues it."""
        states, start = {}, 0
        for slot, size in zip(self.slots, sizes):
            states[slot.index] = data[start : start + size]
            start += size
        if self.each(self.slots, lambda slot: slot.load(states[slot.index]), "restore") is not None:
            self.pipes.write_frame(REPLY, {})

    def render(self, _, env):
        """Replies with a frame of an environment."""
        slot = self.slots[env - self.slots[0].index]
        frames = self.each([slot], Slot.render, "render")
        if frames is not None:
            height, width, pixels = frames[0]
            self.pipes.write_frame(REPLY, {"height": height, "width": width}, pixels)

    def render_fps(self, _, env):
        """Replies with the number of frames in a second of an environment."""
        rates = self.each([self.slots[env - self.slots[0].index]], Slot.render_fps, "render_fps")
        if rates is not None:
            self.pipes.write_frame(REPLY, {"fps": rates[0]})

    def close(self):
        """Closes the environments. Errors no longer matter."""
        for slot in self.slots:
            try:
                slot.env.close()
            except Exception:
                pass


def ignore(*_):
    """Handles a signal by doing nothing."""


def prepare(parent):
    """Prepares this process for signals and the end of its parent."""
    # The terminal and schedulers send signals to all processes. The parent decides when this one ends. A handler,
    # unlike SIG_IGN, is not inherited by programs that environments start.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), ignore)
    # Crashes and, on request, endless steps leave a traceback.
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    if sys.platform == "linux":
        # The kernel ends this process with its parent, even while a step does not return.
        death_signal = 1
        ctypes.CDLL(None).prctl(death_signal, signal.SIGKILL, 0, 0, 0)
    # The parent may have ended before that.
    if os.getppid() != parent:
        os._exit(0)


def main():
    pipes = Pipes(float(sys.argv[2]))
    prepare(int(sys.argv[1]))
    worker = Worker(pipes)
    try:
        worker.serve()
    except (EOFError, BrokenPipeError):
        worker.close()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads and exit handlers of environments must not keep the process.
    os._exit(0)


if __name__ == "__main__":
    main()
