//! Screens as PNG.

use std::io::Cursor;

use ale::RgbImage;
use anyhow::{Context, Result};

/// Encodes an image as a PNG, quickly rather than small.
pub(crate) fn to_png(image: &RgbImage) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, image.width as u32, image.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&image.pixels)?;
    writer.finish()?;
    Ok(bytes)
}

/// Decodes an image of [`to_png`].
pub(crate) fn from_png(bytes: &[u8]) -> Result<RgbImage> {
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().context("the image is too large")?];
    let info = reader.next_frame(&mut pixels)?;
    Ok(RgbImage { height: info.height as usize, width: info.width as usize, pixels })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_survive_the_encoding() {
        let image =
            RgbImage { height: 2, width: 3, pixels: (0..2 * 3 * 3).map(|index| index * 13).collect() };
        assert_eq!(from_png(&to_png(&image).unwrap()).unwrap(), image);
    }
}
