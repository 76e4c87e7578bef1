//! Starting workers and making their environments.

use std::io;
use std::iter;
use std::ops::Range;
use std::path::{Path, PathBuf};

use std::sync::Mutex;
use std::time::Duration;

use rl_env::{AutoresetMode, Space, VectorPhase};
use serde::{Deserialize, Serialize};

use super::{EnvState, WorkerVectorEnv};
use crate::BuildError;
use crate::board::{Board, Command};
use crate::build_error::BuildFault;
use crate::interpreter::interpreter;
use crate::limits::MAX_NUM_ENVS;
use crate::memory::SharedMemory;
use crate::name::{EnvName, Source};
use crate::options::{BatchOrder, EnvGroup, EnvOptions, WorkerOptions, limit};
use crate::ring::{Ring, Sizes};
use crate::spaces::{SpacesReply, check_spaces, floats_of, index_tasks, most_options, pad};
use crate::workers::{Fault, Workers};

/// The request to make environments.
#[derive(Serialize)]
#[serde(tag = "request", rename = "build")]
struct Build<'a> {
    /// The index of the first environment of the worker.
    first: usize,
    paths: &'a [PathBuf],
    definitions: Option<&'a Path>,
    flatten: bool,
    action_masks: bool,
    specs: Vec<Spec<'a>>,
}

/// Some environments of a worker.
#[derive(Serialize)]
struct Spec<'a> {
    name: String,
    kind: &'static str,
    module: Option<&'a str>,
    target: String,
    count: usize,
    #[serde(flatten)]
    options: &'a EnvOptions,
}

/// The reply to [`Build`].
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Built {
    Spaces(SpacesReply),
    Fault(BuildFault),
}

/// The request to map the shared memory.
#[derive(Serialize)]
#[serde(tag = "request", rename = "attach")]
struct Attach<'a> {
    path: &'a Path,
    size: usize,
    layout: Layout,
}

/// The places in shared memory, as offsets in bytes.
#[derive(Clone, Copy, Serialize)]
struct Layout {
    num_envs: usize,
    mode: AutoresetMode,
    /// The word of this worker.
    running: usize,
    commands: usize,
    actions: usize,
    action_stride: usize,
    results: usize,
    observations: usize,
    observation_stride: usize,
    final_observations: usize,
    action_masks: usize,
    /// The bytes of an action mask; 0 if there are no masks.
    mask_bytes: usize,
    final_action_masks: usize,
}

/// Environments of one name.
struct Group<'a> {
    name: EnvName,
    envs: Range<usize>,
    options: &'a EnvOptions,
}

impl WorkerVectorEnv {
    /// Starts workers and makes the environments of these groups, in their order.
    ///
    /// Environments may have different names, if their observations have the same space after conversion (see
    /// [`WorkerOptions::flatten`] and [`WorkerOptions::pad`]) and all actions are either discrete or continuous.
    pub fn new(groups: &[EnvGroup], options: &WorkerOptions) -> Result<Self, BuildError> {
        let groups = check_groups(groups)?;
        let num_envs = groups.last().map_or(0, |group| group.envs.end);
        let batch_size = options.batch_size_for(num_envs)?;
        let timeout = limit("timeout", options.timeout)?;
        let start_timeout = limit("start_timeout", options.start_timeout)?;
        let has_fixed_rows = batch_size == num_envs || options.batch_order == BatchOrder::InTurn;
        let python = interpreter(options.python.as_deref());
        let count = options.workers_for(num_envs);
        let workers = Workers::start(&python, count, num_envs, !has_fixed_rows, start_timeout);
        let mut workers = workers.map_err(|source| BuildError::Python { python: python.clone(), source })?;
        let mut spaces = make_environments(&mut workers, &groups, options, &python)?;
        let names = names_of(&groups);
        let observation_lens = spaces.iter().map(|(observation, _)| observation.byte_len()).collect();
        pad(&mut spaces, options.pad);
        check_spaces(&names, &spaces)?;
        let observation_space = spaces[0].0.clone();
        let action_spaces: Vec<Space> = spaces.into_iter().map(|(_, action)| action).collect();
        let action_lens: Vec<usize> = action_spaces.iter().map(Space::num_elements).collect();
        let mode = options.autoreset_mode;
        let row_bytes = observation_space.byte_len();
        let mask_bytes = if options.action_masks { most_options(&action_spaces) } else { 0 };
        let sizes = Sizes { num_envs, batch_size, row_bytes, mask_bytes, mode, has_fixed_rows };
        let (board, ring) = share_memory(&mut workers, sizes, &action_lens, timeout)?;
        let (tasks, task_ids) = index_tasks(&names);
        let env = EnvState {
            sent: Command::Report,
            in_flight: false,
            is_over: false,
            seed: None,
            steps_left: None,
        };
        Ok(Self {
            workers: Mutex::new(workers),
            board,
            ring,
            phase: VectorPhase::NeedsReset,
            envs: vec![env; num_envs],
            num_in_flight: 0,
            next_turn: 0,
            batch_size,
            has_fixed_rows,
            mode,
            floats: floats_of(&observation_space),
            observation_space,
            observation_lens,
            action_spaces,
            action_lens,
            tasks,
            task_ids,
            targets: Vec::with_capacity(num_envs),
        })
    }
}

