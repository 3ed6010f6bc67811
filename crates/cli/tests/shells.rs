//! `compare --mode script`, and engines described in a file.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lab::probe::Syncs;
use lab::results::{Pass, Results};

fn compare(folder: &Path, engines: &str, file: &Path, mode: &str) -> Output {
    compare_on("speed", folder, engines, file, mode)
}

fn compare_on(workload: &str, folder: &Path, engines: &str, file: &Path, mode: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_strongroom"))
        .args([
            "compare",
            "--workload",
            workload,
            "--repetitions",
            "1",
            "--engines",
            engines,
            "--mode",
            mode,
        ])
        .arg("--engine-file")
        .arg(file)
        .arg("--out")
        .arg(folder.join("out"))
        .output()
        .unwrap()
}

fn results(folder: &Path) -> Results {
    let text = fs::read_to_string(folder.join("out").join("results.jsonl")).unwrap();
    Results::parse(&text).unwrap()
}

fn passes(folder: &Path) -> Vec<Pass> {
    results(folder).passes
}

/// Every engine completed all tests, and none contradicts the others or the known facts.
fn assert_whole(folder: &Path, output: &Output, tests: usize) {
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(!said.contains("WRONG"), "{said}");
    let passes = passes(folder);
    assert_eq!(passes.len(), 2);
    for pass in passes {
        assert_eq!(pass.failure, None, "{}", pass.engine);
        assert_eq!(pass.tests.len(), tests);
        for test in &pass.tests {
            assert_eq!(test.contradiction, None, "{}", pass.engine);
            assert!(test.sample.wall_ns > 0 && test.sample.user_ns + test.sample.system_ns > 0);
        }
    }
}

fn describe(
    folder: &Path,
    name: &str,
    dialect: &str,
    script: &[&str],
    version: &[&str],
) -> PathBuf {
    let path = folder.join("engine.toml");
    let text = format!(
        "name = \"{name}\"\n\
         description = \"a shell\"\n\
         dialect = \"{dialect}\"\n\
         durability = \"none\"\n\
         output = \"csv\"\n\
         base = \"sqlite-nosync\"\n\
         script = {script:?}\n\
         version = {version:?}\n"
    );
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_user_defined_shell_gives_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("own shell");
    fs::write(&script, "exec /usr/bin/sqlite3 -csv -bail \"$1/own.db\"\n").unwrap();
    let script = script.display().to_string();
    let words = ["/bin/sh", &script, "{folder}"];
    let version = ["/usr/bin/sqlite3", "--version"];
    let file = describe(folder.path(), "own", "sqlite", &words, &version);
    let output = compare(folder.path(), "sqlite-nosync,own", &file, "script");
    assert_whole(folder.path(), &output, 15);
    let passes = passes(folder.path());
    let own = passes.iter().find(|pass| pass.engine == "own").unwrap();
    assert!(own.settings[0].1.starts_with("3."), "{:?}", own.settings);
    assert!(own.closing.as_ref().unwrap().file_bytes > 0);
    // The file's claim is not trusted: this shell does wait for the disk.
    let probe = results(folder.path()).probes.remove(1);
    assert_eq!(probe.failure, None);
    assert_eq!(probe.readable(), Some(true));
    match probe.syncs_per_commit() {
        Some(each) => {
            assert!(each >= 1.0, "{probe:?}");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains("own is said not to wait"), "{said}");
        }
        None => assert!(matches!(probe.syncs, Syncs::NotProbed { .. })),
    }
    // The page says how to repeat the run, even when it is rendered again.
    let again = format!(
        "--mode script --engine-file {}",
        file.canonicalize().unwrap().display()
    );
    let page = folder.path().join("out").join("report.html");
    let is_told = || {
        let text = fs::read_to_string(&page).unwrap();
        text.replace("&#x2f;", "/").contains(&again)
    };
    assert!(is_told());
    fs::remove_file(&page).unwrap();
    let report = Command::new(env!("CARGO_BIN_EXE_strongroom"))
        .arg("report")
        .arg(folder.path().join("out"))
        .status();
    assert!(report.unwrap().success() && is_told());
}

#[test]
fn a_shell_alone_is_no_interface() {
    let folder = tempfile::tempdir().unwrap();
    let file = describe(folder.path(), "own", "sqlite", &["cat"], &["echo", "1"]);
    let output = compare(folder.path(), "own", &file, "direct");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let failure = passes(folder.path()).remove(0).failure.unwrap();
    assert!(failure.contains("add `--mode script`"), "{failure}");
}

#[test]
fn a_file_that_describes_no_engine_is_refused_with_the_position() {
    let folder = tempfile::tempdir().unwrap();
    let good = describe(folder.path(), "own", "sqlite", &["cat"], &["echo", "1"]);
    let good = fs::read_to_string(good).unwrap();
    for (from, to, words) in [
        (
            "dialect = \"sqlite\"",
            "dialect = \"cobol\"",
            "unknown variant `cobol`",
        ),
        ("durability", "durabillity", "unknown field `durabillity`"),
        (
            "name = \"own\"",
            "name = \"sqlite\"",
            "no other engine has it",
        ),
        ("name = \"own\"", "name = \"Own\"", "small letters"),
        (
            "script = [\"cat\"]",
            "script = []",
            "empty command `script`",
        ),
    ] {
        let file = folder.path().join("bad.toml");
        assert!(good.contains(from), "{from}");
        fs::write(&file, good.replacen(from, to, 1)).unwrap();
        let output = compare(folder.path(), "sqlite", &file, "script");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{said}");
        assert!(said.contains("bad.toml"), "{said}");
    }
    let output = compare(
        folder.path(),
        "sqlite",
        &folder.path().join("none.toml"),
        "script",
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("none.toml"));
}

/// DuckDB's shell is in a Python package; if that cannot be installed, the test says so.
#[test]
fn the_shell_of_duckdb_gives_the_same_answers() {
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("duckdb");
    let python = venv.join("bin").join("python3");
    let install = || {
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(&venv);
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "duckdb-cli==1.5.6"]);
        [make, pip]
            .iter_mut()
            .all(|command| command.status().is_ok_and(|status| status.success()))
    };
    let find = || {
        let libraries = fs::read_dir(venv.join("lib"))
            .into_iter()
            .flatten()
            .flatten();
        let mut shells = libraries.map(|one| one.path().join("site-packages/duckdb_cli/duckdb"));
        shells.find(|shell| shell.is_file())
    };
    let Some(shell) = find().or_else(|| install().then(find).flatten()) else {
        println!("left out: pip cannot install duckdb-cli here");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let shell = shell.display().to_string();
    let words = [
        &shell,
        "-csv",
        "-noheader",
        "-bail",
        "-nullvalue",
        "",
        "{folder}/speed.duckdb",
    ];
    let file = describe(
        folder.path(),
        "duckdb",
        "postgres",
        &words,
        &[&shell, "--version"],
    );
    // DuckDB is not made for single statements: the 15 tests would take it a minute.
    let workload = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/my-app");
    let engines = "sqlite-nosync,duckdb";
    let output = compare_on(workload, folder.path(), engines, &file, "script");
    assert_whole(folder.path(), &output, 9);
}
