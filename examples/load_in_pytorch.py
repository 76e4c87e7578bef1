"""Loads what `ale-train export` writes into PyTorch, with the modules of CleanRL's ppo_atari.py.

    pip install torch safetensors
    python examples/load_in_pytorch.py agent.safetensors

`load` returns a function from observations to the logits of one game's actions, and the values.
"""

import json
import sys

import torch
from safetensors import safe_open
from torch import nn


def load(path, task=0):
    with safe_open(path, framework="pt") as file:
        weights = {name: file.get_tensor(name) for name in file.keys()}
        tasks = json.loads(file.metadata()["tasks"])
    if weights["network.0.weight"].dim() == 4:  # pictures
        layers = [nn.LazyConv2d(32, 8, stride=4), nn.ReLU(), nn.LazyConv2d(64, 4, stride=2), nn.ReLU()]
        layers += [nn.LazyConv2d(64, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(512), nn.ReLU()]
    else:  # vectors
        layers = [nn.LazyLinear(64), nn.Tanh(), nn.LazyLinear(64), nn.Tanh()]
    heads = {"actor": nn.LazyLinear(len(weights["actor.bias"])), "critic": nn.LazyLinear(len(tasks))}
    agent = nn.ModuleDict({"network": nn.Sequential(*layers), **heads})
    agent.load_state_dict(weights)

    def act(observations):  # bytes of pictures, or floats
        scale = 255.0 if observations.dtype == torch.uint8 else 1.0
        features = agent["network"](observations / scale)
        logits = agent["actor"](features).unflatten(1, (len(tasks), -1))
        return logits[:, task, : tasks[task]["num_actions"]], agent["critic"](features)[:, task]

    return act, tasks


if __name__ == "__main__":
    print(*(f"{task['name']}: {task['num_actions']} actions" for task in load(sys.argv[1])[1]), sep="\n")
