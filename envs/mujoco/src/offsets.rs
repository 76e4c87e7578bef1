//! The offsets of the fields of MuJoCo's structures, for each supported version.
//!
//! The fields of `mjModel` and `mjData` move with every version. `offsets/generate.py` writes the table from MuJoCo's
//! headers.

mod table;

use std::ffi::c_int;

/// Constants of one version. For each field of a structure, the offset in bytes.
#[derive(Debug)]
pub(crate) struct Offsets {
    /// As `mj_version` returns it: three digits each for minor and patch version.
    pub(crate) version: c_int,
    /// `mjSTATE_INTEGRATION`, which selects everything that future steps depend on.
    pub(crate) integration_state: c_int,
    /// `mjOBJ_BODY`.
    pub(crate) body_object: c_int,
    /// `mjCAT_ALL`, which selects everything that can be drawn.
    pub(crate) all_categories: c_int,
    /// `mjFONTSCALE_150`.
    pub(crate) font_scale: c_int,
    /// `mjFB_OFFSCREEN`.
    pub(crate) offscreen_buffer: c_int,

    // Fields of `mjModel`.
    pub(crate) timestep: usize,
    pub(crate) extent: usize,
    pub(crate) nq: usize,
    pub(crate) nv: usize,
    pub(crate) nu: usize,
    pub(crate) nbody: usize,
    pub(crate) ngeom: usize,
    pub(crate) nsite: usize,
    pub(crate) ntendon: usize,
    pub(crate) qpos0: usize,
    pub(crate) body_mass: usize,
    pub(crate) actuator_ctrlrange: usize,

    // Fields of `mjData`.
    pub(crate) qpos: usize,
    pub(crate) qvel: usize,
    pub(crate) ctrl: usize,
    pub(crate) xpos: usize,
    pub(crate) xipos: usize,
    pub(crate) geom_xpos: usize,
    pub(crate) site_xpos: usize,
    pub(crate) ten_length: usize,
    pub(crate) ten_velocity: usize,
    pub(crate) cinert: usize,
    pub(crate) cvel: usize,
    pub(crate) qfrc_actuator: usize,
    pub(crate) qfrc_constraint: usize,
    pub(crate) cfrc_ext: usize,

    // Fields of `mjvCamera`.
    pub(crate) lookat: usize,
    pub(crate) distance: usize,
    pub(crate) elevation: usize,

    // The sizes of structures for pictures in bytes, all aligned to 8 bytes at most.
    pub(crate) camera_size: usize,
    pub(crate) option_size: usize,
    pub(crate) perturbation_size: usize,
    pub(crate) scene_size: usize,
    pub(crate) context_size: usize,
}

impl Offsets {
    /// Returns the constants of a version, if it is supported.
    pub(crate) fn for_version(version: c_int) -> Option<&'static Self> {
        table::TABLE.iter().find(|offsets| offsets.version == version)
    }

    /// Iterates over the names of the supported versions.
    pub(crate) fn supported() -> impl Iterator<Item = String> {
        table::TABLE.iter().map(|offsets| version_name(offsets.version))
    }
}

/// Returns the name of a version, such as 3.17.0.
pub(crate) fn version_name(version: c_int) -> String {
    format!("{}.{}.{}", version / 1_000_000, version / 1000 % 1000, version % 1000)
}
