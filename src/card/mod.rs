//! Cards of agents: a description in Markdown, and a directory with it that the Hugging Face Hub takes as it is.
//!
//! * `readme` writes the description, `scores` its table.
//! * `front_matter` writes the metadata of the Hub in front of it.
//! * `directory` writes the directory with weights, videos and curves.

mod directory;
mod front_matter;
mod readme;
mod scores;

use crate::agent::TrainedAgent;

pub(crate) use directory::{check, write};

/// The licence of an agent.
#[derive(Clone, Debug)]
pub(crate) struct Licence {
    /// Its identifier on the Hub, which allows one for each agent.
    id: String,
    pub(crate) text: String,
}

impl Licence {
    /// Returns the licence with an identifier of the Hub, such as `apache-2.0`.
    pub(crate) fn named(id: &str) -> Self {
        Self { id: id.to_owned(), text: id.to_owned() }
    }

    /// Returns the licence of the agents of the zoo.
    pub(crate) fn of_zoo() -> Self {
        Self { id: "mit".to_owned(), text: "MIT OR Apache-2.0, like the program".to_owned() }
    }
}

/// An agent, and what its description says about its file.
pub(crate) struct Card<'a> {
    pub(crate) agent: &'a TrainedAgent,
    pub(crate) title: String,
    /// The agent as commands name it.
    pub(crate) name: String,
    /// The size of its file in bytes.
    pub(crate) bytes: usize,
    pub(crate) licence: Option<Licence>,
    /// The games of which there are videos, with the paths of the videos.
    pub(crate) videos: Vec<(String, String)>,
    /// The path of the learning curves, if there are any.
    pub(crate) curves: Option<String>,
}
