/// One direction of a resize.
pub(super) struct Axis {
    /// Source pixels.
    pub(super) source: usize,
    /// Target pixels.
    pub(super) target: usize,
    /// Target pixels per source pixel.
    pub(super) inverse_scale: f64,
    /// Source pixels per target pixel; like `OpenCV`, computed as the reciprocal of `inverse_scale`.
    pub(super) scale: f64,
}

impl Axis {
    pub(super) fn new(source: usize, target: usize) -> Self {
        let inverse_scale = target as f64 / source as f64;
        Self { source, target, inverse_scale, scale: 1.0 / inverse_scale }
    }

    /// Returns the scale if it is an integer by `OpenCV`'s criterion.
    pub(super) fn integer_scale(&self) -> Option<usize> {
        let rounded = self.scale.round_ties_even();
        ((self.scale - rounded).abs() < f64::EPSILON).then_some(rounded as usize)
    }
}
