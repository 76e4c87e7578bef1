//! The settings of a new run that depend on the processes that train it.

use algorithms::cluster::Cluster;
use algorithms::networks::Bf16Arithmetic;
use anyhow::Result;

use crate::cluster;
use crate::config::Experiment;

/// Chooses the number of shards of a new run, unless it is configured.
pub(crate) fn settle_shards(experiment: &mut Experiment) {
    if experiment.distributed.shards == 0 {
        experiment.distributed.shards = cluster::default_shards(experiment.num_envs());
    }
}

/// Decides in which order the CPUs of a new run sum products of 16-bit numbers, unless this is configured: that of the
/// faster instructions of the leader's processor.
pub(crate) fn settle_bf16_arithmetic(experiment: &mut Experiment) -> Result<()> {
    if experiment.has_16_bit_products() && experiment.policy.bf16_arithmetic.is_none() {
        experiment.policy.bf16_arithmetic =
            Some(cluster::leader_choice(Bf16Arithmetic::here(), Bf16Arithmetic::ALL)?);
    }
    Ok(())
}

/// Returns the cluster that trains an experiment.
pub(crate) fn cluster_of(experiment: &Experiment) -> Result<Cluster> {
    let settings = &experiment.distributed;
    cluster::connect(settings.exact.then_some(settings.shards), experiment.num_envs())
}
