//! `compare` with SQLite in real browsers. Chromium is required, as for the report's page; Firefox
//! is used if installed.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::comparison::compare;
use lab::measure::ServerPart;
use lab::processes::descendants;
use lab::results::{Pass, Results};

/// Set if nothing may be skipped.
const ALL_REQUIRED: &str = "STRONGROOM_TEST_SERVERS";

const PATIENCE: Duration = Duration::from_secs(120);

/// A lab home with the two builds of SQLite, which npm downloads once for all tests; `None` if it
/// cannot.
fn home() -> Option<&'static Path> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    let home = HOME.get_or_init(|| {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser-home");
        let kept = ["sqlite-wasm", "sqlite3mc-wasm"].map(|name| home.join(name).is_dir());
        if kept != [true, true] {
            let mut install = program(&home);
            install.args(["lab", "install", "sqlite-wasm", "sqlite3mc-wasm"]);
            let output = install.output().unwrap();
            if !output.status.success() {
                assert!(std::env::var_os(ALL_REQUIRED).is_none(), "{output:?}");
                println!("left out: npm does not fetch SQLite for browsers: {output:?}");
                return None;
            }
        }
        Some(home)
    });
    home.as_deref()
}

fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
    command
        .env("STRONGROOM_LAB_HOME", home)
        .stdin(Stdio::null());
    command
}

/// Whether this project's module was built, as `cargo xtask test` does before its tests.
fn has_own_module() -> bool {
    let program = Path::new(env!("CARGO_BIN_EXE_strongroom"));
    let target = program.ancestors().nth(2).unwrap();
    let is_built = target.join("browser-package/strongroom.wasm").is_file();
    assert!(
        is_built || std::env::var_os(ALL_REQUIRED).is_none(),
        "no module for browsers: `cargo xtask wasm`"
    );
    if !is_built {
        println!("left out: Strongroom's own module, which `cargo xtask wasm` builds");
    }
    is_built
}

/// These engines, and their Firefox variants if Firefox is installed.
fn engines(names: &[&str]) -> Vec<String> {
    let mut engines: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let firefox = browser_session::Program::find(browser_session::Browser::Firefox);
    assert!(
        firefox.is_some() || std::env::var_os(ALL_REQUIRED).is_none(),
        "no Firefox: `apt-get install -y firefox-esr`, or set STRONGROOM_FIREFOX"
    );
    if firefox.is_some() {
        engines.extend(names.iter().map(|name| format!("{name}-firefox")));
    } else {
        println!("left out: Firefox");
    }
    engines
}

/// One round on native SQLite and these engines.
fn run(home: &Path, engines: &[String], arguments: &[&str], folder: &Path) -> (Output, Results) {
    let (output, results) = run_to_end(home, engines, arguments, folder);
    assert!(output.status.success(), "{output:?}");
    (output, results)
}

/// The same, even if some engines do not complete their passes.
fn run_to_end(
    home: &Path,
    engines: &[String],
    arguments: &[&str],
    folder: &Path,
) -> (Output, Results) {
    let names = format!("sqlite,{}", engines.join(","));
    let output = program(home)
        .args(["compare", "--quiet", "--repetitions", "1"])
        .args(["--engines", &names])
        .args(arguments)
        .arg("--out")
        .arg(folder)
        .output()
        .unwrap();
    let text = fs::read_to_string(folder.join("results.jsonl")).unwrap();
    (output, Results::parse(&text).unwrap())
}

fn setting<'a>(pass: &'a Pass, name: &str) -> &'a str {
    let found = pass.settings.iter().find(|setting| setting.0 == name);
    found.map_or("", |setting| setting.1.as_str())
}

