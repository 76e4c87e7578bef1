use ale::AleError;
use thiserror::Error;

/// The reason for which a file of the visitor cannot be used.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FileError {
    /// The file is not in the safetensors format.
    #[error("it is not an agent, which is a .safetensors file of `ale-train export`: {0}")]
    NotSafetensors(String),
    /// The file has no metadata of an agent, or only some.
    #[error("its metadata has no readable `{0}`; `ale-train export` writes files that have it")]
    Metadata(&'static str),
    /// The network has a part that the page does not compute.
    #[error("the page cannot play an agent {0}")]
    Unsupported(String),
    /// A tensor is missing or has another shape than the metadata says.
    #[error("its tensor `{0}` is missing or does not fit the rest of the network")]
    Tensor(String),
    /// The agent plays none of the console's games.
    #[error("it plays {0}, which is not an Atari game")]
    NoGame(String),
    /// The image is too large.
    #[error("it has {0} bytes, more than any ROM")]
    TooLarge(usize),
    /// The image or a setting of the agent is not possible.
    #[error(transparent)]
    Ale(#[from] AleError),
}
