use ale::RgbImage;
use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::learner::Reading;
use crate::show::Session;

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
        "image": image_url(&session.screen()?)?,
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

/// Returns an image as a PNG in a data URL.
fn image_url(image: &RgbImage) -> Result<String> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, image.width as u32, image.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&image.pixels)?;
    writer.finish()?;
    Ok(format!("data:image/png;base64,{}", STANDARD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_survive_the_encoding() {
        let pixels = (0..2 * 3 * 3).map(|index| index * 13).collect();
        let url = image_url(&RgbImage { height: 2, width: 3, pixels }).unwrap();
        let bytes = STANDARD.decode(url.strip_prefix("data:image/png;base64,").unwrap()).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut decoded = vec![0; 18];
        reader.next_frame(&mut decoded).unwrap();
        assert_eq!(decoded, (0..18).map(|index| index * 13).collect::<Vec<u8>>());
    }
}
