use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ale::RgbImage;
use protobuf::{Message, RepeatedField};
use tensorboard_proto::event::Event;
use tensorboard_proto::summary::{Summary, Summary_Image, SummaryMetadata, SummaryMetadata_PluginData};
use tensorboard_proto::tensor::TensorProto;
use tensorboard_proto::tensor_shape::{TensorShapeProto, TensorShapeProto_Dim};
use tensorboard_proto::types::DataType;
use tensorboard_rs::record_writer::RecordWriter;
use tensorboard_rs::summary::histogram_raw;

use super::append_file::AppendFile;
use super::hparams;
use super::media::Media;
use super::record::{Moment, Record, Sample};
use super::sink::Sink;
use super::tensorboard_summary::summary;
use super::tracked_game::TrackedGame;

/// The number of buckets of a histogram, as in TensorFlow.
const BUCKETS: usize = 30;

/// A TensorBoard event file.
///
/// tensorboard-rs encodes the records but does not write the file: its writer uses a new name each time and panics if
/// the disk is full.
pub(super) struct TensorBoard {
    file: AppendFile,
    games: Vec<TrackedGame>,
}

impl TensorBoard {
    /// The name of the file. TensorBoard reads every file with `tfevents` in its name.
    pub(super) const FILE: &str = "events.out.tfevents.ale-train";

    pub(super) fn open(run_dir: &Path, length: u64, games: &[TrackedGame]) -> io::Result<Self> {
        let file = AppendFile::open(run_dir, Self::FILE, length)?;
        let mut tensorboard = Self { file, games: games.to_vec() };
        if tensorboard.file.length() == 0 {
            let mut event = Event::new();
            event.set_file_version("brain.Event:2".to_owned());
            tensorboard.write(event)?;
            tensorboard.flush()?;
        }
        Ok(tensorboard)
    }

    fn write_summary(&mut self, moment: &Moment, summary: Summary) -> io::Result<()> {
        let mut event = Event::new();
        event.set_step(moment.steps as i64);
        event.set_summary(summary);
        self.write(event)
    }

    fn write(&mut self, mut event: Event) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        event.set_wall_time(now.as_secs_f64());
        let bytes = event.write_to_bytes().map_err(io::Error::other)?;
        RecordWriter::new(&mut self.file).write(&bytes)
    }
}

impl Sink for TensorBoard {
    fn name(&self) -> &'static str {
        "the TensorBoard file"
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        record.samples.iter().try_for_each(|sample| {
            self.write_summary(&record.moment, scalar(sample, description(sample, &self.games)))
        })
    }

    fn show(&mut self, moment: &Moment, media: &Media) -> io::Result<()> {
        let summaries = match media {
            Media::Text { tag, markdown } => vec![text(tag, markdown)],
            Media::Histogram { tag, values } => histogram(tag, values).into_iter().collect(),
            Media::Image { tag, image } => vec![encoded_image(tag, image)?],
            Media::SessionStart(session) => hparams::start(session)?.into(),
            Media::SessionEnd => vec![hparams::end()?],
        };
        summaries.into_iter().try_for_each(|summary| self.write_summary(moment, summary))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn recover(&mut self) -> io::Result<()> {
        self.file.recover()
    }

    fn create_again(&mut self) -> io::Result<()> {
        self.file.create_again()
    }

    fn position(&self) -> Option<(&'static str, u64)> {
        Some((Self::FILE, self.file.length()))
    }
}

/// Encodes a value and the description of its curve.
fn scalar(sample: &Sample, description: Option<String>) -> Summary {
    summary(&sample.tag(), |value| {
        value.set_simple_value(sample.value as f32);
        if let Some(description) = description {
            let mut metadata = SummaryMetadata::new();
            metadata.set_summary_description(description);
            value.set_metadata(metadata);
        }
    })
}

/// Returns the description of a curve, which TensorBoard shows beside it. It names the game, if its mode or difficulty
/// is not the default, or the number of games of an aggregate that lacks some. Tags do not contain either, so that a
/// run that is resumed keeps its tags.
fn description(sample: &Sample, games: &[TrackedGame]) -> Option<String> {
    if sample.metric.is_of_normalised_games() {
        let count = games.iter().filter(|game| game.human_normalised(0.0).is_some()).count();
        return (count < games.len()).then(|| format!("{count} of {} games", games.len()));
    }
    let game = match &sample.task {
        Some(task) => games.iter().find(|game| game.id == *task),
        None => games.first().filter(|_| games.len() == 1),
    };
    game.filter(|game| game.label != game.id).map(|game| game.label.clone())
}

/// Encodes a one-element string tensor, which the `text` plugin of TensorBoard renders as Markdown.
fn text(tag: &str, markdown: &str) -> Summary {
    let mut dimension = TensorShapeProto_Dim::new();
    dimension.set_size(1);
    let mut shape = TensorShapeProto::new();
    shape.set_dim(RepeatedField::from_vec(vec![dimension]));
    let mut tensor = TensorProto::new();
    tensor.set_dtype(DataType::DT_STRING);
    tensor.set_tensor_shape(shape);
    tensor.set_string_val(RepeatedField::from_vec(vec![markdown.as_bytes().to_vec()]));
    let mut plugin = SummaryMetadata_PluginData::new();
    plugin.set_plugin_name("text".to_owned());
    let mut metadata = SummaryMetadata::new();
    metadata.set_plugin_data(plugin);
    summary(tag, |value| {
        value.set_metadata(metadata);
        value.set_tensor(tensor);
    })
}

/// Counts the finite values in buckets of equal width. Returns `None` if there are none.
fn histogram(tag: &str, values: &[f64]) -> Option<Summary> {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    let buckets = if low == high { 1 } else { BUCKETS };
    let width = (high - low) / buckets as f64;
    let mut counts = vec![0.0; buckets];
    for value in &values {
        // A single bucket has width 0, and the greatest value belongs to the last bucket.
        counts[(((value - low) / width) as usize).min(buckets - 1)] += 1.0;
    }
    let mut limits: Vec<f64> = (1..=buckets).map(|bucket| low + width * bucket as f64).collect();
    limits[buckets - 1] = high;
    let squares = values.iter().map(|value| value * value).sum();
    Some(histogram_raw(tag, low, high, values.len() as f64, values.iter().sum(), squares, &limits, &counts))
}

fn encoded_image(tag: &str, image: &RgbImage) -> io::Result<Summary> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, image.width as u32, image.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&image.pixels))
        .map_err(io::Error::other)?;
    let mut encoded = Summary_Image::new();
    encoded.set_width(image.width as i32);
    encoded.set_height(image.height as i32);
    // RGB.
    encoded.set_colorspace(3);
    encoded.set_encoded_image_string(bytes);
    Ok(summary(tag, |value| value.set_image(encoded)))
}
