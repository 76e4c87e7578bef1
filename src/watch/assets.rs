use std::sync::LazyLock;

use crate::page;

/// A file of the page.
pub(super) struct Asset {
    pub(super) path: &'static str,
    pub(super) content_type: &'static str,
    pub(super) content: &'static str,
}

/// The number of colours of curves. Those of more runs repeat.
const COLOURS: usize = 24;

static STYLE: LazyLock<String> = LazyLock::new(|| page::style(COLOURS) + include_str!("page/style.css"));

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// Returns all files of the page. Nothing is fetched from elsewhere.
pub(super) fn assets() -> [Asset; 10] {
    let asset = |path, content_type, content| Asset { path, content_type, content };
    [
        asset("/", HTML, include_str!("page/index.html")),
        asset("/style.css", CSS, STYLE.as_str()),
        asset("/main.js", JAVASCRIPT, include_str!("page/main.js")),
        asset("/address.js", JAVASCRIPT, include_str!("page/address.js")),
        asset("/runs.js", JAVASCRIPT, include_str!("page/runs.js")),
        asset("/curves.js", JAVASCRIPT, include_str!("page/curves.js")),
        asset("/stage.js", JAVASCRIPT, include_str!("page/stage.js")),
        asset("/chart.js", JAVASCRIPT, page::CHART),
        asset("/uplot.js", JAVASCRIPT, page::UPLOT),
        asset("/uplot.css", CSS, page::UPLOT_STYLE),
    ]
}
