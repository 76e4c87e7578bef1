use ale::RgbImage;
use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::learner::Reading;
use crate::show::{Session, picture};

/// The state of a stage.
#[derive(Debug)]
pub(super) enum Scene {
    /// The agent is being loaded.
    Loading,
    /// There is no agent yet, for this reason.
    Waiting(String),
    /// The agent cannot play, for this reason.
    Problem(String),
    /// The agent plays.
    Played {
        /// The frames after which its checkpoint was written.
        frames: u64,
        games: Vec<PlayedGame>,
    },
}

/// A game in progress.
#[derive(Debug)]
pub(super) struct PlayedGame {
    pub(super) game: String,
    pub(super) title: String,
    pub(super) screen: RgbImage,
    /// The ratio of the width and the height of the screen. If absent, pixels are squares.
    pub(super) aspect_ratio: Option<[usize; 2]>,
    pub(super) score: f64,
    pub(super) lives: i32,
    /// The last action.
    pub(super) action: String,
    /// The names of the agent's options, and the indices of those that the last action consists of.
    pub(super) options: Vec<String>,
    pub(super) chosen: Vec<usize>,
    pub(super) reading: Reading,
    pub(super) is_over: bool,
}

impl PlayedGame {
    pub(super) fn of(game: &str, session: &Session) -> Result<Self> {
        let description = session.description();
        Ok(Self {
            game: game.to_owned(),
            title: description.title.clone(),
            screen: session.screen()?,
            aspect_ratio: description.aspect_ratio,
            score: session.score(),
            lives: session.lives(),
            action: session.action().to_owned(),
            options: description.options.clone(),
            chosen: session.chosen().to_vec(),
            reading: session.reading()?.context("the agent is missing")?,
            is_over: session.is_over(),
        })
    }

    /// Describes the game for the page: its screen is an image in a data URL.
    fn json(&self) -> Result<Value> {
        let (kind, outputs) = match &self.reading {
            Reading::Policy { probabilities, .. } => ("probabilities", probabilities),
            Reading::Values(values) => ("values", values),
        };
        let image = STANDARD.encode(picture::to_png(&self.screen)?);
        Ok(json!({
            "game": self.game,
            "title": self.title,
            "image": format!("data:image/png;base64,{image}"),
            "aspect": self.aspect_ratio,
            "score": self.score,
            "lives": self.lives,
            "action": self.action,
            "chosen": self.chosen,
            "options": self.options,
            "kind": kind,
            "outputs": outputs,
            "value": self.reading.value(),
            "over": self.is_over,
        }))
    }
}

impl Scene {
    /// Describes the scene for the page.
    pub(super) fn json(&self) -> Value {
        match self {
            Self::Loading => json!({ "loading": true }),
            Self::Waiting(reason) => json!({ "waiting": reason }),
            Self::Problem(problem) => json!({ "problem": problem }),
            Self::Played { frames, games } => {
                match games.iter().map(PlayedGame::json).collect::<Result<Vec<Value>>>() {
                    Ok(cells) => json!({ "frames": frames, "cells": cells }),
                    Err(error) => json!({ "problem": error.to_string() }),
                }
            }
        }
    }
}
