//! Products by AMX. Rust has no stable intrinsics for tiles, hence the assembly.

use std::arch::asm;

use super::instructions::tiles_are_available;
use super::outer_products::{HalfOuterProducts, ROWS};
use super::product::HalfProduct;
use super::sizes::{BLOCK_PAIRS, PANEL_COLUMNS};

/// The registers of all tiles. Their shapes are set before a product and released after it, so that the system need not
/// save them when it switches threads.
struct Shapes;

/// The format in which the shapes of tiles are loaded.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl Shapes {
    /// Sets the shapes. The left factor and the sums have `rows` rows; a row of the left factor and a column of the
    /// right one have `pairs` pairs.
    #[allow(unsafe_code)]
    fn new(rows: usize, pairs: usize) -> Self {
        let mut configuration =
            Configuration { palette: 1, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };
        // Tiles 0 to 3 are sums, 4 and 5 are of the left factor, 6 and 7 of the right one.
        let shapes = [[rows, 64]; 4].into_iter().chain([[rows, 4 * pairs]; 2]).chain([[pairs, 64]; 2]);
        for (tile, [rows, row_bytes]) in shapes.enumerate() {
            configuration.rows[tile] = rows as u8;
            configuration.row_bytes[tile] = row_bytes as u16;
        }
        // SAFETY: `multiply` has checked that there are tiles. The configuration is valid.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const configuration, options(nostack, readonly)) };
        Self
    }
}

impl Drop for Shapes {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: `new` has set the shapes on this thread.
        unsafe { asm!("tilerelease", options(nostack, nomem)) };
    }
}

/// Computes a product whose sizes have been checked.
pub(super) fn multiply(product: &mut HalfProduct<'_>) {
    assert!(tiles_are_available());
    let count = product.left.count;
    // Tiles of equal height. The last one may overlap with the one before, whose rows it computes again.
    let height = count.div_ceil(count.div_ceil(ROWS));
    let firsts: Vec<usize> =
        (0..count.div_ceil(height)).map(|tile| (tile * height).min(count - height)).collect();
    let addresses: Vec<*const u16> =
        product.left.runs.iter().map(|&run| product.left.values[run..].as_ptr()).collect();
    let shapes = Shapes::new(height, BLOCK_PAIRS);
    let mut sums = Sums([[0.0; PANEL_COLUMNS]; 2 * ROWS]);
    let panels: Vec<usize> = (0..product.right.count()).collect();
    // Four tiles of sums keep the processor busy: those of two tiles of rows, or of two panels.
    let at_once = if firsts.len() == 1 { 2 } else { 1 };
    for panels in panels.chunks(at_once) {
        for firsts in firsts.chunks(2) {
            let block = Block { product, addresses: &addresses, panel: panels[0], first: firsts[0] };
            match (firsts, panels) {
                (&[_, second], _) => block.multiply_two_tiles(second, &mut sums),
                (_, [_, _]) => block.multiply_two_panels(&mut sums),
                _ => block.multiply(&mut sums),
            }
            let places = firsts.iter().flat_map(|&first| panels.iter().map(move |&panel| (first, panel)));
            for ((first, panel), sums) in places.zip(sums.0.chunks_exact(ROWS)) {
                product.write(first, panel, &sums[..height]);
            }
        }
    }
    drop(shapes);
}

/// The sums of two tiles of rows.
#[repr(align(64))]
struct Sums([[f32; PANEL_COLUMNS]; 2 * ROWS]);

/// A tile of rows and a panel.
struct Block<'a, 'b> {
    product: &'a HalfProduct<'b>,
    /// The address of the first row of each run.
    addresses: &'a [*const u16],
    panel: usize,
    /// The first row.
    first: usize,
}

/// Operands of the assembly loops for which no registers are left.
#[repr(C)]
struct Loop {
    /// Blocks of each run.
    blocks: usize,
    /// The bytes from the first tile of rows to the second one.
    second: usize,
    sums: *mut f32,
}

// For all functions below, `HalfProduct::check` has checked that whole blocks of each row are within the values. It has
// also checked that each panel has as many blocks, each of `sizes::BLOCK_WORDS` words. The shapes of the tiles are set.
// Sums have 128 bytes per row.
impl Block<'_, '_> {
    /// Returns the bytes from the first row of a run to another one.
    fn offset(&self, row: usize) -> usize {
        row * self.step()
    }

    /// Returns the bytes from a row to the next.
    fn step(&self) -> usize {
        self.product.left.step * size_of::<u16>()
    }

    fn rows(&self, second: usize, sums: &mut Sums) -> Loop {
        Loop { blocks: self.product.right.blocks(), second, sums: sums.0.as_mut_ptr().cast() }
    }

