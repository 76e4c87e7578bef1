//! The state of a simulation.
#![expect(unsafe_code, reason = "fields of a C structure")]

use std::ptr::NonNull;
use std::sync::Arc;

use rl_env::{EnvError, interrupt};
use serde::{Deserialize, Serialize};

use crate::library::RawData;
use crate::model::{Model, read, slice};

/// The number of MuJoCo's steps between two polls for an interruption.
const STEPS_PER_POLL: u32 = 1024;

/// An array of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// `qpos`: positions of the joints.
    Positions,
    /// `qvel`: velocities of the joints.
    Velocities,
    /// `ctrl`: the action.
    Controls,
    /// `xpos`: origins of the bodies, three coordinates each.
    BodyPositions,
    /// `xipos`: centres of mass of the bodies, three coordinates each.
    MassCenters,
    /// `geom_xpos`: centres of the geometric bodies that are drawn, three coordinates each.
    GeomPositions,
    /// `site_xpos`: positions of the sites, three coordinates each.
    SitePositions,
    /// `ten_length`: lengths of the tendons.
    TendonLengths,
    /// `ten_velocity`: velocities of the tendons.
    TendonVelocities,
    /// `cinert`: mass and inertia of the bodies, ten numbers each.
    Inertias,
    /// `cvel`: rotational and linear velocities of the bodies, six numbers each.
    BodyVelocities,
    /// `qfrc_actuator`: forces of the actuators on the joints.
    ActuatorForces,
    /// `qfrc_constraint`: forces of the constraints on the joints.
    ConstraintForces,
    /// `cfrc_ext`: torques and forces from outside on the bodies, six numbers each.
    ContactForces,
}

impl Field {
    /// The arrays that MuJoCo computes during a step and that are not part of its state. They belong to the state
    /// before the last integration, so that they cannot be recomputed from the current state.
    const DERIVED: [Self; 10] = [
        Self::BodyPositions,
        Self::MassCenters,
        Self::SitePositions,
        Self::TendonLengths,
        Self::TendonVelocities,
        Self::Inertias,
        Self::BodyVelocities,
        Self::ActuatorForces,
        Self::ConstraintForces,
        Self::ContactForces,
    ];

    /// Returns the offset of the pointer to the array, and the length of the array.
    fn location(self, model: &Model) -> (usize, usize) {
        let (offsets, sizes) = (model.library().offsets, &model.sizes);
        match self {
            Self::Positions => (offsets.qpos, sizes.positions),
            Self::Velocities => (offsets.qvel, sizes.velocities),
            Self::Controls => (offsets.ctrl, sizes.controls),
            Self::BodyPositions => (offsets.xpos, 3 * sizes.bodies),
            Self::MassCenters => (offsets.xipos, 3 * sizes.bodies),
            Self::GeomPositions => (offsets.geom_xpos, 3 * sizes.geoms),
            Self::SitePositions => (offsets.site_xpos, 3 * sizes.sites),
            Self::TendonLengths => (offsets.ten_length, sizes.tendons),
            Self::TendonVelocities => (offsets.ten_velocity, sizes.tendons),
            Self::Inertias => (offsets.cinert, 10 * sizes.bodies),
            Self::BodyVelocities => (offsets.cvel, 6 * sizes.bodies),
            Self::ActuatorForces => (offsets.qfrc_actuator, sizes.velocities),
            Self::ConstraintForces => (offsets.qfrc_constraint, sizes.velocities),
            Self::ContactForces => (offsets.cfrc_ext, 6 * sizes.bodies),
        }
    }

    /// Returns the length of the array.
    pub(crate) fn len(self, model: &Model) -> usize {
        self.location(model).1
    }
}

/// Everything that future steps and the current observation depend on.
#[derive(Serialize, Deserialize)]
pub(crate) struct State {
    /// `mjSTATE_INTEGRATION`.
    integration: Vec<f64>,
    /// The arrays of [`Field::DERIVED`].
    derived: Vec<f64>,
}

/// A simulation of a model.
pub(crate) struct Simulation {
    model: Arc<Model>,
    raw: NonNull<RawData>,
}

// SAFETY: the structure has no connection to the thread that made it.
unsafe impl Send for Simulation {}

impl Simulation {
    /// Creates a simulation in the initial state.
    pub(crate) fn new(model: Arc<Model>) -> Self {
        // SAFETY: the model is valid.
        let raw = unsafe { (model.library().make_data)(model.as_ptr()) };
        let raw = NonNull::new(raw).expect("MuJoCo reports an error if there is no memory");
        Self { model, raw }
    }

    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    pub(crate) fn as_ptr(&self) -> *mut RawData {
        self.raw.as_ptr()
    }

