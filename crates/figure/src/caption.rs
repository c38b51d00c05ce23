//! Lines below a finished picture: where it comes from, and what it is compared with.

use super::sheet::{CAPTION_ROW, MARGIN, WIDTH};
use super::style::{TICK_SIZE, UNITS_PER_PIXEL, wrap};

/// The picture with these paragraphs below it, in lines that fit its width. Anything but a picture of this crate is
/// returned unchanged.
pub fn captioned(svg: &str, paragraphs: &[String]) -> String {
    let lines: Vec<String> = paragraphs.iter().flat_map(|p| wrap(p, WIDTH - 2 * MARGIN, TICK_SIZE)).collect();
    let height = number(svg, &format!("viewBox=\"0 0 {WIDTH} "));
    let (Some(height), Some(body)) = (height, svg.trim_end().strip_suffix("</svg>")) else { return svg.into() };
    if lines.is_empty() {
        return svg.into();
    }
    let taller = height + CAPTION_ROW * lines.len() as i32;
    let mut out = body
        .replacen(
            &format!("height=\"{}\"", height / UNITS_PER_PIXEL),
            &format!("height=\"{}\"", taller / UNITS_PER_PIXEL),
            1,
        )
        .replacen(&format!("viewBox=\"0 0 {WIDTH} {height}\""), &format!("viewBox=\"0 0 {WIDTH} {taller}\""), 1)
        .replacen(&format!("height=\"{height}\""), &format!("height=\"{taller}\""), 1);
    for (k, line) in lines.iter().enumerate() {
        let y = height - MARGIN + 6 + CAPTION_ROW * k as i32;
        let line = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let font = format!("font-family=\"sans-serif\" font-size=\"{TICK_SIZE}\" fill=\"#5F5F5F\"");
        out.push_str(&format!("<text x=\"{MARGIN}\" y=\"{y}\" dy=\"0.76em\" {font}>\n{line}\n</text>\n"));
    }
    out.push_str("</svg>\n");
    out
}

/// The whole number that follows `key`.
fn number(svg: &str, key: &str) -> Option<i32> {
    svg.split_once(key)?.1.split_once('"')?.0.parse().ok()
}
