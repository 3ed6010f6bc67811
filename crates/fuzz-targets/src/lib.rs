//! What fuzzers call: functions of bytes that must neither fail nor break a promise.
//!
//! A target takes any bytes. It panics when a promise of the format or of the program is broken,
//! and does nothing else that a caller could see. `fuzz/` gives the bytes with libFuzzer; the
//! test `replay` gives those that are kept there. `fuzz/README.md` says what each target promises.
//!
//! No tag stops a fuzzer here: the targets hold the keys ([`sealed`]). What an input says is
//! sealed, tagged and checksummed as its owner would do it, and then read by the real code.
#![forbid(unsafe_code)]

mod columns;
mod database;
mod files;
mod flips;
mod header;
mod input;
mod journal;
mod log;
mod mysql_rewrite;
mod mysql_wire;
mod page;
mod pragma;
mod proxy_copy;
mod proxy_session;
mod rewrite;
mod scram;
mod sealed;
mod shell_text;
mod slots;
mod sqlcipher;

/// A target: its name, and what it does with the bytes.
pub struct Target {
    /// The name, which is also that of its folders.
    pub name: &'static str,
    /// Takes any bytes; panics when a promise is broken.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target {
        name: "header",
        run: header::run,
    },
    Target {
        name: "slots",
        run: slots::run,
    },
    Target {
        name: "page",
        run: page::run,
    },
    Target {
        name: "journal-cursor",
        run: journal::run_cursor,
    },
    Target {
        name: "journal",
        run: journal::run,
    },
    Target {
        name: "log",
        run: log::run,
    },
    Target {
        name: "database",
        run: database::run,
    },
    Target {
        name: "flips",
        run: flips::run,
    },
    Target {
        name: "pragma",
        run: pragma::run,
    },
    Target {
        name: "sqlcipher",
        run: sqlcipher::run,
    },
    Target {
        name: "shell-text",
        run: shell_text::run,
    },
    Target {
        name: "column-sealed",
        run: columns::run_sealed,
    },
    Target {
        name: "column-values",
        run: columns::run_values,
    },
    Target {
        name: "proxy-session",
        run: proxy_session::run,
    },
    Target {
        name: "sql-rewrite",
        run: rewrite::run,
    },
    Target {
        name: "mysql-rewrite",
        run: mysql_rewrite::run,
    },
    Target {
        name: "proxy-copy",
        run: proxy_copy::run,
    },
    Target {
        name: "mysql-wire",
        run: mysql_wire::run,
    },
    Target {
        name: "scram",
        run: scram::run,
    },
];

/// The target of a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
