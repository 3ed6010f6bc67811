//! The page in a real browser: headless Chromium loads it and reports what it renders.
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

/// Loads the page into a frame of the given width, expands it, runs the probe in the frame and
/// returns the probe's text. A window cannot be as narrow as a phone; a frame can.
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
           page.querySelectorAll('details').forEach((part) => {{ part.open = true; }});\
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
    common::page(&common::results(12))
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
    // Two tables of 15 tests. For the encrypted engines and for the other one, two charts of 16
    // rows with a mark for each engine and the control. A test has its name, five times, four
    // ratios and two published ratios.
    assert!(
        seen.starts_with("Every page encrypted, for 20 % more time|2|30|64|160|12|0.0"),
        "{seen}"
    );
    assert!(seen.ends_with("|true|0"), "{seen}");
}

#[test]
fn twenty_engines_and_thirty_two_tests_stay_readable() {
    let page = common::page(&common::many(10));
    let seen = probe(
        &page,
        1280,
        "const wide = [...page.querySelectorAll('table.times')]\
           .filter((table) => table.getBoundingClientRect().width\
             > table.parentElement.getBoundingClientRect().width + 1).length;\
         const cards = [...page.querySelectorAll('.card')];\
         const charts = [...page.querySelectorAll('figure.chart')];\
         const marks = Math.max(...charts.flatMap((chart) => [...chart.querySelectorAll('.row')])\
           .map((row) => row.querySelectorAll('circle.mark').length));\
         const names = new Set([...page.querySelectorAll('.card')][0]\
           .querySelectorAll('tbody th[scope=row]')).size;\
         return [cards.length, names, marks, wide,\
           page.querySelectorAll('table.times').length].join('|');",
        &[],
    );
    // Every engine is in every card; no row of a chart has more than four engines and the control;
    // no table is wider than the page.
    assert_eq!(seen, "32|20|5|0|10");
}

#[test]
fn runs_of_several_sizes_become_lines() {
    let runs = common::sizes(&[100, 2, 10]);
    let runs: Vec<_> = runs.iter().collect();
    let seen = probe(
        &common::pages(&runs),
        1280,
        "const chart = page.querySelector('figure.growth');\
         const lines = [...chart.querySelectorAll('path.line')];\
         const points = lines[0].getAttribute('d').slice(1).split('L')\
           .map((point) => point.split(' ').map(Number));\
         const rises = points.every((point, place) => !place\
           || point[0] > points[place - 1][0] && point[1] < points[place - 1][1]);\
         const cells = [...chart.querySelectorAll('tbody tr')[0].cells];\
         const row = cells.map((cell) => cell.innerText);\
         return [lines.length, points.length, rises, row[0], row[4]].join('|');",
        &[],
    );
    // The control has no line.
    assert_eq!(seen, "4|3|true|sqlite|1.00");
}

#[test]
fn several_connections_have_their_lines_and_latencies() {
    let page = common::page(&common::concurrent(2));
    let seen = probe(
        &page,
        1280,
        "const part = page.getElementById('run1-concurrent').closest('.part');\
         const charts = [...part.querySelectorAll('figure.growth')];\
         const tables = [...part.querySelectorAll('h3 ~ .scroll table')];\
         const row = [...tables[1].querySelectorAll('tbody tr')[0].cells];\
         const [name, each, half] = row.map((cell) => cell.innerText);\
         return [charts.length, charts[0].querySelectorAll('path.line').length, tables.length,\
           row.length, name, Math.round(Number(each) / 10000), half].join('|');",
        &[],
    );
    // Two connections that need 10 µs per operation.
    assert_eq!(seen, "2|4|8|12|sqlite|20|10 µs");
}

#[test]
fn terminals_have_their_lines_and_what_they_lost() {
    let page = common::page(&common::tpcc(2));
    let seen = probe(
        &page,
        1280,
        "const part = page.getElementById('run1-tpcc').closest('.part');\
         const charts = [...part.querySelectorAll('figure.growth')];\
         const row = [...part.querySelectorAll('summary:has(h3) ~ .scroll tbody tr')][2];\
         const cells = [...row.cells].map((cell) => cell.innerText);\
         return [charts.length, charts[0].querySelectorAll('path.line').length, cells.length,\
           cells[0], cells[3], cells[9]].join('|');",
        &[],
    );
    assert_eq!(seen, "1|3|13|proxy-100|22.6 %|41");
}

