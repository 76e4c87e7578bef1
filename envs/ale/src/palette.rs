//! The colours of the screen's bytes.
//!
//! Only the 128 even bytes are colours of the console. PAL televisions drop the colour of frames with an odd number of
//! lines; the emulation encodes this as odd bytes, the grey of the same brightness.

use vcs::TvFormat;

use crate::screen::SCREEN_WIDTH;

/// The colours of one television system, indexed by screen byte.
#[derive(Debug)]
pub struct Palette {
    /// Red, green and blue.
    pub rgb: [[u8; 3]; 256],
    /// Luminance as ale-py reports it.
    pub grey: [u8; 256],
}

impl Palette {
    /// Returns the palette of a television system.
    pub fn of(tv: TvFormat) -> &'static Self {
        static NTSC: Palette = Palette::from_colours(&NTSC_COLOURS);
        static PAL: Palette = Palette::from_colours(&PAL_COLOURS);
        static SECAM: Palette = Palette::from_colours(&SECAM_COLOURS);
        match tv {
            TvFormat::Ntsc => &NTSC,
            TvFormat::Pal => &PAL,
            TvFormat::Secam => &SECAM,
        }
    }

    /// Extends the 128 colours, each `0xRRGGBB`, to all 256 bytes.
    ///
    /// In RGB an odd byte is the grey of its even neighbour. In *greyscale* it is something else: ale-py's table
    /// interleaves colours and greys, and an odd byte reads the blue component of the next colour, or 0 after the last
    /// one.
    const fn from_colours(colours: &[u32; 128]) -> Self {
        let mut rgb = [[0; 3]; 256];
        let mut grey = [0; 256];
        let mut index = 0;
        while index < 128 {
            let [_, red, green, blue] = colours[index].to_be_bytes();
            let luminance = luminance(red, green, blue);
            rgb[2 * index] = [red, green, blue];
            rgb[2 * index + 1] = [luminance; 3];
            grey[2 * index] = luminance;
            if index < 127 {
                grey[2 * index + 1] = colours[index + 1] as u8;
            }
            index += 1;
        }
        Self { rgb, grey }
    }
}

/// Pixels that are compared at once. A row of the screen is a multiple of them.
const PIECE: usize = 16;

/// Writes the colours of a screen, `N` bytes for each pixel.
///
/// Most of a screen repeats the row above, where copying a whole piece is several times as fast as looking up its
/// pixels.
pub(crate) fn paint<const N: usize>(screen: &[u8], colours: &[[u8; N]; 256], pixels: &mut [u8]) {
    let width = PIECE * N;
    let above = SCREEN_WIDTH / PIECE;
    let pieces = screen.as_chunks::<PIECE>().0;
    for (index, piece) in pieces.iter().enumerate() {
        if index >= above && *piece == pieces[index - above] {
            let start = (index - above) * width;
            pixels.copy_within(start..start + width, index * width);
        } else {
            let painted = pixels[index * width..(index + 1) * width].as_chunks_mut().0;
            for (pixel, &byte) in painted.iter_mut().zip(piece) {
                *pixel = colours[usize::from(byte)];
            }
        }
    }
}

/// Returns 0.2989 R + 0.5870 G + 0.1140 B, rounded.
const fn luminance(red: u8, green: u8, blue: u8) -> u8 {
    let scaled = 2989 * red as u32 + 5870 * green as u32 + 1140 * blue as u32;
    ((scaled + 5000) / 10000) as u8
}

/// Sixteen hues of eight brightnesses each.
#[rustfmt::skip]
const NTSC_COLOURS: [u32; 128] = [
    0x000000, 0x4a4a4a, 0x6f6f6f, 0x8e8e8e, 0xaaaaaa, 0xc0c0c0, 0xd6d6d6, 0xececec,
    0x484800, 0x69690f, 0x86861d, 0xa2a22a, 0xbbbb35, 0xd2d240, 0xe8e84a, 0xfcfc54,
    0x7c2c00, 0x904811, 0xa26221, 0xb47a30, 0xc3903d, 0xd2a44a, 0xdfb755, 0xecc860,
    0x901c00, 0xa33915, 0xb55328, 0xc66c3a, 0xd5824a, 0xe39759, 0xf0aa67, 0xfcbc74,
    0x940000, 0xa71a1a, 0xb83232, 0xc84848, 0xd65c5c, 0xe46f6f, 0xf08080, 0xfc9090,
    0x840064, 0x97197a, 0xa8308f, 0xb846a2, 0xc659b3, 0xd46cc3, 0xe07cd2, 0xec8ce0,
    0x500084, 0x68199a, 0x7d30ad, 0x9246c0, 0xa459d0, 0xb56ce0, 0xc57cee, 0xd48cfc,
    0x140090, 0x331aa3, 0x4e32b5, 0x6848c6, 0x7f5cd5, 0x956fe3, 0xa980f0, 0xbc90fc,
    0x000094, 0x181aa7, 0x2d32b8, 0x4248c8, 0x545cd6, 0x656fe4, 0x7580f0, 0x8490fc,
    0x001c88, 0x183b9d, 0x2d57b0, 0x4272c2, 0x548ad2, 0x65a0e1, 0x75b5ef, 0x84c8fc,
    0x003064, 0x185080, 0x2d6d98, 0x4288b0, 0x54a0c5, 0x65b7d9, 0x75cceb, 0x84e0fc,
    0x004030, 0x18624e, 0x2d8169, 0x429e82, 0x54b899, 0x65d1ae, 0x75e7c2, 0x84fcd4,
    0x004400, 0x1a661a, 0x328432, 0x48a048, 0x5cba5c, 0x6fd26f, 0x80e880, 0x90fc90,
    0x143c00, 0x355f18, 0x527e2d, 0x6e9c42, 0x87b754, 0x9ed065, 0xb4e775, 0xc8fc84,
    0x303800, 0x505916, 0x6d762b, 0x88923e, 0xa0ab4f, 0xb7c25f, 0xccd86e, 0xe0ec7c,
    0x482c00, 0x694d14, 0x866a26, 0xa28638, 0xbb9f47, 0xd2b656, 0xe8cc63, 0xfce070,
];