    /// Returns an array of the state.
    pub(crate) fn values(&self, field: Field) -> &[f64] {
        let (offset, length) = field.location(&self.model);
        // SAFETY: a pointer to 64-bit floats is at the offset, as `generate.py` checks; the length is the field's.
        unsafe { slice(self.raw.as_ptr(), offset, length) }
    }

    fn values_mut(&mut self, field: Field) -> &mut [f64] {
        let (offset, length) = field.location(&self.model);
        if length == 0 {
            return &mut [];
        }
        // SAFETY: as in `values`; the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(read(self.raw.as_ptr(), offset), length) }
    }

    /// Returns the coordinates of a body.
    pub(crate) fn body_position(&self, body: usize) -> [f64; 3] {
        self.values(Field::BodyPositions).as_chunks().0[body]
    }

    /// Restarts the simulation with these positions and velocities.
    pub(crate) fn start(&mut self, positions: &[f64], velocities: &[f64]) {
        // SAFETY: the structures belong together.
        unsafe { (self.model.library().reset_data)(self.model.as_ptr(), self.raw.as_ptr()) };
        self.values_mut(Field::Positions).copy_from_slice(positions);
        self.values_mut(Field::Velocities).copy_from_slice(velocities);
        // SAFETY: as above.
        unsafe { (self.model.library().forward)(self.model.as_ptr(), self.raw.as_ptr()) };
    }

    /// Simulates `steps` of MuJoCo's steps with constant controls, fewer after an [interruption](interrupt).
    pub(crate) fn advance(&mut self, action: &[f32], steps: u32) {
        for (control, &value) in self.values_mut(Field::Controls).iter_mut().zip(action) {
            *control = f64::from(value);
        }
        let library = self.model.library();
        // SAFETY: the structures belong together.
        unsafe {
            for step in 0..steps {
                (library.step)(self.model.as_ptr(), self.raw.as_ptr());
                if step % STEPS_PER_POLL == STEPS_PER_POLL - 1 && interrupt::poll() {
                    break;
                }
            }
            // The steps compute contact forces only if the model has sensors for them.
            (library.rne_post_constraint)(self.model.as_ptr(), self.raw.as_ptr());
        }
    }

    /// Returns the length of the part of the state that MuJoCo integrates.
    fn integration_length(&self) -> usize {
        let library = self.model.library();
        // SAFETY: the model is valid.
        let length = unsafe { (library.state_size)(self.model.as_ptr(), library.offsets.integration_state) };
        length as usize
    }

    pub(crate) fn state(&self) -> State {
        let library = self.model.library();
        let mut integration = vec![0.0; self.integration_length()];
        let parts = library.offsets.integration_state;
        // SAFETY: the buffer has the length that MuJoCo asks for.
        unsafe {
            (library.copy_state_out)(self.model.as_ptr(), self.raw.as_ptr(), integration.as_mut_ptr(), parts);
        }
        let derived = Field::DERIVED.iter().flat_map(|&field| self.values(field)).copied().collect();
        State { integration, derived }
    }

    /// Restores a state of a simulation of the same model. Fails without changes if the lengths differ.
    pub(crate) fn restore(&mut self, state: &State) -> Result<(), EnvError> {
        let derived: usize = Field::DERIVED.iter().map(|field| field.len(&self.model)).sum();
        let (expected, actual) =
            ([self.integration_length(), derived], [state.integration.len(), state.derived.len()]);
        if expected != actual {
            let lengths =
                format!("it has arrays of lengths {actual:?}, but this model requires {expected:?}");
            return Err(EnvError::BadSnapshot(lengths));
        }
        let library = self.model.library();
        let parts = library.offsets.integration_state;
        // SAFETY: the buffer has the length that MuJoCo asks for.
        unsafe {
            (library.copy_state_in)(
                self.model.as_ptr(),
                self.raw.as_ptr(),
                state.integration.as_ptr(),
                parts,
            );
            // Pictures show places that are not part of the state. The next step computes them again.
            for place in library.place {
                place(self.model.as_ptr(), self.raw.as_ptr());
            }
        }
        let mut rest = state.derived.as_slice();
        for field in Field::DERIVED {
            let values = self.values_mut(field);
            let saved;
            (saved, rest) = rest.split_at(values.len());
            values.copy_from_slice(saved);
        }
        Ok(())
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        // SAFETY: the structure is not used any more.
        unsafe { (self.model.library().delete_data)(self.raw.as_ptr()) }
    }
}
