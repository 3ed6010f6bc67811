//! The files that a page may load: the lab's own scripts, and those of the package it needs.

use std::fs;
use std::path::PathBuf;

use browser_session::Files;

/// Prefix of the names of a package's files.
pub(super) const PACKAGE: &str = "package/";

/// The lab's own files.
const OWN: [(&str, &str); 8] = [
    ("index.html", include_str!("page/index.html")),
    ("page.mjs", include_str!("page/page.mjs")),
    ("worker.mjs", include_str!("page/worker.mjs")),
    ("host.mjs", include_str!("page/host.mjs")),
    ("sqlite.mjs", include_str!("page/sqlite.mjs")),
    (
        "drivers/strongroom.mjs",
        include_str!("page/drivers/strongroom.mjs"),
    ),
    ("drivers/wasm.mjs", include_str!("page/drivers/wasm.mjs")),
    (
        "drivers/websql.mjs",
        include_str!("page/drivers/websql.mjs"),
    ),
];

/// A script that the package starts as a worker, and looks up beside the starting one: without it
/// `opfs` is missing, without any message.
const OPFS_PROXY: &str = "sqlite3-opfs-async-proxy.js";

/// The lab's files, and those in the folder of a package.
pub(super) fn files(package: Option<PathBuf>) -> Box<Files> {
    Box::new(move |name: &str| {
        if let Some((_, text)) = OWN.iter().find(|(own, _)| *own == name) {
            return Some(text.as_bytes().to_vec());
        }
        let name = match name {
            OPFS_PROXY => name,
            name => name.strip_prefix(PACKAGE)?,
        };
        fs::read(package.as_ref()?.join(name)).ok()
    })
}
