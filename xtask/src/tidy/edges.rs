//! The allowed dependencies between crates: the graph of the workspace as a table.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::Violation;

/// A crate and the members it may depend on. Development dependencies are free, except on programs.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("crypto", &[]),
    ("page-codec", &["crypto"]),
    ("sqlcipher-format", &["crypto"]),
    ("keyring", &["crypto", "page-codec"]),
    ("vfs", &["crypto", "page-codec", "keyring"]),
    ("sqlite-linked", &["vfs", "keyring"]),
    ("browser", &["crypto", "keyring", "vfs"]),
    ("sqlite-extension", &["keyring", "vfs"]),
    (
        "store",
        &[
            "crypto",
            "page-codec",
            "sqlcipher-format",
            "keyring",
            "sqlite-linked",
        ],
    ),
    ("strongroom", &["crypto", "keyring", "store"]),
    (
        "shell",
        &["crypto", "page-codec", "keyring", "sqlite-linked", "store"],
    ),
    ("sqlstate", &[]),
    ("column-value", &["sqlstate"]),
    ("semantics-postgres", &["column-value", "sqlstate"]),
    ("semantics-mysql", &["column-value", "sqlstate"]),
    ("column-codec", &["crypto", "column-value", "sqlstate"]),
    (
        "sql-plan",
        &["column-value", "semantics-postgres", "sqlstate"],
    ),
    (
        "sql-rewrite",
        &[
            "column-codec",
            "column-value",
            "semantics-mysql",
            "semantics-postgres",
            "sql-plan",
            "sqlstate",
        ],
    ),
    (
        "finish",
        &[
            "column-codec",
            "column-value",
            "semantics-postgres",
            "sql-plan",
            "sqlstate",
        ],
    ),
    ("wire-mysql", &[]),
    (
        "wire-postgres",
        &["column-value", "semantics-postgres", "sqlstate"],
    ),
    (
        "session-core",
        &[
            "column-value",
            "column-codec",
            "crypto",
            "finish",
            "semantics-postgres",
            "sql-plan",
            "sql-rewrite",
            "sqlstate",
        ],
    ),
    (
        "session-mysql",
        &[
            "column-value",
            "semantics-mysql",
            "session-core",
            "sql-plan",
            "sql-rewrite",
            "sqlstate",
            "wire-mysql",
        ],
    ),
    (
        "session-postgres",
        &[
            "column-codec",
            "column-value",
            "finish",
            "semantics-postgres",
            "session-core",
            "sql-plan",
            "sql-rewrite",
            "sqlstate",
            "wire-postgres",
        ],
    ),
    ("finisher-core", &["session-core", "sqlstate"]),
    (
        "finisher-mysql",
        &[
            "finisher-core",
            "session-core",
            "session-mysql",
            "sqlstate",
            "wire-mysql",
        ],
    ),
    (
        "finisher-postgres",
        &[
            "column-value",
            "finisher-core",
            "session-core",
            "session-postgres",
            "sql-rewrite",
            "sqlstate",
            "wire-postgres",
        ],
    ),
    (
        "configuration",
        &["crypto", "keyring", "session-core", "sql-plan"],
    ),
    (
        "proxy",
        &[
            "configuration",
            "crypto",
            "finisher-core",
            "finisher-mysql",
            "finisher-postgres",
            "keyring",
            "session-core",
            "session-mysql",
            "session-postgres",
            "sockets",
            "sql-plan",
            "sql-rewrite",
            "sqlstate",
            "wire-mysql",
            "wire-postgres",
        ],
    ),
    ("sockets", &[]),
    // The same sessions without a listener: it may not know the proxy.
    (
        "postgres-client",
        &[
            "configuration",
            "crypto",
            "finisher-postgres",
            "session-core",
            "session-postgres",
            "sockets",
            "sql-plan",
            "sqlstate",
            "wire-postgres",
        ],
    ),
    ("postgres-client-c", &["postgres-client"]),
    ("sqlite-api", &[]),
    ("workloads", &[]),
    ("browser-session", &[]),
    ("lab", &["workloads"]),
    (
        "lab-engines",
        &[
            "browser-session",
            "crypto",
            "keyring",
            "sqlite-linked",
            "sqlite-api",
            "column-value",
            "configuration",
            "session-core",
            "session-postgres",
            "sql-plan",
            "workloads",
            "lab",
        ],
    ),
    ("lab-report", &["workloads", "lab"]),
    (
        "cli",
        &[
            "crypto",
            "page-codec",
            "sqlcipher-format",
            "keyring",
            "sqlite-linked",
            "store",
            "sql-plan",
            "sql-rewrite",
            "shell",
            "workloads",
            "lab",
            "lab-engines",
            "lab-report",
            "configuration",
            "postgres-client",
            "proxy",
        ],
    ),
    (
        "fuzz-targets",
        &[
            "crypto",
            "page-codec",
            "keyring",
            "sqlcipher-format",
            "sqlite-linked",
            "shell",
            "column-value",
            "column-codec",
            "proxy",
            "semantics-postgres",
            "session-core",
            "session-postgres",
            "sql-oracle",
            "sql-plan",
            "sql-rewrite",
            "wire-mysql",
            "wire-postgres",
        ],
    ),
    (
        "testkit",
        &["crypto", "page-codec", "keyring", "sqlite-linked"],
    ),
    ("server-testkit", &[]),
    ("sql-oracle", &[]),
    ("xtask", &["page-codec", "browser-session"]),
];