    /// Computes the sums of this tile of rows, and of the one that begins at the row `second`.
    #[allow(unsafe_code)]
    fn multiply_two_tiles(&self, second: usize, sums: &mut Sums) {
        let rows = self.rows(self.offset(second) - self.offset(self.first), sums);
        // SAFETY: as above.
        unsafe {
            asm!(
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                "2:",
                "mov {left}, [{runs}]",
                "add {left}, {first}",
                "mov {other}, {left}",
                "add {other}, [{rows} + 8]",
                "mov {blocks}, [{rows}]",
                "3:",
                "tileloadd tmm4, [{left} + {step} * 1]",
                "tileloadd tmm6, [{right} + {line} * 1]",
                "tileloadd tmm7, [{right} + {line} * 1 + 1024]",
                "tileloadd tmm5, [{other} + {step} * 1]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "add {left}, 64",
                "add {other}, 64",
                "add {right}, 2048",
                "dec {blocks}",
                "jnz 3b",
                "add {runs}, 8",
                "cmp {runs}, {end}",
                "jne 2b",
                "mov {blocks}, [{rows} + 16]",
                "mov {line}, 128",
                "tilestored [{blocks} + {line} * 1], tmm0",
                "tilestored [{blocks} + {line} * 1 + 64], tmm1",
                "tilestored [{blocks} + {line} * 1 + 2048], tmm2",
                "tilestored [{blocks} + {line} * 1 + 2112], tmm3",
                rows = in(reg) &raw const rows,
                runs = inout(reg) self.addresses.as_ptr() => _,
                end = in(reg) self.addresses.as_ptr_range().end,
                first = in(reg) self.offset(self.first),
                step = in(reg) self.step(),
                right = inout(reg) self.product.panel(self.panel).as_ptr() => _,
                line = inout(reg) 64usize => _,
                left = out(reg) _,
                other = out(reg) _,
                blocks = out(reg) _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }

    /// Computes the sums of this tile of rows in this panel and the next.
    #[allow(unsafe_code)]
    fn multiply_two_panels(&self, sums: &mut Sums) {
        let rows = self.rows(0, sums);
        // SAFETY: as above.
        unsafe {
            asm!(
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                "2:",
                "mov {left}, [{runs}]",
                "add {left}, {first}",
                "mov {blocks}, [{rows}]",
                "3:",
                "tileloadd tmm4, [{left} + {step} * 1]",
                "tileloadd tmm6, [{right} + {line} * 1]",
                "tileloadd tmm7, [{right} + {line} * 1 + 1024]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tileloadd tmm6, [{other} + {line} * 1]",
                "tileloadd tmm7, [{other} + {line} * 1 + 1024]",
                "tdpbf16ps tmm2, tmm4, tmm6",
                "tdpbf16ps tmm3, tmm4, tmm7",
                "add {left}, 64",
                "add {other}, 2048",
                "add {right}, 2048",
                "dec {blocks}",
                "jnz 3b",
                "add {runs}, 8",
                "cmp {runs}, {end}",
                "jne 2b",
                "mov {blocks}, [{rows} + 16]",
                "mov {line}, 128",
                "tilestored [{blocks} + {line} * 1], tmm0",
                "tilestored [{blocks} + {line} * 1 + 64], tmm1",
                "tilestored [{blocks} + {line} * 1 + 2048], tmm2",
                "tilestored [{blocks} + {line} * 1 + 2112], tmm3",
                rows = in(reg) &raw const rows,
                runs = inout(reg) self.addresses.as_ptr() => _,
                end = in(reg) self.addresses.as_ptr_range().end,
                first = in(reg) self.offset(self.first),
                step = in(reg) self.step(),
                right = inout(reg) self.product.panel(self.panel).as_ptr() => _,
                other = inout(reg) self.product.panel(self.panel + 1).as_ptr() => _,
                line = inout(reg) 64usize => _,
                left = out(reg) _,
                blocks = out(reg) _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }

    /// Computes the sums of this tile of rows in this panel.
    #[allow(unsafe_code)]
    fn multiply(&self, sums: &mut Sums) {
        let rows = self.rows(0, sums);
        // SAFETY: as above.
        unsafe {
            asm!(
                "tilezero tmm0",
                "tilezero tmm1",
                "2:",
                "mov {left}, [{runs}]",
                "add {left}, {first}",
                "mov {blocks}, [{rows}]",
                "3:",
                "tileloadd tmm4, [{left} + {step} * 1]",
                "tileloadd tmm6, [{right} + {line} * 1]",
                "tileloadd tmm7, [{right} + {line} * 1 + 1024]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "add {left}, 64",
                "add {right}, 2048",
                "dec {blocks}",
                "jnz 3b",
                "add {runs}, 8",
                "cmp {runs}, {end}",
                "jne 2b",
                "mov {blocks}, [{rows} + 16]",
                "mov {line}, 128",
                "tilestored [{blocks} + {line} * 1], tmm0",
                "tilestored [{blocks} + {line} * 1 + 64], tmm1",
                rows = in(reg) &raw const rows,
                runs = inout(reg) self.addresses.as_ptr() => _,
                end = in(reg) self.addresses.as_ptr_range().end,
                first = in(reg) self.offset(self.first),
                step = in(reg) self.step(),
                right = inout(reg) self.product.panel(self.panel).as_ptr() => _,
                line = inout(reg) 64usize => _,
                left = out(reg) _,
                blocks = out(reg) _,
                out("tmm0") _, out("tmm1") _, out("tmm4") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }
}

/// Adds outer products whose sizes have been checked.
pub(super) fn add(products: &mut HalfOuterProducts<'_>) {
    assert!(tiles_are_available());
    let rows: Vec<usize> = (0..products.rows()).step_by(ROWS).collect();
    let shapes = Shapes::new(ROWS, products.pairs);
    for column in (0..products.columns).step_by(PANEL_COLUMNS) {
        for rows in rows.chunks(2) {
            add_tiles(products, rows[0], rows.len() == 2, column);
        }
    }
    drop(shapes);
}

/// Adds to the sums of one or two tiles of rows, from `first` on, in two tiles of columns.
#[allow(unsafe_code)]
fn add_tiles(products: &mut HalfOuterProducts<'_>, first: usize, are_two: bool, column: usize) {
    let bytes_of_value = size_of::<u16>();
    let left = products.left[first * products.left_row..].as_ptr();
    let right = products.right[column..].as_ptr();
    let sums = products.sums[first * products.columns + column..].as_mut_ptr();
    let (left_row, left_step) = (products.left_row * bytes_of_value, products.left_step * bytes_of_value);
    let [right_pair, right_step, sums_row] =
        [products.right_pair, products.right_step, products.columns].map(|words| words * size_of::<u32>());
    // SAFETY: `HalfOuterProducts::check` has checked that 16 rows of each tile are within the values and the sums, and
    // 32 columns of each pair within the words. The shapes of the tiles are set.
    unsafe {
        if are_two {
            asm!(
                "tileloadd tmm0, [{sums} + {sums_row} * 1]",
                "tileloadd tmm1, [{sums} + {sums_row} * 1 + 64]",
                "tileloadd tmm2, [{other_sums} + {sums_row} * 1]",
                "tileloadd tmm3, [{other_sums} + {sums_row} * 1 + 64]",
                "2:",
                "tileloadd tmm4, [{left} + {left_row} * 1]",
                "tileloadd tmm6, [{right} + {right_pair} * 1]",
                "tileloadd tmm7, [{right} + {right_pair} * 1 + 64]",
                "tileloadd tmm5, [{other} + {left_row} * 1]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "add {left}, {left_step}",
                "add {other}, {left_step}",
                "add {right}, {right_step}",
                "dec {height}",
                "jnz 2b",
                "tilestored [{sums} + {sums_row} * 1], tmm0",
                "tilestored [{sums} + {sums_row} * 1 + 64], tmm1",
                "tilestored [{other_sums} + {sums_row} * 1], tmm2",
                "tilestored [{other_sums} + {sums_row} * 1 + 64], tmm3",
                sums = in(reg) sums,
                other_sums = in(reg) sums.wrapping_add(ROWS * products.columns),
                sums_row = in(reg) sums_row,
                left = inout(reg) left => _,
                other = inout(reg) left.wrapping_add(ROWS * products.left_row) => _,
                left_row = in(reg) left_row,
                left_step = in(reg) left_step,
                right = inout(reg) right => _,
                right_pair = in(reg) right_pair,
                right_step = in(reg) right_step,
                height = inout(reg) products.height => _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        } else {
            asm!(
                "tileloadd tmm0, [{sums} + {sums_row} * 1]",
                "tileloadd tmm1, [{sums} + {sums_row} * 1 + 64]",
                "2:",
                "tileloadd tmm4, [{left} + {left_row} * 1]",
                "tileloadd tmm6, [{right} + {right_pair} * 1]",
                "tileloadd tmm7, [{right} + {right_pair} * 1 + 64]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "add {left}, {left_step}",
                "add {right}, {right_step}",
                "dec {height}",
                "jnz 2b",
                "tilestored [{sums} + {sums_row} * 1], tmm0",
                "tilestored [{sums} + {sums_row} * 1 + 64], tmm1",
                sums = in(reg) sums,
                sums_row = in(reg) sums_row,
                left = inout(reg) left => _,
                left_row = in(reg) left_row,
                left_step = in(reg) left_step,
                right = inout(reg) right => _,
                right_pair = in(reg) right_pair,
                right_step = in(reg) right_step,
                height = inout(reg) products.height => _,
                out("tmm0") _, out("tmm1") _, out("tmm4") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }
}
