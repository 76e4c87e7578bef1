/// Pixels in a row of the console's screen.
pub const SCREEN_WIDTH: usize = 160;

/// A row of screen bytes.
pub(crate) type Row = [u8; SCREEN_WIDTH];

/// Returns the rows of a screen.
pub(crate) fn rows(screen: &[u8]) -> &[Row] {
    screen.as_chunks().0
}