/// Parses the names of groups and numbers their environments.
fn check_groups(groups: &[EnvGroup]) -> Result<Vec<Group<'_>>, BuildError> {
    let num_envs = groups.iter().fold(0_usize, |sum, group| sum.saturating_add(group.num_envs));
    match num_envs {
        0 => return Err(BuildError::NoEnvironments),
        1..=MAX_NUM_ENVS => {}
        _ => return Err(BuildError::TooManyEnvs { num_envs }),
    }
    let mut first = 0;
    let groups = groups.iter().map(|group| {
        let envs = first..first + group.num_envs;
        first = envs.end;
        Ok(Group { name: group.name.parse()?, envs, options: &group.options })
    });
    groups.collect()
}

/// Returns the name of each environment.
fn names_of(groups: &[Group<'_>]) -> Vec<String> {
    let names = groups.iter().map(|group| iter::repeat_n(group.name.to_string(), group.envs.len()));
    names.flatten().collect()
}

/// Makes all environments, and returns their spaces of observations and actions.
fn make_environments(
    workers: &mut Workers,
    groups: &[Group<'_>],
    options: &WorkerOptions,
    python: &Path,
) -> Result<Vec<(Space, Space)>, BuildError> {
    let parts: Vec<Range<usize>> = workers.envs().collect();
    let fault = |parts: &[Range<usize>], fault| build_error(parts, fault);
    for (index, part) in parts.iter().enumerate() {
        let specs = groups.iter().filter_map(|group| spec(group, part)).collect();
        let build = Build {
            first: part.start,
            paths: &options.paths,
            definitions: options.definitions.as_deref(),
            flatten: options.flatten,
            action_masks: options.action_masks,
            specs,
        };
        workers.send_frame(index, &build, &[]).map_err(|error| fault(&parts, error))?;
    }
    let mut spaces = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let reply = workers.reply(index).map_err(|error| fault(&parts, error))?;
        let bad = |reason: String| worker_error(part, reason, String::new());
        match reply.value::<Built>().map_err(|error| bad(format!("sent a bad reply: {error}")))? {
            Built::Fault(fault) => return Err(fault.into_error(python.to_owned())),
            Built::Spaces(reply) => {
                spaces.extend(reply.parse().ok_or_else(|| bad("described a space in a bad way".to_owned()))?);
            }
        }
    }
    Ok(spaces)
}

/// Returns the environments of a group that belong to a worker, if there are any.
fn spec<'a>(group: &'a Group<'_>, part: &Range<usize>) -> Option<Spec<'a>> {
    let count = group.envs.end.min(part.end).saturating_sub(group.envs.start.max(part.start));
    let (kind, target) = match (group.name.source, &group.name.module) {
        (Source::Gymnasium, None) => ("gymnasium", group.name.target.clone()),
        (Source::Gymnasium, Some(module)) => ("gymnasium", format!("{module}:{}", group.name.target)),
        (Source::Python, _) => ("python", group.name.target.clone()),
    };
    (count > 0).then(|| Spec {
        name: group.name.to_string(),
        kind,
        module: group.name.module.as_deref(),
        target,
        count,
        options: group.options,
    })
}

/// Creates the shared memory and makes the workers map it. Nothing refers to its file afterwards.
fn share_memory(
    workers: &mut Workers,
    sizes: Sizes,
    action_lens: &[usize],
    timeout: Duration,
) -> Result<(Board, Ring), BuildError> {
    let parts: Vec<Range<usize>> = workers.envs().collect();
    let action_len = action_lens.iter().copied().max().unwrap_or(0);
    let failed = |bytes, source| BuildError::Memory { bytes, source };
    let others = Board::size(sizes.num_envs, action_len) + parts.len() * size_of::<u64>();
    let bytes = sizes.bytes().and_then(|bytes| bytes.checked_add(others));
    let bytes = bytes.ok_or_else(|| failed(usize::MAX, io::ErrorKind::OutOfMemory.into()))?;
    let mut memory = SharedMemory::new(bytes).map_err(|source| failed(bytes, source))?;
    let (running, words) = memory.take_words(parts.len());
    let board = Board::new(&mut memory, sizes.num_envs, action_len);
    let ring = Ring::new(&mut memory, sizes);
    let layout = Layout {
        num_envs: sizes.num_envs,
        mode: sizes.mode,
        running,
        commands: board.offsets.commands,
        actions: board.offsets.actions,
        action_stride: board.offsets.action_stride,
        results: board.offsets.results,
        observations: ring.offsets.observations,
        observation_stride: sizes.row_bytes.next_multiple_of(size_of::<u64>()),
        final_observations: ring.offsets.final_observations,
        action_masks: ring.offsets.action_masks,
        mask_bytes: sizes.mask_bytes,
        final_action_masks: ring.offsets.final_action_masks,
    };
    for index in 0..parts.len() {
        let layout = Layout { running: running + index * size_of::<u64>(), ..layout };
        let attach = Attach { path: memory.path(), size: memory.size(), layout };
        workers.ask(index, &attach, &[]).map_err(|fault| build_error(&parts, fault))?;
    }
    workers.watch(words, timeout);
    Ok((board, ring))
}

/// Returns the error of a worker that failed while it was starting.
fn build_error(parts: &[Range<usize>], fault: Fault) -> BuildError {
    let part_of = |env: usize| parts.iter().find(|part| part.contains(&env)).unwrap_or(&parts[0]);
    match fault {
        Fault::Interrupted => BuildError::Interrupted,
        Fault::Env { fault, output } => {
            worker_error(part_of(fault.env), format!("failed: {}", fault.error), output)
        }
        Fault::Ended { env, reason, output } => worker_error(part_of(env), reason, output),
    }
}

fn worker_error(part: &Range<usize>, reason: String, output: String) -> BuildError {
    BuildError::Worker { first: part.start, last: part.end - 1, reason, output }
}
