use kernels::ObservationLayout;
use rl_env::{Dtype, Space};

use super::convolutions::MIN_SMALL_SIDE;
use crate::SpecError;

/// Returns the layout of observations in `space`. Fails if no torso supports them.
pub fn layout_of(space: &Space) -> Result<ObservationLayout, SpecError> {
    let Space::Box { shape, dtype, .. } = space else {
        return Err(SpecError::ObservationSpace(space.to_string()));
    };
    let layout = match (dtype, shape.as_slice()) {
        (Dtype::U8, &[channels, height, width]) if height.min(width) >= MIN_SMALL_SIDE => {
            ObservationLayout::Images { channels, height, width }
        }
        (Dtype::U8, &[length]) => ObservationLayout::Bytes { length },
        (Dtype::F32, &[length]) => ObservationLayout::Floats { length },
        _ => return Err(SpecError::ObservationSpace(space.to_string())),
    };
    if layout.length() == 0 {
        return Err(SpecError::ObservationSpace(space.to_string()));
    }
    Ok(layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torsos_support_images_from_4_pixels_and_vectors() {
        let layout = |space: Space| layout_of(&space);
        let images = ObservationLayout::Images { channels: 4, height: 84, width: 84 };
        assert_eq!(layout(Space::bytes([4, 84, 84])), Ok(images));
        assert!(layout(Space::bytes([1, 4, 4])).is_ok());
        assert_eq!(layout(Space::bytes([128])), Ok(ObservationLayout::Bytes { length: 128 }));
        assert_eq!(layout(Space::floats(4, -1.0, 1.0)), Ok(ObservationLayout::Floats { length: 4 }));
        for space in [Space::bytes([4, 3, 84]), Space::bytes([84, 84]), Space::discrete(3)] {
            assert!(matches!(layout(space), Err(SpecError::ObservationSpace(_))));
        }
    }
}
