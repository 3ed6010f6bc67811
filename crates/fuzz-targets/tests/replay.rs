//! Gives each target the inputs that are kept in `fuzz/`, and mutants of them, without a fuzzer.

use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use fuzz_targets::{TARGETS, Target};
use mutatis::Session;

/// Mutants of each target in a run that is part of the tests. `STRONGROOM_TEST_CASES` sets another
/// number.
const MUTANTS: usize = 2000;
/// An input is changed up to this many times in a row.
const CHANGES_MAX: usize = 4;
/// Longer inputs are not mutated: libFuzzer's limit for the same targets.
const INPUT_SIZE_MAX: usize = 1024;

thread_local! {
    /// The VFS turns a panic inside a callback into an error. Here it must count as a failure.
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static IS_RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// Records panics of threads that run targets, and leaves those of tests to the test harness.
fn record_panics() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if IS_RECORDING.get() {
                PANICS.with_borrow_mut(|panics| panics.push(info.to_string()));
            } else {
                previous(info);
            }
        }));
    });
    IS_RECORDING.set(true);
}

fn kept(kind: &str, target: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let Ok(entries) = fs::read_dir(root.join(kind).join(target)) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

/// The panics of a target on an input, each with the input's name.
fn panics_of(target: &Target, name: &str, bytes: &[u8]) -> Option<String> {
    let _ = panic::catch_unwind(|| (target.run)(bytes));
    let panics = PANICS.take();
    (!panics.is_empty()).then(|| format!("{name}: {}", panics.join("; ")))
}

/// Gives a target all its inputs and returns the failures.
fn replay(target: &Target) -> Vec<String> {
    let corpus = kept("corpus", target.name);
    assert!(!corpus.is_empty(), "{} has no corpus", target.name);
    let regressions = kept("regressions", target.name);
    let found = match std::env::var_os("STRONGROOM_FUZZ_FOUND") {
        Some(_) => kept("found", target.name),
        None => Vec::new(),
    };
    let inputs = corpus.into_iter().chain(regressions).chain(found);
    let failures = inputs.filter_map(|path| {
        let bytes = fs::read(&path).expect("readable");
        panics_of(target, &path.display().to_string(), &bytes)
    });
    failures.collect()
}

/// A number that the environment may set.
fn variable<T: FromStr<Err: Debug>>(name: &str, default: T) -> T {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().expect("a number"))
}

/// Gives a target mutants of its corpus, without the guidance that a fuzzer has. The seed is fixed:
/// a failure comes again. The input of the first failure is written to `fuzz/artifacts`.
fn mutate(target: &Target) -> Vec<String> {
    let corpus = kept("corpus", target.name).into_iter();
    let corpus = corpus.map(|path| fs::read(path).expect("readable"));
    let corpus: Vec<Vec<u8>> = corpus
        .filter(|bytes| bytes.len() <= INPUT_SIZE_MAX)
        .collect();
    assert!(!corpus.is_empty(), "{} has no short inputs", target.name);
    let mut session = Session::new().seed(variable("STRONGROOM_TEST_SEED", 1));
    for number in 0..variable("STRONGROOM_TEST_CASES", MUTANTS) {
        // A stride that no corpus has as a factor: a short run still takes inputs from everywhere.
        let mut bytes = corpus[number * 7919 % corpus.len()].clone();
        for _ in 0..=number % CHANGES_MAX {
            session.mutate(&mut bytes).expect("bytes can be changed");
        }
        bytes.truncate(INPUT_SIZE_MAX);
        if let Some(failure) = panics_of(target, &format!("mutant {number}"), &bytes) {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/artifacts");
            let file = root.join(target.name).join(format!("mutant-{number}"));
            fs::create_dir_all(root.join(target.name)).expect("a folder");
            fs::write(&file, &bytes).expect("room for the input");
            return vec![format!("{}, {failure} ({})", target.name, file.display())];
        }
    }
    Vec::new()
}

/// Does something with every target, two at a time, and returns the failures.
fn with_every_target(work: fn(&Target) -> Vec<String>) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let take = || TARGETS.get(next.fetch_add(1, Ordering::Relaxed));
    let work = || {
        record_panics();
        std::iter::from_fn(take).flat_map(work).collect::<Vec<_>>()
    };
    let failures = std::thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers.map(|worker| worker.join().expect("panics of targets are caught"))
    });
    failures.concat()
}

#[test]
fn kept_inputs_pass() {
    let failures = with_every_target(replay);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn mutants_of_the_corpus_pass() {
    let failures = with_every_target(mutate);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_corpus_stays_small() {
    let size = |path: &PathBuf| fs::metadata(path).expect("there").len();
    let paths = TARGETS
        .iter()
        .flat_map(|target| kept("corpus", target.name));
    assert!(paths.map(|path| size(&path)).sum::<u64>() < 1_000_000);
}

#[test]
fn every_folder_belongs_to_a_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    for kind in ["corpus", "regressions"] {
        for entry in fs::read_dir(root.join(kind)).expect("readable") {
            let name = entry.expect("an entry").file_name();
            let name = name.to_string_lossy();
            assert!(fuzz_targets::target(&name).is_some(), "{kind}/{name}");
        }
    }
}
