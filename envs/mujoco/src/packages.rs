/// The packages with the library and the models, at the versions whose contents are known.
pub(crate) const PACKAGES: [&str; 2] = ["mujoco==3.17.0", "gymnasium==1.4.0"];
