use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::learner::Reading;
use crate::show::{Session, picture};

/// Describes a game in progress for the page: its screen as an image in a data URL, and what the agent thinks.
pub(super) fn describe(game: &str, session: &Session) -> Result<Value> {
    let description = session.description();
    let reading = session.reading()?.context("the agent is missing")?;
    let (kind, outputs) = match &reading {
        Reading::Policy { probabilities, .. } => ("probabilities", probabilities),
        Reading::Values(values) => ("values", values),
    };
    Ok(json!({
        "game": game,
        "title": description.title,
        "image": format!("data:image/png;base64,{}", STANDARD.encode(picture::to_png(&session.screen()?)?)),
        "aspect": description.aspect_ratio,
        "score": session.score(),
        "lives": session.lives(),
        "action": session.action(),
        "chosen": session.chosen(),
        "options": description.options,
        "kind": kind,
        "outputs": outputs,
        "value": reading.value(),
        "over": session.is_over(),
    }))
}
