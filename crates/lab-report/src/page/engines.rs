//! The engines, the results of their probes, and what they used besides time.

use lab::comparison::{Comparison, EngineSummary, ServerSummary};
use lab::probe::{Probe, Syncs};
use serde::Serialize;

use crate::finding::durability_words;
use crate::format::{MISSING, bytes, duration};

/// An engine's properties other than its times.
#[derive(Debug, Serialize)]
pub(super) struct EngineRow {
    name: String,
    description: String,
    durability: &'static str,
    cipher: String,
    creating: String,
    opening: String,
    memory: String,
    read: String,
    written: String,
    on_disk: &'static str,
    size: String,
    syncs: String,
    sync_kinds: String,
    token: String,
    alarm: bool,
    warning: bool,
}

pub(super) fn engines(comparison: &Comparison) -> Vec<EngineRow> {
    comparison
        .engines
        .iter()
        .map(|engine| EngineRow {
            name: engine.profile.name.clone(),
            description: engine.profile.description.clone(),
            durability: durability_words(engine.profile.durability),
            cipher: engine
                .profile
                .cipher
                .clone()
                .unwrap_or_else(|| "none".to_owned()),
            creating: duration(engine.creating_s),
            opening: duration(engine.opening_s),
            memory: both(engine, engine.peak_memory_bytes, |server| {
                server.memory_bytes
            }),
            read: both(engine, engine.read_bytes, |server| server.read_bytes),
            written: both(engine, engine.written_bytes, |server| server.written_bytes),
            on_disk: match engine.readable_on_disk {
                Some(true) => "readable",
                Some(false) => "not readable",
                None => MISSING,
            },
            size: bytes(engine.file_bytes),
            syncs: syncs(engine),
            sync_kinds: sync_kinds(engine),
            token: token(engine),
            alarm: engine.profile.cipher.is_some()
                && (engine.readable_on_disk == Some(true) || readable(engine) == Some(true)),
            warning: !engine.contradictions.is_empty(),
        })
        .collect()
}

/// The client's usage, and the server's.
fn both(engine: &EngineSummary, client: Option<f64>, pick: fn(&ServerSummary) -> f64) -> String {
    match &engine.server {
        None => bytes(client),
        Some(server) => format!("{} + {}", bytes(client), bytes(Some(pick(server)))),
    }
}

fn readable(engine: &EngineSummary) -> Option<bool> {
    engine.probe.as_ref().and_then(Probe::readable)
}

/// Syncs per commit, or why they are unknown.
pub(crate) fn syncs(engine: &EngineSummary) -> String {
    match engine.probe.as_ref() {
        None => "not probed".to_owned(),
        Some(probe) => match (&probe.syncs, probe.syncs_per_commit()) {
            (Syncs::NotProbed { reason }, _) => format!("not probed: {reason}"),
            (Syncs::Counted(_), Some(each)) => format!("{each:.1}"),
            (Syncs::Counted(_), None) => MISSING.to_owned(),
        },
    }
}

/// The kinds of sync calls.
fn sync_kinds(engine: &EngineSummary) -> String {
    let Some(Probe {
        syncs: Syncs::Counted(calls),
        ..
    }) = &engine.probe
    else {
        return String::new();
    };
    let kinds: Vec<String> = calls
        .kinds()
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    kinds.join(", ")
}

/// Whether the probe's token was found in a file.
fn token(engine: &EngineSummary) -> String {
    let Some(probe) = &engine.probe else {
        return "not probed".to_owned();
    };
    let files = probe.open.as_ref().map_or(0, |look| look.files);
    match probe.readable() {
        None => match &probe.failure {
            Some(failure) => format!("not probed: {failure}"),
            None => "no files to look at".to_owned(),
        },
        Some(false) => format!("not found in {files} files"),
        Some(true) => {
            let found = probe.open.iter().chain(&probe.closed);
            let mut names: Vec<&str> = found
                .flat_map(|look| look.found_in.iter().map(String::as_str))
                .collect();
            names.sort_unstable();
            names.dedup();
            match names.as_slice() {
                [one] => format!("found in {one}"),
                names => format!("found in {} files", names.len()),
            }
        }
    }
}

/// Settings as reported: a row per setting, a column per engine.
#[derive(Debug, Serialize)]
pub(super) struct Settings {
    engines: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

pub(super) fn settings(comparison: &Comparison) -> Settings {
    let mut names: Vec<&String> = Vec::new();
    for engine in &comparison.engines {
        for (name, _) in &engine.settings {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let value = |engine: &EngineSummary, name: &str| {
        let found = engine.settings.iter().find(|setting| setting.0 == name);
        found.map_or_else(|| MISSING.to_owned(), |setting| setting.1.clone())
    };
    let rows = names.into_iter().map(|name| {
        let values = comparison
            .engines
            .iter()
            .map(|engine| value(engine, name))
            .collect();
        (name.clone(), values)
    });
    Settings {
        engines: comparison
            .engines
            .iter()
            .map(|engine| engine.profile.name.clone())
            .collect(),
        rows: rows.collect(),
    }
}
