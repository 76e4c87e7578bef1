"""Records the outputs of exported agents in PyTorch. tests/application/export.rs compares those of the Rust networks.

    cargo build
    pip install torch safetensors
    python tests/data/record_torch.py target/debug/ale-train

Trains small agents for a few updates, so that no bias is 0, exports them and loads the files with
envs/python/python/ale_train/pytorch.py. For each agent, tests/data/torch/NAME.state is its state in the checkpoint, and
tests/data/torch/outputs.json has the digest of the exported weights and PyTorch's outputs for fixed observations.
"""

import hashlib
import importlib.util
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors import safe_open

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/torch"

# The observations of each kind of task, without the rows.
IMAGES = [4, 44, 44]
VECTORS = [6]

SMALL = ["policy.width=0.125", "policy.hidden_size=8"]
IMPALA = [*SMALL, "policy.torso=impala"]
SHARED = ["policy.hidden_size=8", "policy.head=shared", "policy.game_embedding=3"]
FACTORED = [
    "environments.factored_actions=true",
    "environments.full_action_space=true",
    "policy.head=shared",
    "dqn.dueling=true",
]
ALGORITHMS = {
    "ppo": ["ppo.num_steps=16"],
    "pqn": ["pqn.num_steps=16"],
    "dqn": ["dqn.learning_starts=40", "dqn.buffer_size=1000", "dqn.batch_size=8", "replay.in_checkpoint=false"],
}
# The algorithm, the observations and the settings of each agent.
AGENTS = {
    "nature": ("ppo", IMAGES, [*SMALL, "policy.layer_norm=false"]),
    "nature_dqn": ("dqn", IMAGES, SMALL),
    "nature_pqn": ("pqn", IMAGES, SMALL),
    "data_efficient": ("dqn", IMAGES, [*SMALL, "policy.torso=data_efficient", "dqn.dueling=true", "dqn.noisy=true"]),
    "impala": ("ppo", IMAGES, [*IMPALA, "policy.layer_norm=false"]),
    "impala_normalized": ("ppo", IMAGES, [*IMPALA, "policy.layer_norm=true", "policy.head=shared"]),
    "impala_pqn": ("pqn", IMAGES, IMPALA),
    "heads": ("ppo", VECTORS, ["policy.hidden_size=8"]),
    "normalized": ("ppo", VECTORS, ["policy.hidden_size=8", "policy.normalize_observations=true"]),
    "shared_ppo": ("ppo", VECTORS, SHARED),
    "shared_dqn": ("dqn", VECTORS, SHARED),
    "shared_pqn": ("pqn", VECTORS, SHARED),
    "recurrent": ("ppo", VECTORS, ["policy.hidden_size=8", "policy.lstm=8"]),
    "factored_ppo": ("ppo", IMAGES, [*SMALL, "environments.factored_actions=true"]),
    "factored_dqn": ("dqn", IMAGES, [*SMALL, *FACTORED]),
    "rainbow": (
        "dqn",
        VECTORS,
        [
            "policy.hidden_size=8",
            "dqn.dueling=true",
            "dqn.noisy=true",
            "dqn.distribution=quantile",
            "dqn.num_atoms=5",
            "dqn.n_step=3",
        ],
    ),
}
ENVIRONMENTS_PER_TASK = 2


def train(program, algorithm, observation, settings, directory):
    """Trains and exports an agent. Returns its state and the path of the export."""
    games, frames = ("harvest", 1024) if observation == IMAGES else ("CartPole-v1,Acrobot-v1", 512)
    run, export = directory / "run", directory / "agent.safetensors"
    command = [program, algorithm, "--games", games, "--num-envs", ENVIRONMENTS_PER_TASK, "--total-frames", frames]
    command += ["--num-threads", 1, "--set", "evaluation.episodes=0", "--quiet", "--run-dir", run]
    for setting in [*ALGORITHMS[algorithm], *settings]:
        command += ["--set", setting]
    for arguments in (command, [program, "export", run, "--out", export]):
        subprocess.run([str(argument) for argument in arguments], check=True, stdout=subprocess.DEVNULL)
    checkpoint = max((run / "checkpoints").iterdir())
    return (checkpoint / "learner.bin").read_bytes(), export


def digest(path):
    """Returns the SHA-256 of all tensors of a file, with their names and shapes."""
    sha256 = hashlib.sha256()
    with safe_open(path, framework="pt") as file:
        for name in sorted(file.keys()):
            tensor = file.get_tensor(name).contiguous()
            shape = ",".join(map(str, tensor.shape))
            sha256.update(f"{name} {shape} ".encode() + tensor.numpy().tobytes())
    return sha256.hexdigest()


def observations(shape, rows):
    """Returns the observations that tests/application/export.rs uses too."""
    numbers = [(index * 151 + 7) % 256 for index in range(rows * math.prod(shape))]
    if shape == IMAGES:
        return torch.tensor(numbers, dtype=torch.uint8).reshape(rows, *shape)
    return ((torch.tensor(numbers, dtype=torch.float32) - 128) / 128).reshape(rows, *shape)


def outputs(loader, path, shape):
    """Returns log-probabilities or action values of every row, each for the task of its environment."""
    tasks = loader.load(path).tasks
    batch = observations(shape, ENVIRONMENTS_PER_TASK * len(tasks))
    rows = []
    for task in range(len(tasks)):
        with torch.no_grad():
            result = loader.load(path, task)(batch)
        result = torch.log_softmax(result[0], 1) if isinstance(result, tuple) else result.mean(2)
        rows += result[task * ENVIRONMENTS_PER_TASK : (task + 1) * ENVIRONMENTS_PER_TASK].tolist()
    return rows


def main(program):
    spec = importlib.util.spec_from_file_location("loader", ROOT / "envs/python/python/ale_train/pytorch.py")
    loader = sys.modules["loader"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loader)
    DATA.mkdir(exist_ok=True)
    records = []
    for name, (algorithm, shape, settings) in AGENTS.items():
        with tempfile.TemporaryDirectory() as directory:
            state, export = train(program, algorithm, shape, settings, Path(directory))
            records.append(
                {
                    "name": name,
                    "algorithm": algorithm,
                    "is_image": shape == IMAGES,
                    "weights": digest(export),
                    "outputs": outputs(loader, export, shape),
                }
            )
        (DATA / f"{name}.state").write_bytes(state)
    lines = ",\n".join(json.dumps(record) for record in records)
    (DATA / "outputs.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
