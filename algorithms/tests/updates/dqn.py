"""Gradient steps of DQN and Rainbow, from the formulas of Mnih et al. 2015, van Hasselt et al. 2016, Wang et al. 2016,
Schaul et al. 2016, Bellemare et al. 2017, Dabney et al. 2018, Fortunato et al. 2018 and Hessel et al. 2018."""

import math

import torch

from networks import Case, adam, clip, moments
from q_network import QNetwork

WIDTH = 6
STEPS = 14
# Errors are known of the steps that were complete after this many; later ones have the highest priority of their task.
KNOWN_AFTER = 9
CONFIG = {
    "total_steps": 1000,
    "learning_rate": 2e-3,
    "adam_epsilon": 1e-5,
    "buffer_size": 160,
    "learning_starts": 1,
    "train_ratio": 1e-3,
    "gamma": 0.9,
    "batch_size": 9,
}
RAINBOW = {
    "n_step": 3,
    "double": True,
    "dueling": True,
    "noisy": True,
    "prioritized": True,
    "per_alpha": 0.6,
    "per_beta": 0.4,
    "distribution": "c51",
    "num_atoms": 7,
    "v_min": -2.0,
    "v_max": 3.0,
    "max_grad_norm": 0.1,
}
IMAGES = Case([2, 36, 36], [[6, 3, 1]], [0, 0])
VECTORS = Case([3], [[6, 3], [0, 1, 2, 3, 4]], [0, 1, 1, 0])
SAME_STEP = Case([3], [[6, 3], [0, 1, 2, 3, 4]], [0, 1, 1, 0], same_step=True)

# The environments, and the settings of DQN and of its network.
RECORDINGS = {
    "dqn_images": (IMAGES, {}, {}),
    "dqn_double": (
        SAME_STEP,
        {"double": True, "dueling": True, "loss": "huber", "n_step": 2, "max_grad_norm": 0.3},
        {"head": "shared"},
    ),
    "dqn_prioritized": (VECTORS, {"prioritized": True, "per_alpha": 0.7, "n_step": 2}, {}),
    "dqn_quantile": (VECTORS, {"distribution": "quantile", "num_atoms": 5}, {"value_scale": "h"}),
    "dqn_rainbow": (VECTORS, RAINBOW, {}),
    "dqn_rainbow_same_step": (SAME_STEP, RAINBOW, {}),
}


def h(value):
    """Pohlen et al. 2018."""
    return value.sign() * (torch.sqrt(value.abs() + 1) - 1) + 0.01 * value


def inverse_h(scaled):
    """Solves h(x) = scaled by bisection."""
    low, high = torch.full_like(scaled, -1e6), torch.full_like(scaled, 1e6)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = torch.where(h(middle) < scaled, middle, low), torch.where(h(middle) < scaled, high, middle)
    return (low + high) / 2


class Experience:
    """Random steps of all environments, and the complete n-step returns from them."""

    def __init__(self, case, generator):
        envs = case.num_envs
        self.observations = case.random_observations(generator, STEPS + 1, envs)
        self.final_observations = case.random_observations(generator, STEPS, envs)
        uniform = torch.rand(STEPS, envs, generator=generator)
        self.terminated, self.truncated = uniform < 0.12, uniform > 0.88
        self.autoreset = torch.zeros(STEPS, envs, dtype=torch.bool)
        if not case.same_step:
            for step in range(1, STEPS):
                self.autoreset[step] = self.terminated[step - 1] | self.truncated[step - 1]
                self.terminated[step] &= ~self.autoreset[step]
                self.truncated[step] &= ~self.autoreset[step]
        self.rewards = torch.randn(STEPS, envs, generator=generator) * ~self.autoreset
        counts = torch.tensor([len(case.actions[task]) for task in case.task_ids])
        self.actions = (torch.rand(STEPS, envs, generator=generator) * counts).int()
        self.case = case

    def transitions(self, env, until=STEPS):
        return [step for step in range(until) if not self.autoreset[step, env]]

    def n_step(self, env, number, n, gamma, until=STEPS):
        """Returns the discounted rewards, the discount of the bootstrap and the observation for it; nothing while the
        return is incomplete."""
        steps = self.transitions(env, until)[number:]
        rewards, discount = 0.0, 1.0
        for count, step in enumerate(steps[:n], 1):
            rewards += discount * self.rewards[step, env].double()
            discount *= gamma
            terminated, truncated = self.terminated[step, env], self.truncated[step, env]
            if terminated or truncated or count == n:
                stored = self.final_observations[step] if self.case.same_step else self.observations[step + 1]
                return rewards, 0.0 if terminated else discount, stored[env]
        return None

    def ready(self, env, n, until=STEPS):
        """Returns the number of steps with a complete return."""
        count = len(self.transitions(env, until))
        return sum(self.n_step(env, number, n, 1.0, until) is not None for number in range(count))

    def tensors(self):
        return {name: getattr(self, name) for name in [*self.case.step_names(), "actions"]}


