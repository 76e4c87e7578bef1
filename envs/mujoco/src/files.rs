//! The files of an installation: their paths in the wheels, and the hashes of their contents.

/// A file in a wheel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownFile {
    /// The path in its wheel, and in an installation.
    pub(crate) path: &'static str,
    pub(crate) sha256: &'static str,
}

/// The models of Gymnasium's tasks.
pub(crate) const MODELS: [KnownFile; 12] = [
    KnownFile {
        path: "gymnasium/envs/mujoco/assets/ant.xml",
        sha256: "cd5f83ef0ea35b0969e65d360c5bacd5b74ccaef6b27e4433b5168c605e3e2be",
    },
    KnownFile {
        path: "gymnasium/envs/mujoco/assets/half_cheetah.xml",
        sha256: "11797a5d69e8ac955e89ca6fdd3a0087f1c990094fda401ac51420de1b6c5494",
    },
    KnownFile {
        path: "gymnasium/envs/mujoco/assets/hopper.xml",
        sha256: "3ce93a055ffdcd83c0c701d2400768e40d2cbb9532f3c4ae33377c27f8b39f9e",
    },
    KnownFile {
        path: "gymnasium/envs/mujoco/assets/humanoid.xml",
        sha256: "85816f372c826d2094b4a598918233bd9c5843b2439119eece2733bdc2e0d073",
    },
    KnownFile {
        path: "gymnasium/envs/mujoco/assets/humanoidstandup.xml",
        sha256: "9f72a3c4ef956d0d8b1fb555a6ae1a5c22334c5c58cf814ef987ea4d3880e8fc",
    },
    KnownFile {
        path: "gymnasium/envs/mujoco/assets/inverted_double_pendulum.xml",
        sha256: "2b4eadf03bd79a8772abd4c1a626b5755747f841801a694ea9528cc49211ba46",
    },
    KnownFile {
        path: "gymnasium/envs/mujoco/assets/inverted_pendulum.xml",
        sha256: "80910a9af85cd47072be82d6f92c5e6a115d0eecc3eb464e58542b285c89fb7f",
    },
    KnownFile {
        path: "gymnasium/envs/mujoco/assets/pusher_v5.xml",
        sha256: "3c9a717f6d2cecd555ab9b78694dba71019fa233230c68c8197ebb07d6713879",
    },
    KnownFile {
        path: "gymnasium/envs/mujoco/assets/reacher.xml",
        sha256: "3fabc64fc738326485a8231a9a649f784090a0c3d8215f8d2ccd6038b8e60cc4",
    },
    KnownFile {
        path: "gymnasium/envs/mujoco/assets/swimmer.xml",
        sha256: "25b0d46bf5522920fea6a579353aee39d391ad9e2a0574b53f83704c11b21b12",
    },
    KnownFile {
        path: "gymnasium/envs/mujoco/assets/walker2d.xml",
        sha256: "ac13373c7ac9003a5311c4704b314ed11149b3dd7600bbc02770487300f9ad2d",
    },
    KnownFile {
        path: "gymnasium/envs/mujoco/assets/walker2d_v5.xml",
        sha256: "6bed53a6cc3ca73c4fe8ac3486d3b4228927264a6454f4ef16d3eed3c58bc09d",
    },
];
