"""Gradient steps of Soft Actor-Critic, from the formulas of Haarnoja et al. 2018 (arXiv 1812.05905) and Fujimoto et al. 2018,
with the order of steps of CleanRL's settings: the critics, then the policy and the temperature several times."""

import torch
from torch.distributions import Normal, TanhTransform, TransformedDistribution

from dqn import STEPS, Experience
from networks import Case, adam, gradient_norm, learnable, linear, moments, norm, random_linear, random_norm

WIDTH = 6
CONFIG = {
    "total_steps": 1000,
    "policy_lr": 3e-3,
    "q_lr": 2e-3,
    "buffer_size": 160,
    "gamma": 0.9,
    "tau": 0.05,
    "batch_size": 19,
    "learning_starts": 1,
    "train_ratio": 1e-3,
    "policy_frequency": 2,
}
# One task with three components, and two tasks with one and three.
ONE = Case([4], [[0, 1, 2]], [0, 0, 0])
TWO = Case([3], [[0], [0, 1, 2]], [0, 1, 1, 0], same_step=True)

# The environments, and the settings of SAC and of its network.
RECORDINGS = {
    "sac_one_task": (ONE, {}, {}),
    "sac_two_tasks": (TWO, {"target_entropy_scale": 0.5, "policy_frequency": 3}, {"layer_norm": True}),
    "sac_fixed_temperature": (TWO, {"autotune": False, "alpha": 0.3, "policy_frequency": 1}, {}),
}


class Numbers(Experience):
    """Random steps with continuous actions, padded with zeros."""

    def __init__(self, case, generator):
        super().__init__(case, generator)
        self.actions = 2 * torch.rand(STEPS, case.num_envs, case.max_actions, generator=generator) - 1
        for env, task in enumerate(case.task_ids):
            self.actions[:, env, len(case.actions[task]) :] = 0


class Networks:
    """A policy and two critics."""

    def __init__(self, case, layer_norm, generator):
        self.case, self.layer_norm = case, layer_norm
        (length,), width, tasks = case.observation, case.max_actions, len(case.actions)
        policy, critics = {}, {}
        self.hidden_weights(policy, "actor", length, generator)
        for output in ["fc_mean", "fc_logstd"]:
            random_linear(policy, f"actor.{output}", WIDTH, tasks * width, generator)
        for critic in ["qf1", "qf2"]:
            self.hidden_weights(critics, critic, length + width, generator)
            random_linear(critics, f"{critic}.fc3", WIDTH, tasks, generator)
        self.policy, self.critics = learnable(policy), learnable(critics)

    def hidden_weights(self, weights, prefix, inputs, generator):
        for layer, count in [(1, inputs), (2, WIDTH)]:
            random_linear(weights, f"{prefix}.fc{layer}", count, WIDTH, generator)
            if self.layer_norm:
                random_norm(weights, f"{prefix}.norm{layer}", [WIDTH], generator)

    def features(self, weights, prefix, inputs):
        for layer in [1, 2]:
            inputs = linear(weights, f"{prefix}.fc{layer}", inputs)
            if self.layer_norm:
                inputs = norm(weights, f"{prefix}.norm{layer}", inputs)
            inputs = torch.relu(inputs)
        return inputs

    def act(self, observations, task_ids, noise):
        """Returns actions [rows, width] with their log-densities [rows]."""
        features = self.features(self.policy, "actor", self.case.inputs(observations))
        means, own = self.case.select(linear(self.policy, "actor.fc_mean", features), task_ids, False)
        raw, _ = self.case.select(linear(self.policy, "actor.fc_logstd", features), task_ids, False)
        deviations = torch.exp(-5 + 3.5 * (torch.tanh(raw) + 1))
        tanh = TanhTransform(cache_size=1)
        actions = tanh(means + deviations * noise.double())
        log_probs = TransformedDistribution(Normal(means, deviations), tanh).log_prob(actions)
        return actions * own, (log_probs * own).sum(1)

    def values(self, critics, observations, actions, task_ids):
        """Returns the values of both critics, [rows] each."""
        inputs = torch.cat([self.case.inputs(observations), actions.double()], 1)
        rows = torch.arange(len(task_ids))
        outputs = [linear(critics, f"{name}.fc3", self.features(critics, name, inputs)) for name in ["qf1", "qf2"]]
        return [output[rows, task_ids] for output in outputs]


