"""Lists the environments of ale-py by the entry points in Gymnasium's registry."""

import ale_py
import gymnasium

gymnasium.register_envs(ale_py)
for id, spec in sorted(gymnasium.registry.items()):
    if str(spec.entry_point).startswith("ale_py."):
        print(id, spec.entry_point, spec.vector_entry_point, spec.kwargs)
