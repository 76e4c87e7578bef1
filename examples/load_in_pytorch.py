"""Loads the weights written by `ale-train export` into PyTorch modules like those of CleanRL's agents.

    pip install torch safetensors
    python examples/load_in_pytorch.py agent.safetensors

`load` returns a function from observations to the outputs for the actions of one game, and the list of the games. For PPO these
are the logits and the state values, followed by the state of a recurrent network, to pass with the next observations. For DQN
and PQN they are the action values: one value per action, or the atoms of its distribution. Values are in the scale in which the
agent learned them (with PopArt, normalised: see `network` in the metadata). If an action is several choices (`choices` in the
metadata), a network has outputs for the options of each. For games whose actions were factored they are combined into outputs
for the actions, logits into log-probabilities and values into means; else they are returned side by side. If the metadata has
`rescale_observations` = true, observations must be rescaled from the bounds of their space to -1 to 1 first.
"""

import json
import sys

import torch
from safetensors import safe_open
from torch import nn


# The size and the stride of each convolution.
KERNELS = {"nature": ((8, 4), (4, 2), (3, 1)), "data_efficient": ((5, 5), (5, 5))}


class ResidualBlock(nn.Module):
    def __init__(self, channels, norms):
        super().__init__()
        self.conv0, self.conv1 = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.norm0, self.norm1 = norms

    def forward(self, x):
        return x + self.conv1(torch.relu(self.norm1(self.conv0(torch.relu(self.norm0(x))))))


class ConvSequence(nn.Module):
    def __init__(self, channels, norms):
        super().__init__()
        self.conv = nn.LazyConv2d(channels, 3, padding=1)
        self.res_block0, self.res_block1 = (ResidualBlock(channels, norms[i : i + 2]) for i in (0, 2))

    def forward(self, x):
        x = nn.functional.max_pool2d(self.conv(x), 3, stride=2, padding=1)
        return self.res_block1(self.res_block0(x))


class NoisyLinear(nn.Module):
    """A noisy layer in evaluation mode: without noise."""

    def __init__(self, weights, name):
        super().__init__()
        for part in ("weight_mu", "weight_sigma", "bias_mu", "bias_sigma"):
            setattr(self, part, nn.Parameter(torch.empty(weights[f"{name}.{part}"].shape)))

    def forward(self, x):
        return nn.functional.linear(x, self.weight_mu, self.bias_mu)


