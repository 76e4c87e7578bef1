use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::super::group::Group;
use super::super::html::{escaped, name};
use super::super::videos::{MOST_STEPS, Video};

/// Returns the section with the videos of a part; nothing if there are none.
pub(super) fn videos(groups: &[Group], videos: &[Video]) -> String {
    if videos.is_empty() {
        return String::new();
    }
    let figures = videos.iter().map(|video| {
        let [run, game, outcome] = [&video.run, &video.game, &video.outcome].map(|text| escaped(text));
        format!(
            "<figure><img src=\"data:image/gif;base64,{}\" alt=\"the agent of {run} in {game}\">\
             <figcaption>{game}: {}<small>{run}, {outcome}</small></figcaption></figure>\n",
            STANDARD.encode(&video.gif),
            name(video.group, &groups[video.group])
        )
    });
    format!(
        "<h2>Agents</h2>\n<p class=\"note\">At most {MOST_STEPS} steps of an episode of the newest checkpoint, one agent for each setting \
         and game.</p>\n<div class=\"videos\">\n{}</div>\n",
        figures.collect::<String>()
    )
}
