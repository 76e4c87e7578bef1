use std::collections::BTreeMap;

use anyhow::Result;

use super::experiment::Experiment;
use super::layers::from_toml;
use super::sections::{EnvironmentSettings, GameSettings};

impl Experiment {
    /// Returns the experiment with some of its games, in their flavours. The number of environments of all games
    /// together stays the same, because other sizes may depend on it, such as that of minibatches.
    pub(crate) fn with_games(&self, names: &[&str]) -> Result<Self> {
        let mut config = from_toml(&self.to_toml()?)?;
        let environments = &mut config.sections.environments;
        let (share, rest) = (self.num_envs() / names.len(), self.num_envs() % names.len());
        environments.game = flavours(environments, names);
        for name in &names[..rest] {
            environments.game.entry((*name).to_owned()).or_default().num_envs = Some(share + 1);
        }
        environments.num_envs = share;
        environments.games = names.iter().map(|&name| name.to_owned()).collect();
        config.resolve()
    }
}

/// Returns the overrides for some games, without those of the amount of training.
fn flavours(environments: &EnvironmentSettings, names: &[&str]) -> BTreeMap<String, GameSettings> {
    let kept = environments.game.iter().filter(|(name, _)| names.contains(&name.as_str()));
    let flavour =
        |settings: &GameSettings| GameSettings { num_envs: None, total_frames: None, ..settings.clone() };
    kept.map(|(name, settings)| (name.clone(), flavour(settings))).collect()
}
