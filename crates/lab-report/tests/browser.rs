//! The page in a real browser: headless Chromium loads it and tells what it sees.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const REMEDY: &str = "no Chromium: `apt-get install -y chromium`, or set STRONGROOM_CHROMIUM";

fn chromium() -> PathBuf {
    if let Some(path) = env::var_os("STRONGROOM_CHROMIUM") {
        return path.into();
    }
    let names = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ];
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|candidate| candidate.is_file())
        .expect(REMEDY)
}

/// Puts the page into a frame of the given width, runs the probe in the frame and returns the text
/// that the probe makes. A window of its own cannot be as narrow as a phone; a frame can.
fn probe(page: &str, width: u32, probe: &str, flags: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("frame.html");
    let quoted = page.replace('&', "&amp;").replace('"', "&quot;");
    let text = format!(
        "<!doctype html><body style='margin:0'>\
         <iframe style='width:{width}px;height:900px;border:0' srcdoc=\"{quoted}\"></iframe>\
         <pre id='seen'>nothing</pre><script>\
         const frame = document.querySelector('iframe');\
         frame.addEventListener('load', () => {{\
           const page = frame.contentDocument, view = frame.contentWindow;\
           let seen; try {{ seen = (() => {{ {probe} }})(); }} catch (error) {{ seen = error; }}\
           document.getElementById('seen').textContent = seen;\
         }});</script>"
    );
    fs::write(&file, text).unwrap();
    let dump = dump(&file, folder.path(), flags);
    let (_, rest) = dump.split_once("<pre id=\"seen\">").unwrap();
    rest.split_once("</pre>").unwrap().0.to_owned()
}

fn dump(file: &Path, folder: &Path, flags: &[&str]) -> String {
    let output = Command::new(chromium())
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .args(flags)
        .args([
            "--hide-scrollbars",
            "--virtual-time-budget=5000",
            "--dump-dom",
        ])
        .arg(format!("file://{}", file.display()))
        .output()
        .expect(REMEDY);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn page() -> String {
    lab_report::page::html(&common::comparison(12), "cargo run --release -- compare").unwrap()
}

#[test]
fn the_browser_shows_headline_tables_and_charts() {
    let seen = probe(
        &page(),
        1280,
        "const count = (selector) => page.querySelectorAll(selector).length;\
         const second = page.querySelectorAll('table.times tbody tr')[1];\
         return [page.querySelector('h1').innerText, count('table.times'),\
           count('table.times tbody tr'), count('figure.chart .row'), count('circle.mark'),\
           second.cells.length, second.cells[2].innerText, page.title.length > 0,\
           view.performance.getEntriesByType('resource').length].join('|');",
        &[],
    );
    // Two tables of 15 tests, two charts of 16 rows with three marks each; a test has its name,
    // five times, four ratios and two published ratios.
    assert!(
        seen.starts_with("Every page encrypted, for 20 % more time|2|30|32|96|12|0.0"),
        "{seen}"
    );
    assert!(seen.ends_with("|true|0"), "{seen}");
}

#[test]
fn marks_stand_where_their_ratio_belongs() {
    let seen = probe(
        &page(),
        1280,
        "const middle = (element) => { const box = element.getBoundingClientRect();\
           return box.left + box.width / 2; };\
         const chart = page.querySelectorAll('figure.chart')[1];\
         const one = middle(chart.querySelector('.axis text.one'));\
         const row = chart.querySelectorAll('.row')[3];\
         const marks = [...row.querySelectorAll('circle.mark')];\
         const [sealed, sealedNosync, again] = marks.map(middle);\
         return [sealed > sealedNosync + 20, sealedNosync > one,\
                 Math.abs(again - one) < 15].join();",
        &[],
    );
    assert_eq!(seen, "true,true,true");
}

#[test]
fn nothing_overflows_on_a_phone() {
    let seen = probe(
        &page(),
        390,
        "const over = [...page.querySelectorAll('body *')]\
           .filter((element) => !element.parentElement.closest('.scroll'))\
           .filter((element) => element.getBoundingClientRect().right > 390.5)\
           .map((element) => element.outerHTML.slice(0, 80));\
         return page.documentElement.scrollWidth + ' ' + over.join('; ');",
        &[],
    );
    assert_eq!(seen, "390 ");
}

#[test]
fn text_can_be_told_from_paper_in_light_and_dark() {
    // Relative luminance and contrast after WCAG 2.1: 4.5 is the least for text of this size.
    let contrast = "const canvas = document.createElement('canvas').getContext('2d');\
         const light = (colour) => { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);\
           const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => {\
             const share = part / 255;\
             return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4; });\
           return 0.2126 * r + 0.7152 * g + 0.0722 * b; };\
         const paper = light(view.getComputedStyle(page.body).backgroundColor);\
         const card = light(view.getComputedStyle(page.querySelector('.tile')).backgroundColor);\
         const least = Math.min(...['h1', '.lead', '.fine', '.tile .sub', '.legend', '.old',\
           '.times thead .s0', '.times thead .s1', '.row .label'].map((selector) => {\
           const text = light(view.getComputedStyle(page.querySelector(selector)).color);\
           return Math.min(...[paper, card].map((ground) =>\
             (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05))); }));\
         return (paper > 0.5 ? 'light' : 'dark') + (least >= 4.5 ? ' readable' : ' ' + least);";
    assert_eq!(probe(&page(), 1280, contrast, &[]), "light readable");
    let dark = ["--blink-settings=preferredColorScheme=0"];
    assert_eq!(probe(&page(), 1280, contrast, &dark), "dark readable");
}
