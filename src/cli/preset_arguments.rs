use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ale-train presets
  ale-train presets many-ppo
  ale-train presets many-ppo > mine.toml
  ale-train presets --json")]
pub(crate) struct PresetsArgs {
    /// Print the file of one preset
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print a JSON array
    #[arg(long, conflicts_with = "name")]
    pub(crate) json: bool,
    /// Print the page of the book that lists the presets
    #[arg(long, conflicts_with_all = ["name", "json"])]
    pub(crate) reference: bool,
}
