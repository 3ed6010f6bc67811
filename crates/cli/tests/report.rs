//! `strongroom report`, `report diff` and the exit statuses of `compare`.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use lab::results::{Record, Results};

fn strongroom(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_strongroom"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn complained(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A real run of two engines and one round, in the folder `run`.
fn measured(folder: &Path) -> Results {
    let output = strongroom(
        folder,
        &[
            "compare",
            "--engines",
            "sqlite-nosync,strongroom-nosync",
            "--repetitions",
            "1",
            "--out",
            "run",
            "--quiet",
        ],
    );
    assert!(output.status.success(), "{}", complained(&output));
    assert_eq!((said(&output), complained(&output)), Default::default());
    assert!(folder.join("run/report.html").is_file());
    Results::parse(&fs::read_to_string(folder.join("run/results.jsonl")).unwrap()).unwrap()
}

/// Writes results with twelve rounds derived from the measured one, in which `strongroom-nosync`
/// takes `times` as long.
fn write(path: &Path, measured: &Results, times: u64) {
    let mut text = Record::Header(measured.header.clone()).to_line();
    for probe in &measured.probes {
        text += &Record::Probe(probe.clone()).to_line();
    }
    for answer in measured.answers.values() {
        text += &Record::Answer(answer.clone()).to_line();
    }
    for round in 0..12 {
        for pass in &measured.passes {
            let mut pass = pass.clone();
            pass.round = round;
            for test in &mut pass.tests {
                test.sample.wall_ns += u64::from(round) * 1000;
                if pass.engine == "strongroom-nosync" {
                    test.sample.wall_ns *= times;
                }
            }
            text += &Record::Pass(pass).to_line();
        }
    }
    fs::write(path, text).unwrap();
}

#[test]
fn a_run_is_probed_drawn_exported_continued_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let measured = measured(folder);
    probes_tell_what_the_engines_do(&measured);
    runs_are_drawn_and_exported(folder);
    a_run_is_continued_or_not(folder);
    let [before, after] = ["before.jsonl", "after.jsonl"].map(|name| folder.join(name));
    write(&before, &measured, 1);
    write(&after, &measured, 2);
    a_regression_ends_with_status_1(folder);
    bad_input_ends_with_status_2(folder);
}

fn probes_tell_what_the_engines_do(measured: &Results) {
    let [plain, sealed] = &measured.probes[..] else {
        panic!("{:?}", measured.probes);
    };
    assert_eq!(plain.failure, None);
    assert_eq!(plain.readable(), Some(true));
    assert_eq!((&sealed.failure, sealed.readable()), (&None, Some(false)));
    if cfg!(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )) {
        assert_eq!(plain.syncs_per_commit(), Some(0.0), "{:?}", plain.syncs);
        assert_eq!(sealed.syncs_per_commit(), Some(0.0));
    }
}

fn runs_are_drawn_and_exported(folder: &Path) {
    fs::remove_file(folder.join("run/report.html")).unwrap();
    let output = strongroom(folder, &["report", "run"]);
    assert!(output.status.success(), "{}", complained(&output));
    assert!(folder.join("run/report.html").is_file());
    let output = strongroom(folder, &["report", "run", "run", "--out", "both.html"]);
    assert!(output.status.success(), "{}", complained(&output));
    let page = fs::read_to_string(folder.join("both.html")).unwrap();
    assert!(page.contains("id=\"run1\"") && page.contains("id=\"run2\""));
    let lines = said(&strongroom(folder, &["report", "run", "--format", "csv"]));
    assert_eq!(lines.lines().count(), 1 + 2 * 15);
    let json = said(&strongroom(folder, &["report", "run", "--format", "json"]));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["engines"].as_array().unwrap().len(), 2);
    let text = said(&strongroom(
        folder,
        &["report", "run", "--format", "markdown"],
    ));
    assert!(text.contains("| sqlite-nosync |"), "{text}");
}

fn a_run_is_continued_or_not(folder: &Path) {
    let compare = |more: &[&str]| {
        let mut arguments = vec![
            "compare",
            "--engines",
            "sqlite-nosync,strongroom-nosync",
            "--repetitions",
            "1",
        ];
        arguments.extend(more);
        strongroom(folder, &arguments)
    };
    let output = compare(&["--out", "run", "--resume", "--json"]);
    assert!(output.status.success(), "{}", complained(&output));
    assert_eq!(complained(&output), "");
    let value: serde_json::Value = serde_json::from_str(&said(&output)).unwrap();
    assert_eq!(value["passes_resumed"], 2);
    assert_eq!(value["comparison"]["rounds"], 1);
    let output = compare(&["--out", "elsewhere", "--resume"]);
    assert!(!output.status.success());
    let complaint = complained(&output);
    assert!(complaint.contains("no run to continue"), "{complaint}");
    let output = compare(&["--out", "run", "--resume", "--seed", "2"]);
    let complaint = complained(&output);
    assert!(complaint.contains("differs in seed"), "{complaint}");
}

fn a_regression_ends_with_status_1(folder: &Path) {
    let diff = |arguments: &[&str]| {
        let mut all = vec!["report", "diff"];
        all.extend(arguments);
        strongroom(folder, &all)
    };
    let worse = diff(&["before.jsonl", "after.jsonl"]);
    assert_eq!(worse.status.code(), Some(1), "{}", complained(&worse));
    assert!(said(&worse).contains("REGRESSION"), "{}", said(&worse));
    let better = diff(&["after.jsonl", "before.jsonl"]);
    assert_eq!(better.status.code(), Some(0), "{}", said(&better));
    let bearable = diff(&["before.jsonl", "after.jsonl", "--threshold", "150%"]);
    assert_eq!(bearable.status.code(), Some(0), "{}", said(&bearable));
    let json = said(&diff(&["before.jsonl", "after.jsonl", "--format", "json"]));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["engines"].as_array().unwrap().len(), 2);
}

fn bad_input_ends_with_status_2(folder: &Path) {
    let good = fs::read_to_string(folder.join("before.jsonl")).unwrap();
    let write = |name: &str, text: String| fs::write(folder.join(name), text).unwrap();
    let (head, _) = good.split_once('\n').unwrap();
    write("other.jsonl", good.replacen(&measured_sha(&good), "0", 1));
    write(
        "newer.jsonl",
        good.replacen("\"format\":", "\"format\":9", 1),
    );
    write(
        "damaged.jsonl",
        good.replacen("\"record\":\"pass\"", "?", 1),
    );
    write("empty.jsonl", String::new());
    write("head.jsonl", format!("{head}\n"));
    fs::write(folder.join("bytes.jsonl"), [0xff; 9]).unwrap();
    for (name, complaint) in [
        ("before.jsonl", "both are the same run"),
        ("other.jsonl", "different workloads"),
        ("newer.jsonl", "has format 9"),
        ("damaged.jsonl", "is not a record"),
        ("empty.jsonl", "has no header"),
        ("head.jsonl", "holds no pass"),
        ("bytes.jsonl", "is not a results file"),
        ("missing", "there is no run in missing"),
    ] {
        let output = strongroom(folder, &["report", "diff", "before.jsonl", name]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        let said = complained(&output);
        assert!(said.contains(complaint), "{name}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let output = strongroom(folder, &["report", "missing"]);
    assert_eq!(output.status.code(), Some(1));
    let output = strongroom(folder, &["compare", "--engines", "sqlight", "--out", "x"]);
    assert!(complained(&output).contains("there is no engine `sqlight`"));
}

/// The digest of the workload of a results file.
fn measured_sha(text: &str) -> String {
    Results::parse(text).unwrap().header.workload.sha256
}
