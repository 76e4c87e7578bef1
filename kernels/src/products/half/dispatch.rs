//! Runs a product with the instructions of its arithmetic, or emulates them.

use super::arithmetic::Bf16Arithmetic;
use super::emulated;
use super::outer_products::HalfOuterProducts;
use super::product::HalfProduct;

impl HalfProduct<'_> {
    /// Computes the product.
    pub(crate) fn run(mut self, arithmetic: Bf16Arithmetic) {
        if self.left.count == 0 {
            return;
        }
        self.check();
        if !arithmetic.is_native() {
            return emulated::multiply(&mut self, arithmetic);
        }
        match arithmetic {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Bf16Arithmetic::Tiles => super::tiles::multiply(&mut self),
            #[cfg(target_arch = "x86_64")]
            Bf16Arithmetic::Dots => super::dots::multiply(&mut self),
            #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
            _ => unreachable!("a processor without these instructions"),
        }
    }
}

impl HalfOuterProducts<'_> {
    /// Adds the products.
    pub(crate) fn run(mut self, arithmetic: Bf16Arithmetic) {
        self.check();
        if !arithmetic.is_native() {
            return emulated::add(&mut self, arithmetic);
        }
        match arithmetic {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Bf16Arithmetic::Tiles => super::tiles::add(&mut self),
            #[cfg(target_arch = "x86_64")]
            Bf16Arithmetic::Dots => super::dots::add_outer_products(&mut self),
            #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
            _ => unreachable!("a processor without these instructions"),
        }
    }
}
