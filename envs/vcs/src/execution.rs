use serde::{Deserialize, Serialize};

/// The execution mode of a console. The modes differ only in speed: after every frame they all leave the machine in
/// the same state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Execution {
    /// Interprets code until it has been executed often, then compiles it to native code.
    #[default]
    WhenHot,
    /// Compiles code to native code before its first execution. Slow to start; meant for tests.
    Eager,
    /// Interprets all code.
    Interpreted,
}
