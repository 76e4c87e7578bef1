use std::fmt::Write;

/// Red, green and blue.
type Rgb = [u8; 3];

/// The colours of the first curves: the cycle of matplotlib.
const COLOURS: [Rgb; 10] = [
    [31, 119, 180],
    [255, 127, 14],
    [44, 160, 44],
    [214, 39, 40],
    [148, 103, 189],
    [140, 86, 75],
    [227, 119, 194],
    [127, 127, 127],
    [188, 189, 34],
    [23, 190, 207],
];
/// The distance of the hues of further curves: the golden section of the circle.
const HUE: f64 = 0.618_034;
const SATURATION: f64 = 0.65;
const LIGHTNESS: f64 = 0.45;
/// The factor by which colours are brighter on a dark page.
const BRIGHTER: f64 = 1.25;

/// Returns the colour of the curve with this index.
pub(crate) fn colour(index: usize) -> Rgb {
    COLOURS.get(index).copied().unwrap_or_else(|| from_hue((index as f64 * HUE).fract()))
}

/// Returns a colour of a hue in 0..1.
fn from_hue(hue: f64) -> Rgb {
    let chroma = SATURATION * (1.0 - (2.0 * LIGHTNESS - 1.0).abs());
    [0.0, 8.0, 4.0].map(|offset| {
        let position = (offset + 12.0 * hue) % 12.0;
        let share = (position - 3.0).min(9.0 - position).clamp(-1.0, 1.0);
        (255.0 * (LIGHTNESS - chroma / 2.0 * share)).round() as u8
    })
}

/// Returns rules that define the variables `--curve-0` and so on, for a light and a dark page, and their number
/// `--curves`.
pub(super) fn style(curves: usize) -> String {
    let brighter = |colour: Rgb| colour.map(|value| (f64::from(value) * BRIGHTER).min(255.0) as u8);
    let light = variables((0..curves).map(colour));
    let dark = variables((0..curves).map(|index| brighter(colour(index))));
    format!(
        ":root {{ --curves: {curves};{light} }}\n@media (prefers-color-scheme: dark) {{ :root {{{dark} }} }}\n"
    )
}

fn variables(colours: impl Iterator<Item = Rgb>) -> String {
    colours.enumerate().fold(String::new(), |mut text, (index, [red, green, blue])| {
        write!(text, " --curve-{index}: rgb({red}, {green}, {blue});").expect("a string takes everything");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn colours_differ_and_further_ones_are_of_one_brightness() {
        let colours: HashSet<Rgb> = (0..40).map(colour).collect();
        assert_eq!(colours.len(), 40);
        // Of a saturation of 0.65 and a lightness of 0.45, by the definition of HSL.
        assert_eq!([0.0, 1.0 / 3.0, 2.0 / 3.0].map(from_hue), [[189, 40, 40], [40, 189, 40], [40, 40, 189]]);
    }

    #[test]
    fn a_dark_page_has_brighter_colours() {
        let style = style(2);
        assert!(
            style.contains("{ --curves: 2; --curve-0: rgb(31, 119, 180); --curve-1: rgb(255, 127, 14); }"),
            "{style}"
        );
        assert!(style.contains("dark) { :root { --curve-0: rgb(38, 148, 225);"), "{style}");
    }
}