#[test]
fn a_small_speedtest_has_the_answers_of_native_sqlite() {
    let Some(home) = home() else { return };
    let mut all = ["browser-official-memory", "browser-sahpool"].to_vec();
    if has_own_module() {
        all.extend(["browser-memory", "browser-opfs", "browser-strongroom"]);
    }
    let all: Vec<String> = all.into_iter().map(str::to_owned).collect();
    for (mode, engines) in [("direct", &all[..]), ("script", &all[..1])] {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["--workload", "speedtest", "--size", "1", "--mode", mode];
        let arguments = [&arguments[..], &["--big-transactions"]].concat();
        let (_, results) = run(home, engines, &arguments, folder.path());
        let comparison = compare(&results);
        for engine in &comparison.engines {
            let name = &engine.profile.name;
            assert_eq!(engine.failures, [""; 0], "{name}");
            assert_eq!(
                (engine.wrong_count(), engine.answers_right),
                (0, 32),
                "{name}"
            );
            assert_eq!(engine.contradictions, [""; 0], "{name}");
        }
        for pass in results.passes.iter().filter(|pass| pass.engine != "sqlite") {
            let name = &pass.engine;
            assert_eq!(setting(pass, "page_size"), "4096", "{name}");
            assert_eq!(setting(pass, "cache_size"), "-2000", "{name}");
            assert_eq!(setting(pass, "cross_origin_isolated"), "true", "{name}");
            for test in &pass.tests {
                // Time is measured by the page's clock; the round trip is recorded separately.
                assert!(
                    test.sample.wall_ns > 0 && test.sample.way_ns.is_some(),
                    "{name}"
                );
            }
            let sample = &pass.tests[0].sample;
            let Some(ServerPart::Yes(usage)) = sample.server else {
                panic!("{name}: {sample:?}");
            };
            assert!(usage.memory_bytes > 50 << 20, "{name}: {usage:?}");
            assert!(usage.user_ns > 0, "{name}: {usage:?}");
        }
    }
}

/// Files of a workload with values of each type, including values that JSON and JavaScript numbers
/// cannot represent.
const VALUES: [(&str, &str); 3] = [
    (
        "schema.sql",
        "CREATE TABLE t(a INTEGER, b REAL, c TEXT, d BLOB, e TEXT);",
    ),
    (
        "load.sql",
        "INSERT INTO t VALUES(9223372036854775807, 2.0, 'ü€ ''quoted\u{1f511}', x'00ff', NULL);\n\
         INSERT INTO t VALUES(-9007199254740993, 1e300, '', x'', '25');",
    ),
    (
        "10-read.sql",
        "SELECT * FROM t ORDER BY rowid;\n\
         SELECT a / 2, b * 1e10, length(c), typeof(d), -9e999 FROM t ORDER BY rowid;",
    ),
];

