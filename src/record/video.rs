use std::collections::BTreeMap;
use std::io::{BufWriter, ErrorKind, IntoInnerError, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use ale::RgbImage;
use anyhow::{Context, Result, ensure};

use super::caption::{self, Caption};
use crate::durable::PartialFile;
use crate::file_format::Formats;

/// Screens of one size with their captions. They are drawn only when they are written: scaled frames would fill the
/// memory.
pub(super) struct Video {
    frames_per_second: f64,
    /// The width and height of a screen pixel in the video.
    scale: usize,
    frames: Vec<(RgbImage, Caption)>,
}

impl Video {
    pub(super) fn new(frames_per_second: f64, scale: usize) -> Self {
        Self { frames_per_second, scale, frames: Vec::new() }
    }

    pub(super) fn push(&mut self, screen: RgbImage, caption: Caption) {
        self.frames.push((screen, caption));
    }

    fn images(&self) -> impl Iterator<Item = Result<RgbImage>> {
        self.frames.iter().map(|(screen, caption)| caption::draw(screen, self.scale, caption))
    }

    /// Returns the width and height of a frame of the video.
    fn size(&self) -> (usize, usize) {
        self.frames.first().map_or((0, 0), |(screen, _)| caption::size(screen, self.scale))
    }
}

#[derive(Clone, Copy)]
enum Format {
    Gif,
    Apng,
    Mp4,
}

const FORMATS: Formats<Format> = Formats {
    action: "record",
    by_extension: &[
        ("gif", Format::Gif),
        ("png", Format::Apng),
        ("apng", Format::Apng),
        ("mp4", Format::Mp4),
    ],
    allowed: ".gif, .apng or .mp4",
};

/// The file of a video. It is known to be writable before the episode starts.
pub(super) struct VideoFile {
    file: PartialFile,
    format: Format,
}

impl VideoFile {
    /// Creates the file. The extension of its name determines the format.
    pub(super) fn new(path: &Path) -> Result<Self> {
        let format = FORMATS.choose(path)?;
        if matches!(format, Format::Mp4) {
            let version = Command::new("ffmpeg").arg("-version").output();
            ensure!(
                version.is_ok(),
                "an .mp4 requires ffmpeg, which is not installed; install it, or record a .gif"
            );
        }
        Ok(Self { file: PartialFile::create(path)?, format })
    }

    pub(super) fn write(self, video: &Video) -> Result<()> {
        self.file.complete(|file, path| {
            let mut buffered = BufWriter::new(file);
            match self.format {
                Format::Gif => gif(video, &mut buffered)?,
                Format::Apng => apng(video, &mut buffered)?,
                Format::Mp4 => mp4(video, path)?,
            }
            buffered.into_inner().map_err(IntoInnerError::into_error)?;
            Ok(())
        })
    }
}

/// Writes a looping GIF. A screen has few colours, so the palette of each frame represents them exactly.
fn gif(video: &Video, file: impl Write) -> Result<()> {
    let (width, height) = video.size();
    let mut encoder = gif::Encoder::new(file, width as u16, height as u16, &[])?;
    encoder.set_repeat(gif::Repeat::Infinite)?;
    for image in video.images() {
        let (palette, indices) = indexed(&image?.pixels);
        let mut gif_frame =
            gif::Frame::from_palette_pixels(width as u16, height as u16, indices, palette, None);
        // In hundredths of a second.
        gif_frame.delay = (100.0 / video.frames_per_second).round() as u16;
        encoder.write_frame(&gif_frame)?;
    }
    Ok(())
}

/// Returns the palette of an image and the index of each pixel. After 256 colours, further ones (shades at the edges of
/// letters) become the last one.
fn indexed(pixels: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut palette, mut indices) = (Vec::new(), Vec::new());
    let mut known: BTreeMap<[u8; 3], u8> = BTreeMap::new();
    for pixel in pixels.as_chunks().0 {
        let index = *known.entry(*pixel).or_insert_with(|| {
            if palette.len() < 3 * 256 {
                palette.extend_from_slice(pixel);
            }
            (palette.len() / 3 - 1) as u8
        });
        indices.push(index);
    }
    (palette, indices)
}

/// Writes a looping animated PNG.
fn apng(video: &Video, file: impl Write) -> Result<()> {
    let (width, height) = video.size();
    let mut encoder = png::Encoder::new(file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_animated(video.frames.len() as u32, 0)?;
    encoder.set_frame_delay(1000, (1000.0 * video.frames_per_second) as u16)?;
    let mut writer = encoder.write_header()?;
    for image in video.images() {
        writer.write_image_data(&image?.pixels)?;
    }
    Ok(writer.finish()?)
}

/// Writes an MP4 by piping raw frames into ffmpeg.
fn mp4(video: &Video, path: &Path) -> Result<()> {
    let (width, height) = video.size();
    let mut ffmpeg = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"])
        .args(["-s", &format!("{width}x{height}"), "-r", &video.frames_per_second.to_string(), "-i", "-"])
        // yuv420p plays everywhere, but requires even sides. faststart lets players start before the whole file has
        // arrived.
        .args(["-pix_fmt", "yuv420p", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-movflags", "+faststart"])
        .args(["-f", "mp4"])
        .arg(path)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start ffmpeg")?;
    let mut stdin = ffmpeg.stdin.take().context("ffmpeg has no standard input")?;
    for image in video.images() {
        match stdin.write_all(&image?.pixels) {
            // ffmpeg reports the reason below.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            result => result?,
        }
    }
    drop(stdin);
    let output = ffmpeg.wait_with_output()?;
    ensure!(output.status.success(), "ffmpeg failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn video() -> Video {
        let mut video = Video::new(15.0, 1);
        for shade in [1, 2, 3] {
            let screen = RgbImage { height: 2, width: 30, pixels: [[shade, 0, 255]; 60].concat() };
            video.push(screen, Caption { score: 0.0, action: "NOOP", value: "0.00".to_owned() });
        }
        video
    }

    #[test]
    fn a_gif_has_the_exact_colours() {
        let mut bytes = Vec::new();
        gif(&video(), &mut bytes).unwrap();
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(bytes.as_slice()).unwrap();
        for shade in [1, 2, 3] {
            let frame = decoder.read_next_frame().unwrap().unwrap();
            assert_eq!((frame.delay, &frame.buffer[..4]), (7, &[shade, 0, 255, 255][..]));
        }
        assert!(decoder.read_next_frame().unwrap().is_none());
    }

    #[test]
    fn an_apng_has_every_frame() {
        let mut bytes = Vec::new();
        apng(&video(), &mut bytes).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        assert_eq!(reader.info().animation_control().unwrap().num_frames, 3);
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        for shade in [1, 2, 3] {
            reader.next_frame(&mut pixels).unwrap();
            assert_eq!(pixels[..3], [shade, 0, 255]);
        }
    }

    #[test]
    fn rejects_an_unknown_extension() {
        let error = VideoFile::new(Path::new("agent.avi")).err().unwrap().to_string();
        assert!(error.contains("must end in .gif, .apng or .mp4"), "{error}");
    }
}
