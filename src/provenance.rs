//! The provenance of a run: the program, its commit, the machine, and the ROMs.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ale::roms::Md5Sum;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize, Serializer};

use crate::checkpoint::PROVENANCE;
use crate::config::Chosen;
use crate::enclosure;
use crate::environments::{Builder, GameWithRom};
use crate::files::limit;
use crate::version::{COMMIT, PROGRAM};

/// The contents of `run.json` in the directory of a run. Runs of earlier versions lack some of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Provenance {
    pub(crate) program: Option<String>,
    pub(crate) commit: Option<String>,
    /// The name of the preset that the run starts from, if it starts from one.
    pub(crate) preset: Option<String>,
    /// The time of the start in seconds since 1970.
    pub(crate) started: Option<u64>,
    /// The number of threads at the start.
    pub(crate) num_threads: Option<usize>,
    /// The origin of the weights that the run starts from, unless they are random.
    pub(crate) init_from: Option<Origin>,
    pub(crate) games: Vec<Rom>,
}

/// The origin of weights that a run starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    #[serde(serialize_with = "as_text")]
    pub(crate) path: PathBuf,
    /// The commit of the program that trained or exported them, if it is known.
    pub(crate) commit: Option<String>,
    /// SHA-256 of the names, shapes and values of all weights.
    pub(crate) weights_sha256: String,
}

/// Serialises a path, whatever its encoding.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// A game and the ROM that it was played with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rom {
    id: String,
    rom_md5: String,
}

impl Provenance {
    /// Returns the provenance of a run that starts now, with the preset and the weights that it starts from, if any.
    pub(crate) fn of_run(builder: &Builder, preset: Option<&Chosen>, init_from: Option<&Origin>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            program: Some(PROGRAM.to_owned()),
            commit: Some(COMMIT.to_owned()),
            preset: preset.map(|chosen| chosen.preset.name.to_owned()),
            started: Some(now.as_secs()),
            num_threads: Some(builder.num_threads()),
            init_from: init_from.cloned(),
            games: builder
                .roms()
                .iter()
                .map(|GameWithRom { game, rom }| Rom {
                    id: game.id.to_owned(),
                    rom_md5: Md5Sum::of(rom).to_string(),
                })
                .collect(),
        }
    }

    /// Reads the provenance from the directory of a run; empty if there is none or it is damaged. Fails if the file
    /// cannot be read.
    pub(crate) fn read(run_dir: &Path) -> Result<Self> {
        match enclosure::read(run_dir, &run_dir.join(PROVENANCE), limit::PROVENANCE) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("{PROVENANCE} cannot be read"))
            }
            text => Ok(serde_json::from_slice(&text.unwrap_or_default()).unwrap_or_default()),
        }
    }

    pub(crate) fn to_json(&self) -> Result<String> {
        Ok(format!("{}\n", serde_json::to_string_pretty(self)?))
    }
}