fn own_workload(place: &Path, files: &[(&str, &str)]) -> String {
    let folder = place.join("own");
    fs::create_dir(&folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
    folder.to_string_lossy().into_owned()
}

#[test]
fn values_of_each_type_come_back_and_a_cipher_hides_them() {
    let Some(home) = home() else { return };
    let place = tempfile::tempdir().unwrap();
    let workload = own_workload(place.path(), &VALUES);
    let mut names = ["browser-sahpool", "browser-sqlite3mc-chacha20"].to_vec();
    if has_own_module() {
        names.extend(["browser-opfs", "browser-strongroom"]);
    }
    let engines = engines(&names);
    let folder = place.path().join("out");
    let (_, results) = run(home, &engines, &["--workload", &workload], &folder);
    let comparison = compare(&results);
    for engine in &comparison.engines {
        let name = &engine.profile.name;
        assert_eq!(engine.failures, [""; 0], "{name}");
        assert_eq!(
            (engine.wrong_count(), engine.answers_right),
            (0, 3),
            "{name}"
        );
        assert_eq!(engine.contradictions, [""; 0], "{name}");
        // The token is searched for in everything the browser wrote.
        let readable = engine.probe.as_ref().unwrap().readable();
        assert_eq!(readable, Some(engine.profile.cipher.is_none()), "{name}");
    }
}

#[test]
fn one_command_repeats_the_published_comparison() {
    let Some(home) = home() else { return };
    let place = tempfile::tempdir().unwrap();
    let only = "sqlite,browser-official-memory,browser-kvvfs-local";
    let output = program(home)
        .args(["lab", "browsers", "--sizes", "10", "--repetitions", "1"])
        .args(["--only", only, "--out"])
        .arg(place.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let page = fs::read_to_string(place.path().join("report.html")).unwrap();
    assert!(page.contains("The published comparison of SQLite in browsers, repeated"));
    let table = program(home)
        .args(["report", "--format", "markdown"])
        .arg(place.path())
        .output()
        .unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    // In direct and script mode; a database that does not fit is a valid result.
    for title in ["calls of SQLite's functions", "a text of SQL for each test"] {
        assert!(table.contains(title), "{table}");
    }
    let rows = table
        .lines()
        .filter(|line| line.contains("| browser-kvvfs-local | "));
    let here = |row: &str| row.split(" | ").nth(5).map(str::to_owned);
    let here: Vec<_> = rows.filter_map(here).take(2).collect();
    assert_eq!(here, ["database too large"; 2], "{table}");
    assert!(
        table.contains("the browser's local storage is full"),
        "{table}"
    );
    assert!(!table.contains("WRONG"), "{table}");
}

#[test]
fn a_failing_statement_is_named() {
    let Some(home) = home() else { return };
    let place = tempfile::tempdir().unwrap();
    let wrong = ("10-wrong.sql", "SELECT a FROM t;\nSELECT absent FROM t;");
    let workload = own_workload(place.path(), &[("schema.sql", "CREATE TABLE t(a);"), wrong]);
    let folder = place.path().join("out");
    let engines = ["browser-official-memory".to_owned()];
    let (output, results) = run_to_end(home, &engines, &["--workload", &workload], &folder);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let failed = results.passes.iter().find(|pass| pass.engine == engines[0]);
    let failure = failed.unwrap().failure.as_deref().unwrap();
    assert!(
        failure.contains("statement 2") && failure.contains("no such column: absent"),
        "{failure}"
    );
}

#[test]
fn no_browser_is_left_of_a_killed_lab() {
    let Some(home) = home() else { return };
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("out");
    let mut lab = program(home)
        .args([
            "compare",
            "--quiet",
            "--workload",
            "speedtest",
            "--size",
            "500",
        ])
        .args(["--engines", "browser-official-memory", "--out"])
        .arg(&folder)
        .spawn()
        .unwrap();
    let opened = folder.join("pass-under-way/database/b/profile");
    let began = Instant::now();
    let is_under_way = || {
        let results = fs::read_to_string(folder.join("results.jsonl")).unwrap_or_default();
        // The header and the probe.
        results.lines().count() == 2 && opened.is_dir()
    };
    // The keeper, the worker, and the browser with processes of its own.
    let below = loop {
        assert!(began.elapsed() < PATIENCE, "the pass never began");
        let below = descendants(lab.id().cast_signed());
        if is_under_way() && below.len() > 3 {
            break below;
        }
        sleep(Duration::from_millis(20));
    };
    lab.kill().unwrap();
    lab.wait().unwrap();
    while opened.exists() || below.iter().any(|process| is_running(process.pid, &folder)) {
        assert!(began.elapsed() < PATIENCE, "something is left");
        sleep(Duration::from_millis(20));
    }
}

/// Whether the process is the one seen before, and not another with the same number.
fn is_running(pid: i32, folder: &Path) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).contains(&*folder.to_string_lossy())
}

#[test]
fn missing_engines_are_named_before_anything_runs() {
    let place = tempfile::tempdir().unwrap();
    let output = program(place.path())
        .args(["compare", "--engines", "sqlite,browser-sahpool", "--out"])
        .arg(place.path().join("out"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains("strongroom lab install sqlite-wasm"),
        "{message}"
    );
    let list = program(place.path())
        .args(["lab", "list"])
        .output()
        .unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(
        list.contains("sqlite-wasm") && list.contains("chromium"),
        "{list}"
    );
}
