//! Pictures of the pattern page, which has each part of the console in each of its states, compared with those in `pictures/`.
//!
//! All text is in the shipped font, so that a picture does not depend on the fonts of a machine. Pictures are compared by the
//! mean colour of small squares: another version of the browser may draw the edges of letters and of its own controls a little
//! differently, and a changed colour, size or distance changes squares. `INSTA_UPDATE=always` writes the pictures.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::console_client::Console;
use crate::support::chromium::Browser;

/// The largest difference of a colour's mean, of 255, and the largest share of squares with more.
const MAX_DIFFERENCE: u32 = 12;
const MAX_SHARE: f64 = 0.002;

/// Compares two PNG pictures. Returns the share of squares of 8 pixels whose means differ.
const COMPARE: &str = r"(async (one, other, most) => {
    const load = (data) => new Promise((done, fail) => {
        const image = new Image();
        image.onload = () => done(image);
        image.onerror = () => fail(new Error('not a picture'));
        image.src = 'data:image/png;base64,' + data;
    });
    const images = [await load(one), await load(other)];
    const [a, b] = images;
    if (a.width !== b.width || a.height !== b.height) return `${a.width}×${a.height} is now ${b.width}×${b.height}`;
    const [left, right] = images.map((image) => {
        const paper = new OffscreenCanvas(image.width, image.height).getContext('2d');
        paper.drawImage(image, 0, 0);
        return paper.getImageData(0, 0, image.width, image.height).data;
    });
    let squares = 0, different = 0, first = '';
    for (let top = 0; top + 8 <= a.height; top += 8) {
        for (let start = 0; start + 8 <= a.width; start += 8) {
            const sums = [0, 0, 0];
            for (let y = top; y < top + 8; y++) {
                for (let x = start; x < start + 8; x++) {
                    const at = (y * a.width + x) * 4;
                    for (const part of [0, 1, 2]) sums[part] += left[at + part] - right[at + part];
                }
            }
            squares++;
            if (sums.some((sum) => Math.abs(sum) / 64 > most)) {
                different++;
                first ||= `${start * 2},${top * 2}`;
            }
        }
    }
    return [different / squares, first];
})";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/web/pictures")
}

#[test]
fn the_pattern_page_looks_like_its_pictures() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let mut faults = Vec::new();
    for (look, width, dark, contrast) in [
        ("light", 1280, false, "no-preference"),
        ("dark", 1280, true, "no-preference"),
        ("phone", 390, false, "no-preference"),
        ("phone-dark", 390, true, "no-preference"),
        ("contrast", 1280, false, "more"),
        ("contrast-dark", 1280, true, "more"),
    ] {
        browser.set_window(width, 900, dark);
        browser.prefer("prefers-contrast", contrast, dark);
        // What the script adds would depend on time.
        browser.enable_scripts(false);
        browser.open(&console.url("/patterns"));
        let loaded = browser.evaluate(
            "(async () => {
                document.documentElement.style.setProperty('--mono', 'Inter');
                for (const time of document.querySelectorAll('time')) time.textContent = 'just now';
                document.querySelector('.bottom').textContent = 'Adjutant';
                await Promise.all([400, 600].map((weight) => document.fonts.load(`${weight} 14px Inter`)));
                return document.fonts.check('600 14px Inter');
            })()",
        );
        assert_eq!(loaded, json!(true), "the shipped font is there");
        let picture = browser.half_size_picture();
        let file = folder().join(format!("patterns-{look}.png"));
        if std::env::var("INSTA_UPDATE").is_ok_and(|mode| mode == "always") {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&file, STANDARD.decode(&picture).unwrap()).unwrap();
            continue;
        }
        // Without scripts no image says that it is loaded.
        browser.enable_scripts(true);
        browser.open(&console.url("/patterns"));
        let known = STANDARD.encode(std::fs::read(&file).unwrap());
        let found = browser.evaluate(&format!("{COMPARE}({known:?}, {picture:?}, {MAX_DIFFERENCE})"));
        if !found[0].as_f64().is_some_and(|share| share <= MAX_SHARE) {
            let now = std::env::temp_dir().join(format!("adjutant-patterns-{look}.png"));
            std::fs::write(&now, STANDARD.decode(&picture).unwrap()).unwrap();
            faults.push(format!("{look}: {found}; it is now as in {}", now.display()));
        }
    }
    let hint = "INSTA_UPDATE=always writes new pictures, if the change is wanted";
    assert!(faults.is_empty(), "{}\n{hint}", faults.join("\n"));
}
