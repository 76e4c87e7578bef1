//! The zoo: trained agents that are built into the program.

use std::path::Path;

use anyhow::{Result, bail};
use rl_env::nearest;

/// The prefix of zoo agents' names where paths of other agents are accepted too.
pub(crate) const PREFIX: &str = "zoo:";

macro_rules! embedded {
    ($($name:literal)*) => {
        &[$(ZooAgent { name: $name, file: include_bytes!(concat!("../checkpoints/zoo/", $name, ".safetensors")) }),*]
    };
}

/// All agents, the one of the built-in game first. A static, because each use of a constant may copy the files.
pub(crate) static AGENTS: &[ZooAgent] = embedded! { "harvest" "pong" "breakout" "space_invaders" "atari57" };

/// An agent of the zoo.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ZooAgent {
    pub(crate) name: &'static str,
    /// The contents of its file.
    pub(crate) file: &'static [u8],
}

/// Returns the agent that `path` names as `zoo:NAME`; none if it is an ordinary path.
pub(crate) fn find(path: &Path) -> Result<Option<&'static ZooAgent>> {
    let Some(name) = path.to_str().and_then(|path| path.strip_prefix(PREFIX)) else { return Ok(None) };
    named(name).map(Some)
}

/// Returns the agent called `name`, with or without the prefix.
pub(crate) fn named(name: &str) -> Result<&'static ZooAgent> {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    if let Some(agent) = AGENTS.iter().find(|agent| agent.name == name) {
        return Ok(agent);
    }
    match nearest(name, AGENTS.iter().map(|agent| agent.name)).as_slice() {
        [] => bail!("the zoo has no agent '{name}'; `ale-train zoo` lists all agents"),
        near => bail!("the zoo has no agent '{name}'; did you mean {}?", near.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_found_by_name() {
        assert_eq!(find(Path::new("checkpoints/zoo")).unwrap(), None);
        assert_eq!(find(Path::new("zoo:harvest")).unwrap(), Some(&AGENTS[0]));
        assert_eq!(named("harvest").unwrap(), named("zoo:harvest").unwrap());
        let message = |name: &str| find(Path::new(name)).unwrap_err().to_string();
        assert_eq!(message("zoo:harvset"), "the zoo has no agent 'harvset'; did you mean harvest?");
        assert_eq!(message("zoo:"), "the zoo has no agent ''; `ale-train zoo` lists all agents");
    }
}