def priorities(case, experience, n, alpha, errors):
    """Returns for each task its (environment, number, priority), environment by environment."""
    result, place = [[] for _ in case.actions], 0
    for env, task in enumerate(case.task_ids):
        known = experience.ready(env, n, KNOWN_AFTER)
        result[task] += [(env, number, abs(errors[place + number])) for number in range(known)]
        place += known
    assert place == len(errors)
    for task, of_task in enumerate(result):
        largest = max([1.0] + [error + 1e-6 for _, _, error in of_task])
        for env in (env for env, own in enumerate(case.task_ids) if own == task):
            known = experience.ready(env, n, KNOWN_AFTER)
            new = range(known, experience.ready(env, n))
            of_task += [(env, number, largest - 1e-6) for number in new]
        of_task[:] = sorted((env, number, (error + 1e-6) ** alpha) for env, number, error in of_task)
    return result


def prioritized_draws(case, experience, config, errors, count, uniform):
    """Returns the drawn (environment, number), and their importance weights: from each of equal parts of the cumulative
    priorities one step."""
    tasks = priorities(case, experience, config["n_step"], config["per_alpha"], errors)
    draws, weights = [], []
    uniform = iter(uniform)
    observed = sum(len(experience.transitions(env)) for env in range(case.num_envs))
    beta = config["per_beta"] + (1 - config["per_beta"]) * observed / config["total_steps"]
    for task, of_task in enumerate(tasks):
        share = count // len(tasks) + (task < count % len(tasks))
        total = sum(priority for _, _, priority in of_task)
        for part in range(share):
            position, end = (part + next(uniform)) / share * total, 0.0
            for env, number, priority in of_task:
                end += priority
                if position < end:
                    break
            draws.append((env, number))
            weights.append((len(of_task) * priority / total) ** -beta)
    return draws, torch.tensor(weights, dtype=torch.float64) / max(weights)


def project(support, returns, probabilities):
    """Bellemare et al. 2017, algorithm 1, as a matrix of shares."""
    step = support[1] - support[0]
    returns = returns.clamp(support[0], support[-1])
    shares = (1 - (returns.unsqueeze(2) - support).abs() / step).clamp(min=0)
    return (shares * probabilities.unsqueeze(2)).sum(1)


def quantile_loss(quantiles, targets):
    """Dabney et al. 2018, equation 10."""
    count = quantiles.shape[1]
    levels = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    losses = torch.zeros(len(quantiles), dtype=torch.float64)
    for i in range(count):
        for j in range(targets.shape[1]):
            error = targets[:, j] - quantiles[:, i]
            huber = torch.where(error.abs() <= 1, error**2 / 2, error.abs() - 0.5)
            losses = losses + (levels[i] - (error < 0).double()).abs() * huber / targets.shape[1]
    return losses


