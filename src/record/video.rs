use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{BufWriter, ErrorKind, IntoInnerError, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use ale::{RgbImage, SOUND_RATE};
use anyhow::{Context, Result, bail, ensure};
use tempfile::NamedTempFile;

use super::caption::{self, Caption};
use crate::durable::PartialFile;
use crate::file_format::Formats;
use crate::show::picture;

/// The speed of choosing 256 colours, from 1 to 30: a good compromise according to the documentation of `gif`.
const QUANTISATION: i32 = 10;

/// The number of colours of the console. A palette of 256 has room for as many shades of letters.
const COLOURS: usize = 128;

/// Screens of one size with their captions. They are kept as PNG, and drawn only when they are written: scaled frames
/// would fill the memory.
pub(super) struct Video {
    frames_per_second: f64,
    /// The width and height of a screen pixel in the video.
    scale: usize,
    /// The width and height of the screens.
    size: (usize, usize),
    frames: Vec<(Vec<u8>, Option<Caption>)>,
    /// Samples of 8 bits, [`SOUND_RATE`] of them per second.
    sound: Vec<u8>,
}

impl Video {
    pub(super) fn new(frames_per_second: f64, scale: usize) -> Self {
        Self { frames_per_second, scale, size: (0, 0), frames: Vec::new(), sound: Vec::new() }
    }

    /// Adds a frame. Fails if its size differs from that of the others. All frames have a caption, or none.
    pub(super) fn push(&mut self, screen: &RgbImage, caption: Option<Caption>) -> Result<()> {
        let size = (screen.width, screen.height);
        if self.frames.is_empty() {
            self.size = size;
        }
        let [before, now] = [self.size, size].map(|(width, height)| format!("{width}x{height}"));
        ensure!(before == now, "the size of the screen changed from {before} to {now}");
        self.frames.push((picture::to_png(screen)?, caption));
        Ok(())
    }

    /// Adds the sound of the last frame.
    pub(super) fn push_sound(&mut self, samples: &[u8]) {
        self.sound.extend(samples);
    }

    /// Returns each screen and its drawing.
    fn images(&self) -> impl Iterator<Item = Result<(RgbImage, RgbImage)>> {
        self.frames.iter().map(|(png, caption)| {
            let screen = picture::from_png(png)?;
            let drawn = caption::draw(&screen, self.scale, caption.as_ref())?;
            Ok((screen, drawn))
        })
    }

    /// Returns the width and height of a frame of the video.
    fn drawn_size(&self) -> (usize, usize) {
        let has_caption = self.frames.first().is_some_and(|(_, caption)| caption.is_some());
        caption::drawn_size(self.size, self.scale, has_caption)
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

/// Writes a looping GIF. A screen with at most [`COLOURS`] keeps them exactly.
pub(super) fn gif(video: &Video, file: impl Write) -> Result<()> {
    let (width, height) = video.drawn_size();
    let [Ok(width), Ok(height)] = [width, height].map(u16::try_from) else {
        bail!(
            "a GIF of {width}x{height} pixels is not possible; choose a smaller --scale, or record an .mp4"
        );
    };
    let mut encoder = gif::Encoder::new(file, width, height, &[])?;
    encoder.set_repeat(gif::Repeat::Infinite)?;
    for images in video.images() {
        let (screen, image) = images?;
        let mut gif_frame = if has_few_colours(&screen) {
            let (palette, indices) = indexed(&image.pixels);
            gif::Frame::from_palette_pixels(width, height, indices, palette, None)
        } else {
            gif::Frame::from_rgb_speed(width, height, &image.pixels, QUANTISATION)
        };
        // In hundredths of a second. Many programs show frames of less than two slowly.
        gif_frame.delay = (100.0 / video.frames_per_second).round().max(2.0) as u16;
        encoder.write_frame(&gif_frame)?;
    }
    Ok(())
}

/// Returns true if a palette has room for all colours of a screen and of its caption.
fn has_few_colours(screen: &RgbImage) -> bool {
    let mut known = BTreeSet::new();
    screen.pixels.as_chunks::<3>().0.iter().all(|pixel| {
        known.insert(pixel);
        known.len() <= COLOURS
    })
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
    let (width, height) = video.drawn_size();
    let mut encoder = png::Encoder::new(file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_animated(video.frames.len() as u32, 0)?;
    // A fraction of two 16-bit numbers.
    let numerator = if video.frames_per_second < 65.0 { 1000 } else { 10 };
    encoder.set_frame_delay(numerator, (f64::from(numerator) * video.frames_per_second) as u16)?;
    let mut writer = encoder.write_header()?;
    for image in video.images() {
        writer.write_image_data(&image?.1.pixels)?;
    }
    Ok(writer.finish()?)
}

/// Writes an MP4 with the sound, if there is any, by piping raw frames into ffmpeg.
fn mp4(video: &Video, path: &Path) -> Result<()> {
    let (width, height) = video.drawn_size();
    let mut sound = NamedTempFile::new()?;
    sound.write_all(&video.sound)?;
    let mut ffmpeg = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"])
        .args(["-s", &format!("{width}x{height}"), "-r", &video.frames_per_second.to_string(), "-i", "-"])
        .args(sound_input(video, sound.path()))
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
        match stdin.write_all(&image?.1.pixels) {
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

/// Returns the arguments for the sound; none without sound.
fn sound_input(video: &Video, samples: &Path) -> Vec<OsString> {
    if video.sound.is_empty() {
        return Vec::new();
    }
    let format = ["-f", "u8", "-ac", "1", "-ar", &SOUND_RATE.to_string(), "-i"].map(OsString::from);
    format.into_iter().chain([samples.into()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn video() -> Video {
        let mut video = Video::new(15.0, 1);
        for shade in [1, 2, 3] {
            let screen = RgbImage { height: 2, width: 30, pixels: [[shade, 0, 255]; 60].concat() };
            video.push(&screen, Some(caption())).unwrap();
        }
        video
    }

    fn caption() -> Caption {
        Caption(["score 0", "noop", "value 0.00"].map(str::to_owned))
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
    fn a_gif_of_many_colours_is_close_to_them() {
        let mut video = Video::new(50.0, 1);
        let pixels: Vec<u8> =
            (0..40_u8).flat_map(|y| (0..40_u8).flat_map(move |x| [6 * x, 6 * y, 0])).collect();
        video.push(&RgbImage { height: 40, width: 40, pixels: pixels.clone() }, Some(caption())).unwrap();
        let mut bytes = Vec::new();
        gif(&video, &mut bytes).unwrap();
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(bytes.as_slice()).unwrap();
        let frame = decoder.read_next_frame().unwrap().unwrap();
        assert_eq!(frame.delay, 2);
        let quantised = frame.buffer.as_chunks::<4>().0.iter().flat_map(|[colours @ .., _]| *colours);
        let (palette, indices) = indexed(&pixels);
        let first_colours = indices.iter().flat_map(|&index| palette[3 * usize::from(index)..][..3].to_vec());
        let distance = |shown: &mut dyn Iterator<Item = u8>| -> u64 {
            shown.zip(&pixels).map(|(shown, &pixel)| u64::from(shown.abs_diff(pixel))).sum()
        };
        let distances = [distance(&mut quantised.into_iter()), distance(&mut first_colours.into_iter())];
        assert!(4 * distances[0] < distances[1], "{distances:?}");
        let taller = RgbImage { height: 41, width: 40, pixels: vec![0; 3 * 41 * 40] };
        let error = video.push(&taller, Some(caption())).unwrap_err().to_string();
        assert_eq!(error, "the size of the screen changed from 40x40 to 40x41");
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
