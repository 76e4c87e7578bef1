"""The sides that do each kind of work in this process."""

import sides
import single
import xla

# ale-train has no act loop in Python.
OURS = {
    "together": sides.AleTrain,
    "single": single.AleTrainSingle,
    "vector": sides.AleTrain,
    "xla": xla.AleTrainScan,
    "xla-calls": xla.AleTrainCalls,
    "reset": sides.AleTrainReset,
    "seeded-reset": sides.AleTrainReset,
}
PEERS = {
    "together": {"ale-py": sides.AleSeveral, "envpool": sides.EnvPoolSeveral, "gymnasium": sides.GymnasiumAsync},
    "emulator": {"ale-py": sides.AleEmulator},
    "interpreted": {"ale-py": sides.AleEmulator},
    "single": {"ale-py": single.AleSingle},
    "vector": {"ale-py": sides.AleVector, "envpool": sides.EnvPool},
    "xla": {"env.step": sides.AleTrain, "ale-py": xla.AleScan},
    "xla-calls": {"env.step": sides.AleTrain, "ale-py": xla.AleCalls},
    "reset": {"ale-py": sides.AleReset, "envpool": sides.EnvPoolReset},
    "seeded-reset": {"ale-py": sides.AleReset},
}
# `env.step` is that of ale-train, without JAX.
NAMES = ["env.step", "ale-py", "envpool", "gymnasium"]
