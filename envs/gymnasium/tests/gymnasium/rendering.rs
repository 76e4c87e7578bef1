//! Frames of environments.

use gymnasium_workers::{EnvGroup, EnvOptions, WorkerVectorEnv};
use rl_env::{Actions, ResetSeeds, VectorEnv, VectorError};

use crate::support::{failure, group, options};

#[test]
fn frames_are_those_of_the_environment() {
    let Some(options) = options(2) else { return };
    let rendered = EnvOptions { render_mode: Some("rgb_array".to_owned()), ..EnvOptions::default() };
    let corridor = || group("python:sample_envs:corridor", 2);
    let groups = [EnvGroup { options: rendered, ..corridor() }, corridor()];
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
    envs.step(Actions::Discrete(&[0; 4])).unwrap();
}
