/// The most environments of a task.
pub const MAX_NUM_ENVS: usize = 65_536;

/// The most threads of a vector environment.
pub const MAX_NUM_THREADS: usize = 1024;