/// For tests: no product may depend on them.
const TESTS_ONLY: &[&str] = &["testkit", "server-testkit", "sql-oracle", "fuzz-targets"];

/// Programs: nothing may depend on them.
const PROGRAMS: &[&str] = &["cli", "xtask"];

/// Crates that include SQLite.
const SQLITE: &[&str] = &["rusqlite", "libsqlite3-sys"];

/// Members that may link SQLite. `vfs` and `sqlite-extension` must not, since they serve a foreign
/// one.
const MAY_LINK_SQLITE: &[&str] = &[
    "sqlite-linked",
    "store",
    "strongroom",
    "shell",
    "sqlite-api",
    "lab-engines",
    "cli",
    "fuzz-targets",
    "testkit",
];

/// External crates that only one member may use.
const ONLY_FOR: &[(&str, &str)] = &[
    // The system's keyring brings in many crates, and threads, which the shim must not have.
    ("keyring", "cli"),
    // Foreign code is loaded only into the process of a measurement.
    ("libloading", "sqlite-api"),
    // The product must not depend on the server's own parser, with which tests compare it.
    ("pg_query", "sql-oracle"),
    // A SQLite compiled for browsers.
    ("sqlite-wasm-rs", "browser"),
];

pub fn check(metadata: &Value) -> Vec<Violation> {
    let packages: Vec<&Value> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let members: BTreeMap<&str, String> = packages
        .iter()
        .filter_map(|package| Some((package["name"].as_str()?, folder(package)?)))
        .collect();
    let mut violations = Vec::new();
    for package in packages {
        let Some(member) = package["name"].as_str().and_then(|name| members.get(name)) else {
            continue;
        };
        let Some((_, may_know)) = MAY_KNOW.iter().find(|(name, _)| name == member) else {
            let message = format!("{member} is not in the table of `xtask/src/tidy/edges.rs`");
            violations.push(Violation::new("Cargo.toml", 0, message));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let edge = Edge::read(dependency, &members);
            if let Some(message) = edge.and_then(|edge| edge.judge(member, may_know)) {
                violations.push(Violation::new(&manifest(member), 0, message));
            }
        }
    }
    violations
}

struct Edge<'a> {
    /// Folder of a member, or the name of an external crate.
    to: &'a str,
    is_member: bool,
    is_development: bool,
}

impl<'a> Edge<'a> {
    fn read(dependency: &'a Value, members: &'a BTreeMap<&str, String>) -> Option<Self> {
        let name = dependency["name"].as_str()?;
        let member = members.get(name);
        Some(Self {
            to: member.map_or(name, String::as_str),
            is_member: member.is_some(),
            is_development: dependency["kind"] == "dev",
        })
    }

