//! Vector environments of Python's [Gymnasium](https://gymnasium.farama.org), stepped by worker processes.
//!
//! [`WorkerVectorEnv`] implements [`VectorEnv`](rl_env::VectorEnv) for any environment with the interface of Gymnasium
//! 1.0 or newer. Each worker is a Python process with a consecutive part of the environments. Workers need NumPy and
//! Gymnasium; this process needs no Python.
//!
//! ```no_run
//! use gymnasium_workers::{EnvGroup, EnvOptions, WorkerOptions, WorkerVectorEnv};
//! use rl_env::{Actions, ResetSeeds, VectorEnv};
//!
//! let cart_pole =
//!     EnvGroup { name: "gymnasium:CartPole-v1".to_owned(), num_envs: 8, options: EnvOptions::default() };
//! let mut envs = WorkerVectorEnv::new(&[cart_pole], &WorkerOptions { workers: 2, ..WorkerOptions::default() })?;
//! envs.reset(ResetSeeds::From(42))?;
//! for _ in 0..100 {
//!     let batch = envs.step(Actions::Discrete(&[0, 1, 0, 1, 0, 1, 0, 1]))?;
//!     assert_eq!(batch.observations.row_f32(7).len(), 4);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Spaces
//!
//! | space | observations | actions |
//! |---|---|---|
//! | `Box` of `uint8`, `int8`, `int64`, `float32` | its shape and type | `float32`: a vector of `float32` |
//! | `Box` of other types | `float32` in its shape | other floats: a vector of `float32`; integers are not supported |
//! | `Discrete(n, start)` | `n` values of `float32`, one-hot | one integer in `0..n` |
//! | `MultiDiscrete`, `MultiBinary` | a vector of `float32`, one-hot and as it is | integers from 0 on |
//! | `Dict`, `Tuple` of these | a vector of `float32`: the parts in their order | not supported |
//! | others | not supported | not supported |
//!
//! Vectors of observations equal those of `gymnasium.spaces.flatten`, rounded to 32 bits. With
//! [`WorkerOptions::flatten`], observations become what learners need: such vectors, or images with channels first.
//! With [`WorkerOptions::pad`], vectors of different lengths are padded with zeros, so that they can share batches.
//! Integer actions count from 0: the worker adds `start`. Floats are converted to the type and shape of the space, and
//! are not clipped.
//!
//! An observation with a wrong shape, or with a type that NumPy does not convert with `casting="same_kind"`, is an
//! error, as it is in `SyncVectorEnv`. So are NaN and infinite values in floating-point observations, rewards that are
//! not finite numbers, and action spaces that change.
//!
//! With [`WorkerOptions::action_masks`], each observation comes with the action mask of its `info`.
//!
//! # Processes and memory
//!
//! ```text
//!                       requests (pipe, the worker's standard input)
//!              ┌────────────────────────────────────────────────────────────────┐
//!   ┌──────────┴──────┐                                                 ┌───────▼─────────┐
//!   │  this process   │              shared memory (a file)             │ worker process  │
//!   │                 │  ┌───────────────────────────────────────────┐  │                 │
//!   │ WorkerVectorEnv ├──► commands   kind, row, seed           env 0 ├──► worker.py       │
//!   │                 │  │                                      ...   │  │                 │
//!   │                 ├──► actions    4 bytes each component  env 0   ├──►   env 0         │
//!   │                 │  │                                      ...   │  │   env 1         │
//!   │                 ◄──┤ results    reward, return, seconds,  env 0 ◄──┤   ...           │
//!   │                 │  │            length, flags             ...   │  │                 │
//!   │   batches       ◄──┤ running    the environment of each worker  ◄──┤                 │
//!   │                 ◄──┤ observations        batch 0  row 0, 1, ... ◄──┤                 │
//!   │                 │  │                     batch 1  ...           │  │                 │
//!   │                 ◄──┤ final observations  as above (SameStep)    ◄──┤                 │
//!   │                 ◄──┤ action masks        as both above          ◄──┤                 │
//!   │                 │  └───────────────────────────────────────────┘  │                 │
//!   └──────────▲──▲───┘                                                 └───────┬──┬──────┘
//!              │  └───────── responses (pipe, the worker's standard output) ────┘  │
//!              └──────────── everything printed (pipe, standard error) ────────────┘
//! ```
//!
//! A step of all environments takes one message each way for each worker:
//!
//! 1. `send` writes the action, the kind of the command and the *row* for the observation of each environment to shared
//!    memory. Then it writes a word to the pipe of each worker: "all", or a number of environments followed by their
//!    indices.
//! 2. The worker wakes up, steps these environments one after the other, and writes each observation straight into its
//!    row, and the reward, the flags and the statistics of the episode to the results. Then it writes one byte to its
//!    pipe.
//! 3. `recv` waits for these bytes with `poll`, and turns the results into the fields of the batch.
//!
//! A worker writes only to the rows that a request names, and only until its response. The batches are a ring, as in
//! the native pool: the last batch stays valid while others are filled. The pipes order the accesses of both processes,
//! so there are no locks and no atomic operations, except on the words `running`. With [`BatchOrder::FirstCome`], the
//! batch of an environment is known only when it has finished; then each environment has its own row, and `recv` copies
//! it.
//!
//! Requests that are rare (making environments, snapshots, frames) are values in JSON with bytes after them.
//! `protocol.rs` describes the messages. The file of the shared memory is deleted as soon as all workers have mapped
//! it.
//!
//! # Failures
//!
//! * **Exceptions** of environments become errors with the index, the name and the seed of the environment, the step,
//!   the traceback, and the last lines that the worker printed. What environments print goes nowhere else.
//! * **Workers that end**, for example because of a segmentation fault, close their pipe, which `recv` notices. Workers
//!   that **do not respond** within [`WorkerOptions::timeout`] print where they are and are killed. The word `running`
//!   tells which environment is at fault.
//! * **Signals** to all processes of a group, such as Ctrl-C, are ignored by workers: this process decides when they
//!   end. While `recv` waits, it polls for [interruptions](rl_env::interrupt).
//! * **The end of this process** closes the pipe of requests, after which workers end. On Linux, the kernel also kills
//!   them at once, even within a step.
//!
//! # Snapshots
//!
//! A snapshot holds the pickled environments. Restoring one can execute code, as starting the environments does.
//! Environments that cannot be pickled, or are an `EzPickle`, which saves only the arguments of its constructor, have
//! none.
//!
//! Systems other than Unix have the options only.

// There, nothing builds environments from the options.
#![cfg_attr(not(unix), allow(dead_code))]

#[cfg(unix)]
mod board;
mod build_error;
mod interpreter;
mod limits;
#[cfg(unix)]
mod memory;
mod name;
mod options;
#[cfg(unix)]
mod output;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod protocol;
#[cfg(unix)]
mod ring;
#[cfg(unix)]
mod spaces;
#[cfg(unix)]
mod worker_vector_env;
#[cfg(unix)]
mod workers;

pub use build_error::BuildError;
pub use interpreter::interpreter;
pub use limits::MAX_NUM_ENVS;
pub use name::{EnvName, NameError};
pub use options::{BatchOrder, EnvGroup, EnvOptions, WorkerOptions, WrapperOptions};
#[cfg(unix)]
pub use process::PROGRAM as WORKER;
#[cfg(unix)]
pub use spaces::described_spaces;
#[cfg(unix)]
pub use worker_vector_env::{RgbFrame, WorkerVectorEnv, join_snapshots, part_of_snapshot};