def record(name, generator):
    """Returns the description and the tensors of a recording."""
    case, sac, policy = RECORDINGS[name]
    config = {"autotune": True, "target_entropy_scale": 1.0} | CONFIG | sac
    networks = Networks(case, policy.get("layer_norm", False), generator)
    target = Networks(case, policy.get("layer_norm", False), generator).critics
    before = networks.policy | networks.critics
    tensors = {f"weights.{key}": value.detach().clone() for key, value in before.items()}
    tensors |= {f"target.{key}": value.detach().clone() for key, value in (before | target).items()}
    log_alpha = torch.randn(len(case.actions), generator=generator).double().requires_grad_()
    tensors["log_alpha"] = log_alpha.detach().clone()
    experience = Numbers(case, generator)
    tensors |= experience.tensors()

    count, gamma = config["batch_size"], config["gamma"]
    possible = [(env, number) for env in range(case.num_envs) for number in range(experience.ready(env, 1))]
    draws = [possible[index] for index in torch.randperm(len(possible), generator=generator)[:count]]
    tensors["draws"] = torch.tensor(draws, dtype=torch.int32).flatten()
    task_ids = [case.task_ids[env] for env, _ in draws]
    steps = [experience.transitions(env)[number] for env, number in draws]
    rows = list(zip(steps, [env for env, _ in draws]))
    observations = torch.stack([experience.observations[row] for row in rows])
    actions = torch.stack([experience.actions[row] for row in rows])
    returns = [experience.n_step(env, number, 1, gamma) for env, number in draws]
    rewards = torch.tensor([float(of[0]) for of in returns], dtype=torch.float64)
    discounts = torch.tensor([of[1] for of in returns], dtype=torch.float64)
    successors = torch.stack([of[2] for of in returns])
    assert 0 < (discounts == 0).sum() < count
    noise = torch.randn(1 + config["policy_frequency"], count, case.max_actions, generator=generator)
    tensors |= {"successor_noise": noise[0], "policy_noise": noise[1:]}

    def alphas():
        return log_alpha.exp()[task_ids] if config["autotune"] else torch.full((count,), config["alpha"]).double()

    with torch.no_grad():
        next_actions, log_probs = networks.act(successors, task_ids, noise[0])
        values = torch.minimum(*networks.values(target, successors, next_actions, task_ids))
        targets = rewards + discounts * (values - alphas() * log_probs)
    q_optimizer = adam(networks.critics, config["q_lr"], 1e-8)
    predicted = networks.values(networks.critics, observations, actions, task_ids)
    losses = [((values - targets) ** 2).mean() for values in predicted]
    sum(losses).backward()
    tensors |= {
        "targets": targets,
        "qf_loss": (sum(losses) / 2).reshape(1),
        "qf1_values": predicted[0].mean().reshape(1),
        "qf2_values": predicted[1].mean().reshape(1),
        "grad_norm": gradient_norm(networks.critics).reshape(1),
    }
    q_optimizer.step()

    policy_optimizer = adam(networks.policy, config["policy_lr"], 1e-8)
    alpha_optimizer = adam({"log_alpha": log_alpha}, config["q_lr"], 1e-8)
    entropies = torch.tensor([-config["target_entropy_scale"] * len(case.actions[task]) for task in task_ids])
    metrics = {"actor_loss": [], "entropy": [], "alpha_loss": []}
    for of_step in noise[1:]:
        policy_optimizer.zero_grad()
        new_actions, log_probs = networks.act(observations, task_ids, of_step)
        values = torch.minimum(*networks.values(networks.critics, observations, new_actions, task_ids))
        loss = (alphas().detach() * log_probs - values).mean()
        loss.backward()
        policy_optimizer.step()
        metrics["actor_loss"].append(loss.detach())
        metrics["entropy"].append(-log_probs.mean().detach())
        if config["autotune"]:
            alpha_optimizer.zero_grad()
            alpha_loss = (-alphas() * (log_probs.detach() + entropies)).mean()
            alpha_loss.backward()
            alpha_optimizer.step()
            metrics["alpha_loss"].append(alpha_loss.detach())
    tensors |= {key: value for key, value in metrics.items() if value}
    tensors["new_log_alpha"] = log_alpha.detach()
    after = networks.policy | networks.critics
    tensors |= {f"new_weights.{key}": value.detach() for key, value in after.items()}
    tensors |= moments(networks.policy, policy_optimizer) | moments(networks.critics, q_optimizer)
    description = case.description() | {"actions": [], "components": [len(own) for own in case.actions]}
    return description | {"learner": CONFIG | sac, "policy": {"hidden_size": WIDTH} | policy}, tensors
