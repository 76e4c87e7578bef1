/// The most environments of a vector environment.
pub const MAX_NUM_ENVS: usize = 65_536;