/// Sixteen hues of eight brightnesses each.
#[rustfmt::skip]
const PAL_COLOURS: [u32; 128] = [
    0x000000, 0x2b2b2b, 0x525252, 0x767676, 0x979797, 0xb6b6b6, 0xd2d2d2, 0xececec,
    0x000000, 0x2b2b2b, 0x525252, 0x767676, 0x979797, 0xb6b6b6, 0xd2d2d2, 0xececec,
    0x805800, 0x96711a, 0xab8732, 0xbe9c48, 0xcfaf5c, 0xdfc06f, 0xeed180, 0xfce090,
    0x445c00, 0x5e791a, 0x769332, 0x8cac48, 0xa0c25c, 0xb3d76f, 0xc4ea80, 0xd4fc90,
    0x703400, 0x89511a, 0xa06b32, 0xb68448, 0xc99a5c, 0xdcaf6f, 0xecc280, 0xfcd490,
    0x006414, 0x1a8035, 0x329852, 0x48b06e, 0x5cc587, 0x6fd99e, 0x80ebb4, 0x90fcc8,
    0x700014, 0x891a35, 0xa03252, 0xb6486e, 0xc95c87, 0xdc6f9e, 0xec80b4, 0xfc90c8,
    0x005c5c, 0x1a7676, 0x328e8e, 0x48a4a4, 0x5cb8b8, 0x6fcbcb, 0x80dcdc, 0x90ecec,
    0x70005c, 0x841a74, 0x963289, 0xa8489e, 0xb75cb0, 0xc66fc1, 0xd380d1, 0xe090e0,
    0x003c70, 0x195a89, 0x2f75a0, 0x448eb6, 0x57a5c9, 0x68badc, 0x79ceec, 0x88e0fc,
    0x580070, 0x6e1a89, 0x8332a0, 0x9648b6, 0xa75cc9, 0xb76fdc, 0xc680ec, 0xd490fc,
    0x002070, 0x193f89, 0x2f5aa0, 0x4474b6, 0x578bc9, 0x68a1dc, 0x79b5ec, 0x88c8fc,
    0x340080, 0x4a1a96, 0x5f32ab, 0x7248be, 0x835ccf, 0x936fdf, 0xa280ee, 0xb090fc,
    0x000088, 0x1a1a9d, 0x3232b0, 0x4848c2, 0x5c5cd2, 0x6f6fe1, 0x8080ef, 0x9090fc,
    0x000000, 0x2b2b2b, 0x525252, 0x767676, 0x979797, 0xb6b6b6, 0xd2d2d2, 0xececec,
    0x000000, 0x2b2b2b, 0x525252, 0x767676, 0x979797, 0xb6b6b6, 0xd2d2d2, 0xececec,
];

/// Sixteen hues of eight brightnesses each.
#[rustfmt::skip]
const SECAM_COLOURS: [u32; 128] = [
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
    0x000000, 0x2121ff, 0xf03c79, 0xff50ff, 0x7fff00, 0x7fffff, 0xffff3f, 0xffffff,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_equal_those_of_ale_py() {
        let ntsc = Palette::of(TvFormat::Ntsc);
        assert_eq!(ntsc.rgb[0x14], [134, 134, 29]);
        assert_eq!(ntsc.rgb[0x0e], [236, 236, 236]);
        assert_eq!(ntsc.grey[0x48], 128);
    }

    #[test]
    fn repeated_rows_have_the_colours_of_their_bytes() {
        let rgb = &Palette::of(TvFormat::Ntsc).rgb;
        // Rows that repeat the one above completely, in part, or not at all.
        let screen: Vec<u8> = (0..40 * SCREEN_WIDTH)
            .map(|index| (index / 16 * 7 % 23 + index / 480 * index % 5) as u8)
            .collect();
        let mut pixels = vec![0; screen.len() * 3];
        paint(&screen, rgb, &mut pixels);
        let expected: Vec<u8> = screen.iter().flat_map(|&byte| rgb[usize::from(byte)]).collect();
        assert!(pixels == expected);
    }

    #[test]
    fn byte_zero_is_black_in_every_system() {
        for tv in [TvFormat::Ntsc, TvFormat::Pal, TvFormat::Secam] {
            assert_eq!((Palette::of(tv).rgb[0], Palette::of(tv).grey[0]), ([0; 3], 0));
        }
    }

    #[test]
    fn odd_bytes_are_grey_in_rgb_and_the_next_blue_in_greyscale() {
        let pal = Palette::of(TvFormat::Pal);
        assert_eq!(pal.rgb[0x2d], [pal.grey[0x2c]; 3]);
        assert_eq!(pal.grey[0x2d], pal.rgb[0x2e][2]);
        assert_eq!(pal.grey[255], 0);
    }
}
