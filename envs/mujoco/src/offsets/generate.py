"""Writes table.rs: where each version of MuJoCo keeps the fields of its structures, from the headers in its wheels.

Needs a C compiler and pip, which installs the packages that ../versions.rs names into temporary directories. Then run
`cargo fmt`.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

MODEL_COUNTS = ["nq", "nv", "nu", "nbody", "ngeom", "nsite", "ntendon"]
MODEL_ARRAYS = ["qpos0", "body_mass", "actuator_ctrlrange"]
DATA_ARRAYS = [
    "qpos", "qvel", "ctrl", "xpos", "xipos", "geom_xpos", "site_xpos", "ten_length", "ten_velocity", "cinert", "cvel",
    "qfrc_actuator", "qfrc_constraint", "cfrc_ext",
]  # fmt: skip
CAMERA_NUMBERS = ["distance", "elevation"]
# The structures for pictures, whose memory the crate provides.
STRUCTURES = {
    "camera_size": "mjvCamera", "option_size": "mjvOption", "perturbation_size": "mjvPerturb", "scene_size": "mjvScene",
    "context_size": "mjrContext",
}  # fmt: skip

# Compilation fails if a field has a type that the crate does not expect.
PROGRAM = """
#include <mujoco/mujoco.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#define IS(value, type) _Static_assert(_Generic((value), type: 1, default: 0), #value)
static mjModel model;
static mjData data;
static mjvCamera camera;
int main(void) {
  %(checks)s
  IS(model.opt.timestep, double);
  IS(model.stat.extent, double);
  IS(&camera.lookat[0], double*);
  _Static_assert(sizeof(camera.lookat) == 3 * sizeof(double), "three coordinates");
  printf("    Offsets {\\n        version: %%d,\\n", mjVERSION_HEADER);
  printf("        integration_state: %%d,\\n        body_object: %%d,\\n", mjSTATE_INTEGRATION, mjOBJ_BODY);
  printf("        all_categories: %%d,\\n        font_scale: %%d,\\n", mjCAT_ALL, mjFONTSCALE_150);
  printf("        offscreen_buffer: %%d,\\n", mjFB_OFFSCREEN);
  printf("        timestep: %%zu,\\n", offsetof(mjModel, opt) + offsetof(mjOption, timestep));
  printf("        extent: %%zu,\\n", offsetof(mjModel, stat) + offsetof(mjStatistic, extent));
  %(prints)s
  printf("    },\\n");
}
"""


def program():
    checks = [f"IS(model.{name}, int64_t);" for name in MODEL_COUNTS]
    checks += [f"IS(model.{name}, double*);" for name in MODEL_ARRAYS]
    checks += [f"IS(data.{name}, double*);" for name in DATA_ARRAYS]
    checks += [f"IS(camera.{name}, double);" for name in CAMERA_NUMBERS]
    checks += [f'_Static_assert(_Alignof({structure}) <= 8, "alignment");' for structure in STRUCTURES.values()]
    fields = [("mjModel", name) for name in MODEL_COUNTS + MODEL_ARRAYS] + [("mjData", name) for name in DATA_ARRAYS]
    fields += [("mjvCamera", name) for name in ["lookat", *CAMERA_NUMBERS]]
    prints = [f'printf("        {name}: %zu,\\n", offsetof({structure}, {name}));' for structure, name in fields]
    prints += [f'printf("        {name}: %zu,\\n", sizeof({structure}));' for name, structure in STRUCTURES.items()]
    return PROGRAM % {"checks": "\n  ".join(checks), "prints": "\n  ".join(prints)}


def entry(package):
    with tempfile.TemporaryDirectory() as directory:
        install = ["install", "--quiet", "--no-deps", "--only-binary=:all:", "--target", directory, package]
        subprocess.run([sys.executable, "-m", "pip", *install], check=True)
        source, binary = Path(directory, "offsets.c"), Path(directory, "offsets")
        source.write_text(program())
        include = Path(directory, "mujoco", "include")
        subprocess.run(["cc", "-std=c11", "-I", include, "-o", binary, source], check=True)
        return subprocess.run([binary], check=True, capture_output=True, text=True).stdout


def main():
    versions = Path(__file__).parent.with_name("versions.rs").read_text()
    entries = [entry(package) for package in re.findall(r'package: "(.+)"', versions)]
    text = "//! Written by `generate.py` from the headers of MuJoCo.\n\nuse super::Offsets;\n\n"
    text += f"pub(super) const TABLE: [Offsets; {len(entries)}] = [\n{''.join(entries)}];\n"
    Path(__file__).with_name("table.rs").write_text(text)


main()