#[test]
fn the_numbers_of_the_page_are_those_of_the_samples() {
    let results = common::results(11);
    let mut expected = Vec::new();
    for test in 1..=15 {
        for engine in ["sqlite", "strongroom"] {
            let mut times: Vec<u64> = results
                .passes
                .iter()
                .filter(|pass| pass.engine == engine)
                .map(|pass| pass.tests[test - 1].sample.wall_ns)
                .collect();
            times.sort_unstable();
            expected.push(format!("{:.3}", times[5] as f64 / 1e9));
        }
    }
    let numbers = "return [...table.tBodies[0].rows].flatMap((row) =>\
          [row.cells[1].innerText, row.cells[2].innerText]).join();";
    let page = common::page(&results);
    let seen = probe(
        &page,
        1280,
        &format!("const table = page.querySelectorAll('table.times')[0]; {numbers}"),
        &[],
    );
    assert_eq!(seen, expected.join(","));
    let cards = "return [...page.querySelectorAll('.card')].flatMap((card) =>\
           [...card.querySelector('tbody').rows].slice(0, 2)\
             .map((row) => row.cells[1].innerText)).join();";
    assert_eq!(probe(&page, 1280, cards, &[]), expected.join(","));
}

#[test]
fn the_samples_can_be_saved_from_the_page_without_a_network() {
    let results = common::results(3);
    let seen = probe(
        &common::page(&results),
        1280,
        "const link = page.querySelector('a[download]');\
         const [head, data] = link.href.split(',');\
         return [head, link.download, data].join('|');",
        &[],
    );
    let parts: Vec<&str> = seen.split('|').collect();
    let [head, name, data] = parts.as_slice() else {
        panic!("{seen}");
    };
    assert_eq!(*head, "data:application/gzip;base64");
    assert_eq!(*name, "speed-results.jsonl.gz");
    assert_eq!(unpacked(data), common::text(&results));
}

/// The output of `base64 --decode | gunzip`.
fn unpacked(data: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("samples.base64");
    fs::write(&file, data).unwrap();
    let output = Command::new("sh")
        .args(["-c", "base64 --decode \"$0\" | gunzip"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// By default the bars are in the order of the headline's ratio; a reader who removes an engine or
/// selects another measure gets the numbers of the tables.
#[test]
fn bars_are_ranked_and_follow_the_selection() {
    let seen = probe(
        &page(),
        1280,
        "const bars = () => [...page.querySelectorAll('.bars li')].filter((bar) => !bar.hidden)\
           .map((bar) => bar.dataset.engine + ' ' + bar.querySelector('.value b').innerText);\
         const first = bars();\
         const by = page.querySelector('.metric');\
         by.value = 'wall';\
         page.querySelector('.test-of').value = '2';\
         by.dispatchEvent(new view.Event('change'));\
         page.querySelector('.chip[data-kind=plain]').click();\
         const row = page.querySelector('table.times tbody').rows[1];\
         const pressed = page.querySelectorAll('.chip[aria-pressed=false]').length;\
         const told = ['strongroom', 'strongroom-nosync'].map((name) => name + ' '\
           + row.cells[page.querySelector(`th[data-engine=${name}]`).cellIndex].innerText);\
         return [first.join(), pressed, bars().join() === told.reverse().join()].join('|');",
        &[],
    );
    assert_eq!(
        seen,
        "sqlite-nosync 0.50,sqlite-again 1.00,sqlite 1,strongroom-nosync 1.04,strongroom 1.20\
         |1|true"
    );
}

#[test]
fn every_part_has_an_accessible_name() {
    let page = common::pages(&[&common::results(12), &common::many(2)]);
    let seen = probe(
        &page,
        1280,
        "const all = (selector) => [...page.querySelectorAll(selector)];\
         const ids = all('[id]').map((element) => element.id);\
         const dead = all('a[href^=\"#\"]')\
           .filter((link) => !page.getElementById(link.getAttribute('href').slice(1)));\
         const nameless = all('[aria-labelledby]')\
           .filter((part) => !page.getElementById(part.getAttribute('aria-labelledby')));\
         const scrolls = all('.scroll').filter((part) => part.tabIndex !== 0);\
         const images = all('svg').filter((image) =>\
           !image.closest('[aria-hidden], [role=img][aria-label]'));\
         const headless = all('table').filter((table) => !table.querySelector('th[scope]'));\
         return [ids.length - new Set(ids).size, dead.length, nameless.length, scrolls.length,\
           images.length, headless.length, all('h1').length, all('main').length].join();",
        &[],
    );
    assert_eq!(seen, "0,0,0,0,0,0,1,1");
}

#[test]
fn marks_are_at_the_position_of_their_ratio() {
    let seen = probe(
        &page(),
        1280,
        "const middle = (element) => { const box = element.getBoundingClientRect();\
           return box.left + box.width / 2; };\
         const chart = page.querySelector('figure.chart');\
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
fn text_has_enough_contrast_in_light_and_dark() {
    // Relative luminance and contrast according to WCAG 2.1, which requires 4.5 for text of this
    // size.
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
