//! Powers that round as Python's and NumPy's do.

use std::hint::black_box;

/// Returns the square of a scalar as Gymnasium's `value**2` computes it: with the C library's `pow`. In about one in a
/// thousand cases its last bit differs from the product's.
pub(crate) fn square(value: f64) -> f64 {
    // The compiler would replace a known exponent of 2 by a product.
    value.powf(black_box(2.0))
}
