use super::*;

/// An image that checks that its rows are read in order.
pub(super) struct Image<'a> {
    rows: Vec<&'a [u8]>,
    next: usize,
}

impl<'a> Image<'a> {
    pub(super) fn new(pixels: &'a [u8], row_len: usize) -> Self {
        Self { rows: pixels.chunks_exact(row_len).collect(), next: 0 }
    }
}

impl Rows for Image<'_> {
    fn produce(&mut self, row: usize) -> Sameness {
        assert_eq!(row, self.next, "every row is read once, in order");
        self.next += 1;
        Sameness { repeats: row > 0 && self.rows[row] == self.rows[row - 1], unchanged: false }
    }

    fn pixels(&self, row: usize) -> &[u8] {
        self.rows[row]
    }
}

/// Returns the bytes of the generator `SplitMix64`, the least significant byte of each output first.
fn image(seed: u64, len: usize) -> Vec<u8> {
    (1..).flat_map(|index| split_mix(seed, index).to_le_bytes()).take(len).collect()
}

fn split_mix(seed: u64, index: u64) -> u64 {
    let z = seed.wrapping_add(index.wrapping_mul(0x9E3779B97F4A7C15));
    let z = (z ^ z >> 30).wrapping_mul(0xBF58476D1CE4E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D049BB133111EB);
    z ^ z >> 31
}

/// Returns the recorded results of `OpenCV`: line, resizer, bytes of a source row, bytes of source and target, seed,
/// checksum.
fn recorded() -> impl Iterator<Item = (String, Resizer, usize, [usize; 2], u64, u32)> {
    let lines = include_str!("../../../tests/data/resize.txt").lines();
    lines.filter(|line| !line.starts_with('#')).map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let integer = |index: usize| fields[index].parse::<usize>().unwrap();
        let source = Size { height: integer(0), width: 160 };
        let target = Size { height: integer(1), width: integer(2) };
        let channels = integer(3);
        (
            line.to_owned(),
            Resizer::new(source, target, channels),
            160 * channels,
            [source.height * 160 * channels, target.height * target.width * channels],
            integer(4) as u64,
            u32::from_str_radix(fields[5], 16).unwrap(),
        )
    })
}

#[test]
fn equals_opencv_on_random_images() {
    for (line, mut resizer, row_len, [source_len, target_len], seed, expected) in recorded() {
        let mut target = vec![0; target_len];
        let image = image(seed, source_len);
        let mut image = Image::new(&image, row_len);
        resizer.resize(&mut image, None, &mut target);
        assert_eq!(image.next, image.rows.len(), "{line}");
        assert_eq!(crc32fast::hash(&target), expected, "{line}");
    }
}

#[test]
fn the_scales_select_the_kernel() {
    let source = Size { height: 210, width: 160 };
    let kernel = |height, width| Resizer::new(source, Size { height, width }, 1).kernel;
    assert!(matches!(kernel(210, 160), Kernel::Copy { .. }));
    assert!(matches!(kernel(105, 80), Kernel::Blocks(_)));
    assert!(matches!(kernel(210, 80), Kernel::Blocks(_)));
    assert!(matches!(kernel(84, 84), Kernel::Area(_)));
    assert!(matches!(kernel(84, 160), Kernel::Area(_)));
    assert!(matches!(kernel(100, 161), Kernel::Linear(_)));
}
