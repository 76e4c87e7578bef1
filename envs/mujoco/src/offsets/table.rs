//! Written by `generate.py` from the headers of MuJoCo.

use super::Offsets;

pub(super) const TABLE: [Offsets; 1] = [Offsets {
    version: 3017000,
    integration_state: 16383,
    body_object: 1,
    timestep: 792,
    nq: 0,
    nv: 8,
    nu: 16,
    nbody: 48,
    nsite: 144,
    ntendon: 480,
    qpos0: 1792,
    body_mass: 1944,
    actuator_ctrlrange: 4992,
    qpos: 160688,
    qvel: 160696,
    ctrl: 160736,
    xpos: 160840,
    xipos: 160864,
    site_xpos: 160912,
    ten_length: 161112,
    ten_velocity: 161264,
    cinert: 160976,
    cvel: 161280,
    qfrc_actuator: 161408,
    qfrc_constraint: 161432,
    cfrc_ext: 161464,
}];