def record(name, generator):
    """Returns the description and the tensors of a recording."""
    case, dqn, policy = RECORDINGS[name]
    config = {"n_step": 1, "per_beta": 0.4, "distribution": "mean", "loss": "mse", "num_atoms": 1} | CONFIG | dqn
    options = {
        "atoms": config["num_atoms"],
        "dueling": config.get("dueling", False),
        "noisy": config.get("noisy", False),
        "shared": policy.get("head") == "shared",
    }
    online = QNetwork(case, WIDTH, generator, **options)
    target = QNetwork(case, WIDTH, generator, **options)
    tensors = {f"weights.{key}": value.detach().clone() for key, value in online.weights.items()}
    tensors |= {f"target.{key}": value.detach() for key, value in target.weights.items()}
    experience = Experience(case, generator)
    tensors |= experience.tensors()
    n, gamma, count = config["n_step"], config["gamma"], config["batch_size"]

    if config.get("prioritized"):
        known = sum(experience.ready(env, n, KNOWN_AFTER) for env in range(case.num_envs))
        errors = 3 * torch.randn(known, generator=generator)
        uniform = torch.randint(0, 1 << 53, (count,), generator=generator)
        errors_before = errors.double().tolist()
        draws, importance = prioritized_draws(
            case, experience, config, errors_before, count, (uniform.double() / (1 << 53)).tolist()
        )
        tensors |= {"errors": errors, "uniform": uniform, "importance": importance}
    else:
        possible = [(env, number) for env in range(case.num_envs) for number in range(experience.ready(env, n))]
        order = torch.randperm(len(possible), generator=generator)[:count]
        draws, importance = [possible[index] for index in order], torch.ones(count, dtype=torch.float64)
    tensors["draws"] = torch.tensor(draws, dtype=torch.int32).flatten()

    noises = {}
    for place, network in [("target", target), ("selection", online), ("online", online)]:
        if config.get("noisy"):
            pairs, noises[place] = network.draw_noise(generator)
            tensors[f"noise_{place}"] = pairs
    task_ids = [case.task_ids[env] for env, _ in draws]
    steps = [experience.transitions(env)[number] for env, number in draws]
    observations = torch.stack([experience.observations[step, env] for step, (env, _) in zip(steps, draws)])
    actions = torch.tensor([int(experience.actions[step, env]) for step, (env, _) in zip(steps, draws)])
    returns = [experience.n_step(env, number, n, gamma) for env, number in draws]
    rewards = torch.tensor([float(of[0]) for of in returns], dtype=torch.float64).unsqueeze(1)
    discounts = torch.tensor([of[1] for of in returns], dtype=torch.float64).unsqueeze(1)
    successors = torch.stack([of[2] for of in returns])
    rows = torch.arange(count)

    kind = config["distribution"]
    expand, squash = (inverse_h, h) if policy.get("value_scale") == "h" else (lambda x: x, lambda x: x)
    support = torch.linspace(config.get("v_min", 0), config.get("v_max", 1), config["num_atoms"], dtype=torch.float64)

    def means(outputs):
        if kind == "c51":
            return (torch.softmax(outputs, 2) * support).sum(2)
        return expand(outputs).mean(2)

    with torch.no_grad():
        next_outputs, legal = target.outputs(successors, task_ids, noises.get("target"))
        judged = next_outputs
        if config.get("double"):
            judged, _ = online.outputs(successors, task_ids, noises.get("selection"))
        best = means(judged).masked_fill(~legal, -math.inf).argmax(1)
        chosen = next_outputs[rows, best]
        if kind == "c51":
            targets = project(support, rewards + discounts * support, torch.softmax(chosen, 1))
        else:
            targets = squash(rewards + discounts * expand(chosen))

    optimizer = adam(online.weights, config["learning_rate"], config["adam_epsilon"])
    outputs, _ = online.outputs(observations, task_ids, noises.get("online"))
    predicted = outputs[rows, actions]
    if kind == "c51":
        losses = -(targets * torch.log_softmax(predicted, 1)).sum(1)
        new_errors = losses
    elif kind == "quantile":
        losses = quantile_loss(predicted, targets)
        new_errors = losses
    else:
        difference = (predicted - targets)[:, 0]
        huber = torch.where(difference.abs() <= 1, difference**2 / 2, difference.abs() - 0.5)
        losses = huber if config["loss"] == "huber" else difference**2
        new_errors = difference.abs()
    loss = (importance * losses).mean()
    loss.backward()
    size = clip(online.weights, config.get("max_grad_norm"))
    optimizer.step()
    tensors |= {
        "td_loss": loss.reshape(1),
        "grad_norm": size.reshape(1),
        "q_values": means(predicted.unsqueeze(1)).mean().reshape(1),
    }
    if config.get("prioritized"):
        # A step that was drawn twice has the same error both times.
        tensors["new_priorities"] = (new_errors + 1e-6) ** config["per_alpha"]
    tensors |= {f"new_weights.{key}": value.detach() for key, value in online.weights.items()}
    tensors |= moments(online.weights, optimizer)
    learner = CONFIG | dqn
    return case.description() | {"learner": learner, "policy": {"width": 0.125, "hidden_size": WIDTH} | policy}, tensors
