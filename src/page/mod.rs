//! The parts that the pages of `ale-train watch` and `ale-train report` share: style, charts and the colours of curves.

pub(crate) mod palette;

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// uPlot, which draws the curves: <https://github.com/leeoniya/uPlot>, from npm.
pub(crate) const UPLOT: &str = include_str!("uplot/uPlot.iife.min.js");
pub(crate) const UPLOT_STYLE: &str = include_str!("uplot/uPlot.min.css");
/// The charts. Needs [`UPLOT`].
pub(crate) const CHART: &str = include_str!("chart.js");
const STYLE: &str = include_str!("style.css");

/// Returns the style sheet with the colours of `curves` curves.
pub(crate) fn style(curves: usize) -> String {
    palette::style(curves) + STYLE
}

/// Returns the source of a script for the `script-src` of a content security policy.
pub(crate) fn script_hash(script: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script)))
}

/// Returns JSON in an element that is no script. No text in the data can end the element.
pub(crate) fn data_element(id: &str, json: &str) -> String {
    let mut element = format!("<script type=\"application/json\" id=\"{id}\">");
    for character in json.chars() {
        // In JSON, these characters occur in strings only.
        match character {
            '<' | '>' | '&' => write!(element, "\\u{:04x}", u32::from(character)),
            _ => write!(element, "{character}"),
        }
        .expect("writing to a string cannot fail");
    }
    element + "</script>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_in_data_ends_its_element() {
        let names =
            ["</script><script>alert(1)</script>", "<!--", "]]>", "\"quotes\" & 'others'", "\\", "é\u{2028}"];
        let element = data_element("data", &serde_json::to_string(&names).unwrap());
        let json = element.strip_prefix("<script type=\"application/json\" id=\"data\">").unwrap();
        let json = json.strip_suffix("</script>\n").unwrap();
        assert!(!json.contains(['<', '>', '&']), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(json).unwrap(), names);
    }

    /// The example of the specification, Content Security Policy Level 3, section 8.4.
    #[test]
    fn the_hash_of_a_script_is_that_of_the_specification() {
        assert_eq!(script_hash("doSomething();"), "'sha256-RFWPLDbv2BY+rCkDzsE+0fr8ylGr2R2faWMhq4lfEQc='");
    }
}
