"""Records pictures of all tasks in pictures.txt, or for another seed in another file.

Needs gymnasium[mujoco] 1.4.0, mujoco 3.17.0 or 4.0.0, numpy 2.4.6, PyOpenGL and libOSMesa:

    python record_pictures.py [FILE SEED]

Lines are
    ID FRAMES_PER_SECOND
    VIEW STEPS DIGEST CELLS
The digest is the beginning of the SHA-256 of the pixels. Cells are the mean colours of 6 x 6 parts of the picture. The
view `fixed` is Gymnasium's camera, where it was for the first picture. `following` is the same camera, moved
horizontally by as much as the torso has moved since. Actions are drawn from `numpy.random.default_rng(SEED)`. To
compare all pixels with those of Gymnasium, drawn on the same machine:

    python record_pictures.py FILE SEED && ALE_TRAIN_MUJOCO_PICTURES=FILE cargo test -p mujoco pictures
"""

import os
import sys
from hashlib import sha256
from pathlib import Path

os.environ["MUJOCO_GL"] = "osmesa"

import gymnasium
import mujoco
import numpy

TASKS = [
    "Ant-v4", "Ant-v5", "HalfCheetah-v4", "HalfCheetah-v5", "Hopper-v4", "Hopper-v5", "Humanoid-v4", "Humanoid-v5",
    "HumanoidStandup-v4", "HumanoidStandup-v5", "InvertedDoublePendulum-v4", "InvertedDoublePendulum-v5",
    "InvertedPendulum-v4", "InvertedPendulum-v5", "Pusher-v5", "Reacher-v4", "Reacher-v5", "Swimmer-v4", "Swimmer-v5",
    "Walker2d-v4", "Walker2d-v5",
]  # fmt: skip
# The numbers of steps after which pictures are drawn.
STEPS = [0, 1, 20]
CELLS = 6


def line(view, steps, picture):
    side = picture.shape[0] // CELLS
    cells = picture.reshape(CELLS, side, CELLS, side, 3).mean((1, 3)).round().astype(numpy.uint8)
    return f"{view} {steps} {sha256(picture.tobytes()).hexdigest()[:16]} {cells.tobytes().hex()}"


def torso(env):
    body = mujoco.mj_name2id(env.unwrapped.model, mujoco.mjtObj.mjOBJ_BODY, "torso")
    return numpy.zeros(3) if body == -1 else env.unwrapped.data.xpos[body].copy()


def record(env, seed):
    generator = numpy.random.default_rng(seed)
    env.reset(seed=seed)
    first = torso(env)
    yield f"{env.spec.id} {env.metadata['render_fps']}"
    for step in range(max(STEPS) + 1):
        if step in STEPS:
            yield line("fixed", step, env.render())
        if step < max(STEPS):
            low, high = (bound.astype(numpy.float64) for bound in (env.action_space.low, env.action_space.high))
            env.step(generator.uniform(low, high).astype(numpy.float32))
    env.unwrapped.mujoco_renderer.viewer.cam.lookat[:2] += (torso(env) - first)[:2]
    yield line("following", step, env.render())


def main():
    file, seed = (Path(sys.argv[1]), int(sys.argv[2])) if sys.argv[1:] else (Path(__file__).parent / "pictures.txt", 0)
    # Deleting an environment frees objects of the context that is current then, which may be that of another one.
    envs = [gymnasium.make(id, render_mode="rgb_array", disable_env_checker=True) for id in TASKS]
    lines = [f"seed {seed}"]
    for env in envs:
        lines.extend(record(env, seed))
    file.write_text("\n".join(lines) + "\n")


main()
