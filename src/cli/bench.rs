use algorithms::networks::{Precision, TorsoKind};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

use super::complete;
use super::number;
use super::training_arguments::ExperimentArgs;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Measure single games on one thread, without preprocessing
    Emulator(BenchEmulatorArgs),
    /// Measure vector environments: all games together, and each game alone
    Env(BenchEnvArgs),
    /// Measure the learner of a preset
    Learner(BenchLearnerArgs),
    /// Measure training by 1, 2, 4, ... processes, started by `mpirun`
    Cluster(BenchClusterArgs),
}

/// The games and the duration of a benchmark.
#[derive(Debug, Args)]
pub(crate) struct BenchSubject {
    /// Games by id or set, separated by commas; `ale-train games` lists them
    #[arg(long, value_delimiter = ',', value_name = "GAMES", default_value = "harvest", add = complete::games())]
    pub(crate) games: Vec<String>,
    /// Duration of each measurement in seconds, without the warm-up
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = number::seconds)]
    pub(crate) seconds: f64,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The sizes of a vector environment.
#[derive(Debug, Args)]
pub(crate) struct BenchSize {
    /// Environments per game
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = number::of_key::<usize>("environments.num_envs"))]
    pub(crate) num_envs: usize,
    /// Threads, at most the number of cores [default: all cores]
    #[arg(long, value_name = "T", value_parser = number::threads)]
    pub(crate) num_threads: Option<usize>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Measures emulated frames per second of the act loop with random actions, at frame skips of 1 and 4. The screen is \
rendered after each act. The games run one after the other on one thread; --num-envs and --num-threads can only be 1.

Examples:
  ale-train bench emulator
  ale-train bench emulator --games atari57 --seconds 1 --json")]
pub(crate) struct BenchEmulatorArgs {
    #[command(flatten)]
    pub(crate) subject: BenchSubject,
    /// Environments; only 1 is supported
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::at_least::<usize>(0))]
    pub(crate) num_envs: usize,
    /// Threads; only 1 is supported
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = number::at_least::<usize>(0))]
    pub(crate) num_threads: usize,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Uses standard preprocessing (frame skip 4, 84x84 grey, max-pool, stack of 4) and random actions. Latency is the \
time from sending the actions of a batch to receiving the next batch.

Examples:
  ale-train bench env --games pong --num-envs 32 --num-threads 2
  ale-train bench env --games atari57 --num-envs 4 --batch-size 64 --json")]
pub(crate) struct BenchEnvArgs {
    #[command(flatten)]
    pub(crate) subject: BenchSubject,
    #[command(flatten)]
    pub(crate) size: BenchSize,
    /// Environments in a batch; a smaller batch takes those that finish first [default: all]
    #[arg(long, value_name = "B", value_parser = number::at_least::<usize>(1))]
    pub(crate) batch_size: Option<usize>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Measures samples per second of acting (in batches of all environments) and of updating (a transition counts once \
for each minibatch that contains it), and steps per second of the whole loop, with the settings of a preset except \
its games and number of environments, which --games and --num-envs set. On a \
device other than the CPU, it also counts kernel launches, copies to the device and waits for copies from it, per act \
and per update. The warm-up lasts until the first update: --set dqn.learning_starts=1000 makes it short.

Examples:
  ale-train bench learner
  ale-train bench learner --device wgpu --precision f16 --num-envs 128
  ale-train bench learner --preset rainbow-dqn --set dqn.learning_starts=1000 \\
      --set dqn.buffer_size=20000
  ale-train bench learner --games pong --num-envs 64 --num-threads 2 --json")]
pub(crate) struct BenchLearnerArgs {
    #[command(flatten)]
    pub(crate) subject: BenchSubject,
    #[command(flatten)]
    pub(crate) size: BenchSize,
    /// Device of the network: cpu, wgpu, vulkan or cuda, or one of several, such as cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "cpu", add = complete::devices())]
    pub(crate) device: String,
    /// Preset that selects the algorithm and its settings
    #[arg(long, value_name = "NAME", default_value = "atari-ppo", add = complete::presets())]
    pub(crate) preset: String,
    /// Set one key of the experiment, for example dqn.batch_size=64; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", add = complete::keys())]
    pub(crate) set: Vec<String>,
    /// Convolutional torso: nature, impala, data_efficient or small [default: that of the preset]
    #[arg(long, value_name = "TORSO", value_parser = torso_parser())]
    pub(crate) torso: Option<TorsoKind>,
    /// Precision of the layers for image observations: f32, bf16 or f16 [default: that of the preset]
    #[arg(long, value_name = "PRECISION", value_parser = precision_parser())]
    pub(crate) precision: Option<Precision>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Trains the same experiment with 1, 2, 4, ... of the processes that the launcher has started; the others wait. \
`efficiency` is the speed divided by the speed of one process and by the number of processes. `waiting` is the time \
until the last process reaches an exchange, `exchanging` the time to send messages and add gradients. `hidden` is \
communication that overlaps with the backward pass and therefore costs nothing. All three are shares of the time of \
an update. The last two columns are the latency \
of a message and the bandwidth of a process, measured with short and long sums.

Examples:
  mpirun -n 2 ale-train bench cluster --games pong --num-envs 32
  mpirun -n 2 ale-train bench cluster --preset pendulum-sac --num-envs 8 --num-threads 1
  mpirun -n 4 ale-train bench cluster --games atari57 --num-threads 1 --seconds 60 --json")]
pub(crate) struct BenchClusterArgs {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,
    /// Duration of each measurement in seconds, without the warm-up
    #[arg(long, value_name = "S", default_value_t = 20.0, value_parser = number::seconds)]
    pub(crate) seconds: f64,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parses the name of a torso.
fn torso_parser() -> impl TypedValueParser<Value = TorsoKind> {
    let names = PossibleValuesParser::new(TorsoKind::ALL.iter().map(|torso| torso.name()));
    let named = |name: &str| TorsoKind::ALL.iter().find(|torso| torso.name() == name);
    names.map(move |name| *named(&name).expect("a possible value has a torso"))
}

/// Parses the name of a precision.
fn precision_parser() -> impl TypedValueParser<Value = Precision> {
    let names = PossibleValuesParser::new(Precision::ALL.iter().map(|precision| precision.name()));
    let named = |name: &str| Precision::ALL.iter().find(|precision| precision.name() == name);
    names.map(move |name| *named(&name).expect("a possible value has a precision"))
}