    fn judge(&self, from: &str, may_know: &[&str]) -> Option<String> {
        let to = self.to;
        if self.is_member && PROGRAMS.contains(&to) {
            return Some(format!("{from} depends on the program {to}"));
        }
        if self.is_development {
            return None;
        }
        if self.is_member && TESTS_ONLY.contains(&to) && !TESTS_ONLY.contains(&from) {
            return Some(format!("{from} is no test and may not know {to}"));
        }
        if self.is_member && !may_know.contains(&to) {
            return Some(format!("{from} may not know {to}"));
        }
        if SQLITE.contains(&to) && !MAY_LINK_SQLITE.contains(&from) {
            return Some(format!("{from} may not link a SQLite ({to})"));
        }
        let only = ONLY_FOR.iter().find(|(name, _)| *name == to);
        if let (false, Some((_, member))) = (self.is_member, only)
            && from != *member
        {
            return Some(format!("only {member} may know the foreign crate {to}"));
        }
        None
    }
}

fn folder(package: &Value) -> Option<String> {
    let manifest = Path::new(package["manifest_path"].as_str()?);
    let folder = manifest.parent()?.file_name()?;
    Some(folder.to_string_lossy().into_owned())
}

fn manifest(member: &str) -> String {
    match member {
        "xtask" => "xtask/Cargo.toml".to_owned(),
        member => format!("crates/{member}/Cargo.toml"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(member: &str, dependencies: Value) -> Vec<String> {
        let package = |folder: &str, dependencies: Value| {
            json!({
                "name": format!("p-{folder}"),
                "manifest_path": format!("/x/crates/{folder}/Cargo.toml"),
                "dependencies": dependencies,
            })
        };
        let none = json!([]);
        let mut packages = vec![package(member, dependencies)];
        for other in ["crypto", "vfs", "cli", "testkit"] {
            if other != member {
                packages.push(package(other, none.clone()));
            }
        }
        let violations = check(&json!({ "packages": packages }));
        violations
            .into_iter()
            .map(|violation| violation.message)
            .collect()
    }

    #[test]
    fn a_forbidden_edge_is_found() {
        let dependencies = json!([{"name": "p-vfs", "kind": null}]);
        assert_eq!(
            found("page-codec", dependencies),
            ["page-codec may not know vfs"]
        );
    }

    #[test]
    fn a_build_dependency_is_an_edge_and_a_development_dependency_is_not() {
        let build = json!([{"name": "p-vfs", "kind": "build"}]);
        assert_eq!(found("crypto", build), ["crypto may not know vfs"]);
        assert!(found("crypto", json!([{"name": "p-vfs", "kind": "dev"}])).is_empty());
    }

    #[test]
    fn nobody_knows_the_program() {
        let dependencies = json!([{"name": "p-cli", "kind": "dev"}]);
        assert_eq!(
            found("store", dependencies),
            ["store depends on the program cli"]
        );
    }

    #[test]
    fn only_tests_know_the_kit_for_tests() {
        let dependency = |kind| json!([{"name": "p-testkit", "kind": kind}]);
        let message = "store is no test and may not know testkit";
        assert_eq!(found("store", dependency(Value::Null)), [message]);
        assert!(found("store", dependency(json!("dev"))).is_empty());
    }

    #[test]
    fn the_shim_links_no_sqlite() {
        let dependencies = json!([{"name": "libsqlite3-sys", "kind": null}]);
        let message = "vfs may not link a SQLite (libsqlite3-sys)";
        assert_eq!(found("vfs", dependencies), [message]);
    }

    #[test]
    fn only_the_program_knows_the_keyring_of_the_system() {
        let dependencies = json!([{"name": "keyring", "kind": null}]);
        let message = "only cli may know the foreign crate keyring";
        assert_eq!(found("vfs", dependencies.clone()), [message]);
        assert!(found("cli", dependencies).is_empty());
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        let message = "new is not in the table of `xtask/src/tidy/edges.rs`";
        assert_eq!(found("new", json!([])), [message]);
    }

    #[test]
    fn an_allowed_edge_passes() {
        assert!(found("page-codec", json!([{"name": "p-crypto", "kind": null}])).is_empty());
    }
}