def load(path, task=0):
    with safe_open(path, framework="pt") as file:
        weights = {name: file.get_tensor(name) for name in file.keys()}
        meta = file.metadata()
    tasks, atoms = json.loads(meta["tasks"]), int(meta["num_atoms"])
    if any("num_components" in task for task in tasks):
        raise ValueError(f"{path} is an agent with continuous actions; this script loads agents with discrete actions")
    ppo, is_image = meta["algorithm"] == "ppo", len(json.loads(meta["observation_shape"])) == 3

    def linear(name):
        noisy = f"{name}.weight_mu" in weights
        return NoisyLinear(weights, name) if noisy else nn.LazyLinear(len(weights[f"{name}.bias"]))

    def norm(name):
        found = f"{name}.weight" in weights
        return [nn.LayerNorm(weights[f"{name}.weight"].shape)] if found else []

    def hidden(name, index, activation=nn.ReLU):
        return [linear(f"{name}.{index}"), *norm(f"{name}.{index + 1}"), activation()]

    network = []  # the index of the next layer is len(network)
    if is_image and json.loads(meta["torso"]) == "impala":
        for i in range(3):
            blocks = [f"network.{i}.res_block{block}.norm{n}" for block in (0, 1) for n in (0, 1)]
            norms = [(norm(name) or [nn.Identity()])[0] for name in blocks]
            network.append(ConvSequence(len(weights[f"network.{i}.conv.bias"]), norms))
        last = norm("network.3")
        network += [*last, nn.ReLU(), nn.Flatten()] if last else [nn.Flatten(), nn.ReLU()]
    elif is_image:
        for kernel, stride in KERNELS[json.loads(meta["torso"])]:
            channels = len(weights[f"network.{len(network)}.bias"])
            network += [nn.LazyConv2d(channels, kernel, stride), *norm(f"network.{len(network) + 1}"), nn.ReLU()]
        network.append(nn.Flatten())
    else:
        network += hidden("network", 0, nn.Tanh if ppo else nn.ReLU)
    heads = {}
    if ppo:
        last_hidden = hidden("network", len(network), nn.ReLU if is_image else nn.Tanh)
        heads = {"actor": linear("actor"), "critic": linear("critic")}
        if "lstm.weight_hh_l0" in weights:
            heads["lstm"] = nn.LSTM(len(weights[f"network.{len(network)}.bias"]), weights["lstm.weight_hh_l0"].shape[1])
    elif any(name.startswith("value_head") for name in weights):
        last_hidden = []
        for head in ("advantage_head", "value_head"):
            stream = hidden(head, 0)
            heads[head] = nn.Sequential(*stream, linear(f"{head}.{len(stream)}"))
    else:
        last_hidden = hidden("network", len(network))
        last_hidden.append(linear(f"network.{len(network) + len(last_hidden)}"))
    features = len(network)
    agent = nn.ModuleDict({"network": nn.Sequential(*network, *last_hidden), **heads})
    embedding = weights.pop("game_embedding.weight", None)
    statistics = {name: weights.pop(f"obs_rms.{name}", None) for name in ("mean", "var", "count")}
    agent.load_state_dict(weights)

    columns = tasks[task]["shared"]
    choices, factors = tasks[task].get("choices", [len(columns)]), tasks[task].get("factors")
    firsts = [sum(choices[:choice]) for choice in range(len(choices))]

    def select(all_outputs, width):  # the outputs of this task
        if width == 1 and json.loads(meta["head"]) == "shared" and not ppo:
            return all_outputs.unflatten(1, (1, atoms))
        if width > 1 and json.loads(meta["head"]) == "shared":
            return all_outputs.unflatten(1, (-1, atoms))[:, columns]
        return all_outputs.unflatten(1, (len(tasks), -1, atoms))[:, task, : min(width, len(columns))]

    def legal(choice, beginning):  # the columns of the options with which an action goes on
        options = range(choices[choice]) if factors is None else (f[choice] for f in factors if f[:choice] == beginning)
        return [firsts[choice] + option for option in sorted(set(options))]

    def centred(advantage):  # less the mean over the legal options of each choice
        options = [
            range(size) if factors is None else sorted({f[choice] for f in factors}) for choice, size in enumerate(choices)
        ]
        parts = zip(advantage.split(choices, 1), options)
        return torch.cat([part - part[:, list(own)].mean(1, keepdim=True) for part, own in parts], 1)

    def policy(logits):  # of the actions
        if factors is None:
            return logits
        steps = [[(firsts[c] + option, legal(c, f[:c])) for c, option in enumerate(f)] for f in factors]
        log_probs = [sum(logits[:, at] - logits[:, among].logsumexp(1) for at, among in path) for path in steps]
        return torch.stack(log_probs, 1)

    def values(of_options):  # of the actions
        if factors is None:
            return of_options
        means = [of_options[:, [firsts[c] + option for c, option in enumerate(f)]].mean(1) for f in factors]
        return torch.stack(means, 1)

    def act(observations, state=None):  # uint8 images or floats; the last state of a recurrent network
        scale = 255.0 if observations.dtype == torch.uint8 else 1.0
        x = observations / scale
        if statistics["mean"] is not None:  # of the observations of each task, so far
            x = ((x - statistics["mean"][task]) / (statistics["var"][task] + 1e-8).sqrt()).clamp(-10, 10)
        x = agent["network"][:features](x)
        if embedding is not None:
            x = torch.cat([x, embedding[task].expand(len(x), -1)], 1)
        x = agent["network"][features:](x)
        if "lstm" in heads:
            x, state = agent["lstm"](x[None], state)
            return policy(select(agent["actor"](x[0]), len(columns)).squeeze(2)), agent["critic"](x[0])[:, task], state
        if ppo:
            return policy(select(agent["actor"](x), len(columns)).squeeze(2)), agent["critic"](x)[:, task]
        if heads:
            advantage = select(agent["advantage_head"](x), len(columns))
            return values(centred(advantage) + select(agent["value_head"](x), 1))
        return values(select(x, len(columns)))

    return act, tasks


if __name__ == "__main__":
    for task in load(sys.argv[1])[1]:
        print(f"{task['name']}: {task.get('num_actions') or task['choices']} actions")
