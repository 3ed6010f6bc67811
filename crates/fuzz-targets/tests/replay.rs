//! Every input that is kept in `fuzz/` is given to its target again, without a fuzzer.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use fuzz_targets::{TARGETS, Target};

thread_local! {
    /// The VFS turns a panic inside a callback into an error; here it must not pass for one.
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn kept(kind: &str, target: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let Ok(entries) = std::fs::read_dir(root.join(kind).join(target)) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

/// Gives a target all its inputs; returns what was said of those that fail.
fn replay(target: &Target) -> Vec<String> {
    let corpus = kept("corpus", target.name);
    assert!(!corpus.is_empty(), "{} has no corpus", target.name);
    let regressions = kept("regressions", target.name);
    let found = match std::env::var_os("STRONGROOM_FUZZ_FOUND") {
        Some(_) => kept("found", target.name),
        None => Vec::new(),
    };
    let mut failures = Vec::new();
    for path in corpus.into_iter().chain(regressions).chain(found) {
        let bytes = std::fs::read(&path).expect("readable");
        let _ = std::panic::catch_unwind(|| (target.run)(&bytes));
        let said = PANICS.take();
        if !said.is_empty() {
            failures.push(format!("{}: {}", path.display(), said.join("; ")));
        }
    }
    failures
}

#[test]
fn what_is_kept_passes() {
    std::panic::set_hook(Box::new(|panic| {
        PANICS.with_borrow_mut(|panics| panics.push(panic.to_string()));
    }));
    let next = AtomicUsize::new(0);
    let take = || TARGETS.get(next.fetch_add(1, Ordering::Relaxed));
    let work = || {
        std::iter::from_fn(take)
            .flat_map(replay)
            .collect::<Vec<_>>()
    };
    let failures = std::thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers.map(|worker| worker.join().expect("every panic is caught"))
    });
    let _ = std::panic::take_hook();
    let failures = failures.concat();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_corpus_stays_small() {
    let size = |path: &PathBuf| std::fs::metadata(path).expect("there").len();
    let paths = TARGETS
        .iter()
        .flat_map(|target| kept("corpus", target.name));
    assert!(paths.map(|path| size(&path)).sum::<u64>() < 1_000_000);
}

#[test]
fn every_folder_belongs_to_a_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    for kind in ["corpus", "regressions"] {
        for entry in std::fs::read_dir(root.join(kind)).expect("readable") {
            let name = entry.expect("an entry").file_name();
            let name = name.to_string_lossy();
            assert!(fuzz_targets::target(&name).is_some(), "{kind}/{name}");
        }
    }
}
