use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use burn::backend::flex::FlexTensor;

use super::panels::HalfPanels;
use crate::flex::slice;

/// The packed form of a layer's weight, kept until the layer is used with another weight. Packing takes several times
/// as long as the product with the few rows of a step. Clones share it.
#[derive(Clone, Default)]
pub struct PackedWeight(Arc<Mutex<Option<Packed>>>);

#[derive(Clone)]
struct Packed {
    /// As long as it is here, no other tensor has its address, and its values do not change.
    weight: FlexTensor,
    panels: Arc<HalfPanels>,
}

impl PackedWeight {
    /// Returns the packed form of a contiguous `weight`, which `pack` computes if it is not known.
    pub(crate) fn get_or_pack(
        &self,
        weight: &FlexTensor,
        pack: impl FnOnce() -> HalfPanels,
    ) -> Arc<HalfPanels> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known.filter(|known| known.is_of(weight)) {
            return known.panels;
        }
        let panels = Arc::new(pack());
        let packed = Packed { weight: weight.clone(), panels: panels.clone() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(packed);
        panels
    }
}

impl Packed {
    fn is_of(&self, weight: &FlexTensor) -> bool {
        let (packed, other) = (slice(&self.weight), slice(weight));
        (packed.as_ptr(), packed.len()) == (other.as_ptr(), other.len())
    }
}

impl fmt::Debug for PackedWeight {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PackedWeight").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::tensor;

    #[test]
    fn a_weight_is_packed_once_until_another_is_used() {
        let packed = PackedWeight::default();
        let (first, second) = (tensor(vec![1.0; 6], [3, 2]), tensor(vec![1.0; 6], [3, 2]));
        let mut count = 0;
        let mut panels = |weight: &FlexTensor| {
            packed.get_or_pack(weight, || {
                count += 1;
                HalfPanels::pack(slice(weight), 1, 3, 2)
            })
        };
        let of_first = panels(&first);
        assert!(Arc::ptr_eq(&of_first, &panels(&first.clone())));
        assert!(!Arc::ptr_eq(&of_first, &panels(&second)));
        panels(&first);
        assert_eq!(count, 3);
    }
}
