use kernels::{ImageShape, MAX_IMAGES, ObservationLayout};
use rl_env::{Dtype, Space};

use crate::SpecError;

/// The smallest height and width of a picture: the last convolution of the torso `nature` might have no output on a
/// smaller one.
pub const MIN_PICTURE_SIDE: usize = 36;

/// The smallest height and width of an image, for the convolutions of the torso `small`.
const MIN_SMALL_SIDE: usize = 4;

/// Returns the layout of observations in `space`. Fails if no torso supports them.
///
/// Supported are vectors, images, and a [`Space::Tuple`] of images and optionally a vector of floats after them.
pub fn layout_of(space: &Space) -> Result<ObservationLayout, SpecError> {
    let layout = match space {
        Space::Tuple(parts) => layout_of_parts(parts),
        space => layout_of_box(space),
    };
    let layout = layout.filter(|layout| layout.length() > 0);
    layout.ok_or_else(|| SpecError::ObservationSpace(space.to_string()))
}

fn layout_of_box(space: &Space) -> Option<ObservationLayout> {
    let Space::Box { shape, dtype, .. } = space else { return None };
    match (dtype, shape.as_slice()) {
        (Dtype::U8, &[channels, height, width]) if height.min(width) >= MIN_SMALL_SIDE => {
            Some(ObservationLayout::Images { channels, height, width })
        }
        (Dtype::U8, &[length]) => Some(ObservationLayout::Bytes { length }),
        (Dtype::F32, &[length]) => Some(ObservationLayout::Floats { length }),
        _ => None,
    }
}

fn layout_of_parts(parts: &[Space]) -> Option<ObservationLayout> {
    let (mut images, mut count, mut floats) = ([ImageShape::default(); MAX_IMAGES], 0, 0);
    for (index, part) in parts.iter().enumerate() {
        match layout_of_box(part)? {
            ObservationLayout::Images { channels, height, width } if channels > 0 => {
                *images.get_mut(count)? = ImageShape { channels, height, width };
                count += 1;
            }
            ObservationLayout::Floats { length } if index > 0 && index + 1 == parts.len() => floats = length,
            _ => return None,
        }
    }
    (count > 0).then_some(ObservationLayout::Mixed { images, floats })
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
        let (image, floats) = (Space::bytes([3, 7, 7]), Space::floats(2, 0.0, 1.0));
        let mut images = [ImageShape::default(); MAX_IMAGES];
        images[..2].fill(ImageShape { channels: 3, height: 7, width: 7 });
        let mixed = Space::tuple([image.clone(), image.clone(), floats.clone()]);
        assert_eq!(layout(mixed.clone()), Ok(ObservationLayout::Mixed { images, floats: 2 }));
        assert_eq!(layout(mixed.clone()).unwrap().row_bytes(), mixed.byte_len());
        let refused =
            [vec![floats.clone(), image.clone()], vec![floats], vec![], vec![image; MAX_IMAGES + 1]];
        assert!(refused.into_iter().all(|parts| layout(Space::tuple(parts)).is_err()));
        for space in [Space::bytes([4, 3, 84]), Space::bytes([84, 84]), Space::discrete(3)] {
            assert!(matches!(layout(space), Err(SpecError::ObservationSpace(_))));
        }
    }
}
