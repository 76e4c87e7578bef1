"""Records updates of learners in PyTorch. Tests of the crate compare its own updates with them.

    pip install torch safetensors
    python algorithms/tests/updates/record.py

Each file holds the weights before, what was learned from, the losses, the weights after and the moments of Adam. This code
is written from the formulas of the papers, in double precision, and shares nothing with the crate but the names of weights.
Without a name it records all files.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

import discrete_sac
import dqn
import ppo
import pqn
import sac

DIRECTORY = Path(__file__).resolve().parent
RECORDERS = {name: module for module in [ppo, dqn, pqn, sac, discrete_sac] for name in module.RECORDINGS}


def stored(value):
    """Returns a tensor as it is stored: floats with 32 bits, flags as bytes."""
    value = torch.stack(value) if isinstance(value, list) else value
    if value.is_floating_point():
        value = value.float()
    elif value.dtype == torch.bool:
        value = value.to(torch.uint8)
    return value.detach().contiguous()


def main(names):
    # The same sums on every machine, and no waiting threads.
    torch.set_num_threads(1)
    for name in names or RECORDERS:
        generator = torch.Generator().manual_seed(sum(map(ord, name)))
        description, tensors = RECORDERS[name].record(name, generator)
        tensors = {key: stored(value) for key, value in tensors.items()}
        save_file(tensors, DIRECTORY / f"{name}.safetensors", {"recording": json.dumps(description)})
        metrics = {key: value.tolist() for key, value in tensors.items() if value.dim() == 1 and "." not in key}
        print(name, metrics)


if __name__ == "__main__":
    main(sys.argv[1:])
