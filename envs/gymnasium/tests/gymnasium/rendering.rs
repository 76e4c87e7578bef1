//! Frames of environments.

use gymnasium_workers::{EnvGroup, EnvOptions, WorkerVectorEnv};
use rl_env::{Actions, ResetSeeds, VectorEnv, VectorError};

use crate::support::{failure, group, options};

/// Returns a group whose environments render frames.
fn rendered(name: &str) -> EnvGroup {
    let options = EnvOptions { render_mode: Some("rgb_array".to_owned()), ..EnvOptions::default() };
    EnvGroup { options, ..group(name, 2) }
}

#[test]
fn missing_packages_and_render_modes_are_named() {
    let Some(options) = options(1) else { return };
    let mut envs = WorkerVectorEnv::new(&[rendered("python:sample_envs:Undrawn")], &options).unwrap();
    envs.reset(ResetSeeds::From(8)).unwrap();
    assert_eq!(envs.render_fps(0).unwrap(), None);
    let (env, message) = failure(envs.render(1).unwrap_err());
    let cause = "render failed: pencils are not installed, run `pip install pencils`";
    assert_eq!((env, message), (1, format!("python:sample_envs:Undrawn (seed 9): {cause}")));
    envs.step(Actions::Discrete(&[0; 2])).unwrap();
    let error = WorkerVectorEnv::new(&[rendered("python:sample_envs:bits")], &options).err().unwrap();
    assert_eq!(
        error.to_string(),
        "environment 0 (python:sample_envs:bits) cannot be made: the render mode 'rgb_array' is not possible \
         (bits() got an unexpected keyword argument 'render_mode'); possible are rgb_array"
    );
}

#[test]
fn frames_are_those_of_the_environment() {
    let Some(options) = options(2) else { return };
    let corridor = "python:sample_envs:corridor";
    let groups = [rendered(corridor), group(corridor, 2)];
    let mut envs = WorkerVectorEnv::new(&groups, &options).unwrap();
    assert!(matches!(envs.render(0), Err(VectorError::OutOfOrder(_))));
    envs.reset(ResetSeeds::From(8)).unwrap();
    envs.step(Actions::Discrete(&[0; 4])).unwrap();
    let frame = envs.render(1).unwrap();
    assert_eq!((frame.height, frame.width, frame.pixels.len()), (4, 6, 72));
    assert_eq!(frame.pixels[..9], [1, 0, 0, 1, 0, 255, 1, 0, 0]);
    let (env, message) = failure(envs.render(3).unwrap_err());
    let expected = "python:sample_envs:corridor (seed 11): render failed: the render mode is None, but must be 'rgb_array'";
    assert_eq!((env, message.as_str()), (3, expected));
    assert!(matches!(envs.render(4), Err(VectorError::UnknownEnv { .. })));
    assert_eq!(envs.render_fps(2).unwrap(), Some(12.0));
    assert!(matches!(envs.render_fps(4), Err(VectorError::UnknownEnv { .. })));
    envs.step(Actions::Discrete(&[0; 4])).unwrap();
}
