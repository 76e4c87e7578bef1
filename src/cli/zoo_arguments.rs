use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Every command that takes an AGENT accepts zoo:NAME.

Examples:
  ale-train zoo
  ale-train zoo harvest
  ale-train zoo --json")]
pub(crate) struct ZooArgs {
    /// Print the card of one agent: its settings, scores and licence
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print a JSON array
    #[arg(long, conflicts_with = "name")]
    pub(crate) json: bool,
    /// Print the page of the book that lists the agents
    #[arg(long, conflicts_with_all = ["name", "json"])]
    pub(crate) reference: bool,
}
