use thiserror::Error;

/// An error in drawing a picture. Each message is one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RenderError {
    /// No library for OpenGL without a screen can be loaded.
    #[error(
        "pictures of MuJoCo tasks need OpenGL without a screen, but neither libOSMesa nor libEGL can be loaded; \
         the Debian package libosmesa6, or libegl1 with libegl-mesa0, provides it"
    )]
    NoLibrary,
    /// The library that `MUJOCO_GL` names cannot be loaded.
    #[error(
        "pictures of MuJoCo tasks need OpenGL without a screen, but the library of MUJOCO_GL={name} cannot be loaded"
    )]
    NotTheChosenLibrary {
        /// The value of the variable.
        name: &'static str,
    },
    /// The library cannot be used.
    #[error(
        "{library} cannot draw pictures of MuJoCo tasks: {reason}; the Debian package libosmesa6 provides a \
         library that draws on the processor"
    )]
    Unusable {
        /// The name of the library.
        library: &'static str,
        /// The cause.
        reason: String,
    },
}
