/// A file of the page.
pub(super) struct Asset {
    pub(super) path: &'static str,
    pub(super) content_type: &'static str,
    pub(super) content: &'static str,
}

macro_rules! asset {
    ($path:literal, $type:literal, $file:literal) => {
        Asset { path: $path, content_type: $type, content: include_str!(concat!("page/", $file)) }
    };
}

/// All files of the page. Nothing is fetched from elsewhere.
pub(super) const ASSETS: [Asset; 8] = [
    asset!("/", "text/html; charset=utf-8", "index.html"),
    asset!("/style.css", "text/css; charset=utf-8", "style.css"),
    asset!("/main.js", "text/javascript; charset=utf-8", "main.js"),
    asset!("/runs.js", "text/javascript; charset=utf-8", "runs.js"),
    asset!("/charts.js", "text/javascript; charset=utf-8", "charts.js"),
    asset!("/stage.js", "text/javascript; charset=utf-8", "stage.js"),
    // https://github.com/leeoniya/uPlot, from npm.
    asset!("/uplot.js", "text/javascript; charset=utf-8", "uplot/uPlot.iife.min.js"),
    asset!("/uplot.css", "text/css; charset=utf-8", "uplot/uPlot.min.css"),
];
