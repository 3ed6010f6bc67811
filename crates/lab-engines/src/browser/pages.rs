//! What a page may load: the lab's own scripts, and those of the package it needs.

use std::fs;
use std::path::PathBuf;

use browser_session::Files;

/// What the names of a package's files begin with.
pub(super) const PACKAGE: &str = "package/";

/// The lab's own.
const OWN: [(&str, &str); 7] = [
    ("index.html", include_str!("page/index.html")),
    ("page.mjs", include_str!("page/page.mjs")),
    ("worker.mjs", include_str!("page/worker.mjs")),
    ("host.mjs", include_str!("page/host.mjs")),
    ("sqlite.mjs", include_str!("page/sqlite.mjs")),
    ("drivers/wasm.mjs", include_str!("page/drivers/wasm.mjs")),
    (
        "drivers/websql.mjs",
        include_str!("page/drivers/websql.mjs"),
    ),
];

/// A script of the package that is started as a worker, and looked for beside the one that starts
/// it: without it there is no `opfs`, and nobody says why.
const OPFS_PROXY: &str = "sqlite3-opfs-async-proxy.js";

/// The lab's files, and those in the folder of a package: the folder of its script.
pub(super) fn files(package: Option<PathBuf>, script: &str) -> Box<Files> {
    let folder = package.and_then(|path| Some(path.join(script).parent()?.to_owned()));
    Box::new(move |name: &str| {
        if let Some((_, text)) = OWN.iter().find(|(own, _)| *own == name) {
            return Some(text.as_bytes().to_vec());
        }
        let name = match name {
            OPFS_PROXY => name,
            name => name.strip_prefix(PACKAGE)?,
        };
        fs::read(folder.as_ref()?.join(name)).ok()
    })
}
