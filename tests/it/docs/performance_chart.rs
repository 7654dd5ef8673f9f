//! The chart with which the page about performance begins, drawn from the page's own table.

use std::fmt::Write as _;

use super::root;

/// A bar: the beginning of a row of the table, the server that the figure is compared with, and the bar's words.
const BARS: [(&str, &str, &str); 6] = [
    ("`expand_prompt`, 1 in flight", "go-plain", "one call at a time, hand-written Go"),
    ("`expand_prompt`, 1 in flight", "rmcp", "one call at a time, official Rust SDK"),
    ("`expand_prompt`, 32 in flight", "go-plain", "32 calls at a time, hand-written Go"),
    ("`expand_prompt`, 32 in flight", "rmcp", "32 calls at a time, official Rust SDK"),
    ("HTTP, sessions, 32 connections", "rmcp-nodelay", "HTTP, 32 connections, official Rust SDK"),
    ("HTTP, sessions, 256 connections", "rmcp-nodelay", "HTTP, 256 connections, official Rust SDK"),
];

/// The width of a ratio of 1, and of the words.
const UNIT: f32 = 50.0;
const WORDS: f32 = 300.0;
const ROW: f32 = 30.0;
const TOP: f32 = 56.0;

/// Returns the ratio to `peer` in the row of the table that begins with `figure`.
fn ratio(page: &str, figure: &str, peer: &str) -> f32 {
    let row = page.lines().find(|line| line.starts_with(&format!("| {figure} |")));
    let row = row.unwrap_or_else(|| panic!("the table has no row `{figure}`"));
    let measured = row.split('|').nth(3).unwrap();
    let with_peer = measured.split(", ").find(|part| part.trim().ends_with(&format!(" × {peer}")));
    let ratio = with_peer.and_then(|part| part.trim().split(' ').next()).and_then(|ratio| ratio.parse().ok());
    ratio.unwrap_or_else(|| panic!("`{figure}` has no ratio to {peer}: {measured}"))
}

/// Draws the chart. The colours are legible on a light page and on a dark page.
fn draw(page: &str) -> String {
    let ratios = BARS.map(|(figure, peer, _)| ratio(page, figure, peer));
    let longest = ratios.iter().copied().fold(1.0, f32::max);
    let rows = f32::from(u16::try_from(BARS.len()).unwrap());
    let (width, height) = (WORDS + longest * UNIT + 60.0, TOP + rows * ROW + 8.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"Requests that Adjutant answers in the time in which another server answers one\">\n\
         <g font-family=\"system-ui, sans-serif\" font-size=\"14\" fill=\"#7d8590\">\n\
         <text x=\"0\" y=\"18\" font-weight=\"bold\">Requests that Adjutant answers while another server answers one</text>\n\
         <text x=\"0\" y=\"40\">The line is 1: both are as fast.</text>\n"
    );
    for (number, ((_, _, words), ratio)) in BARS.iter().zip(ratios).enumerate() {
        let y = TOP + f32::from(u16::try_from(number).unwrap()) * ROW;
        let long = ratio * UNIT;
        let colour = if ratio < 1.0 { "#c98a4a" } else { "#3fa39b" };
        writeln!(
            svg,
            "<text x=\"0\" y=\"{:.0}\">{words}</text><rect x=\"{WORDS}\" y=\"{y:.0}\" width=\"{long:.1}\" height=\"20\" \
             rx=\"3\" fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{:.0}\">{ratio:.2}</text>",
            y + 15.0,
            WORDS + long.max(UNIT) + 8.0,
            y + 15.0
        )
        .unwrap();
    }
    let one = WORDS + UNIT;
    let end = height - 6.0;
    writeln!(
        svg,
        "<path d=\"M{one} {:.0}V{end:.0}\" stroke=\"#7d8590\" stroke-dasharray=\"3 3\"/>\n</g>\n</svg>",
        TOP - 6.0
    )
    .unwrap();
    svg
}

#[test]
fn the_chart_of_performance_has_the_figures_of_the_table() {
    let page = std::fs::read_to_string(root().join("docs/performance.md")).unwrap();
    let chart = draw(&page);
    let file = root().join("docs/performance.svg");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&file, &chart).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == chart, "docs/performance.svg is out of date: run this test with INSTA_UPDATE=always");
}
