//! Writes `src/codes.rs` from the list that a PostgreSQL server is installed with
//! (`errcodes.txt` in the folder that `pg_config --sharedir` names):
//! `cargo run --package strongroom-sqlstate --example write_codes < errcodes.txt`.

use std::fmt::Write as _;
use std::io::Read as _;
use std::{fs, io};

/// What newer servers have no more: PostgreSQL 17 has dropped `old_snapshot_threshold`.
const DROPPED: [&str; 1] = ["snapshot_too_old"];

fn main() -> io::Result<()> {
    let mut list = String::new();
    io::stdin().read_to_string(&mut list)?;
    let mut conditions: Vec<(&str, &str)> = Vec::new();
    for line in list.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Code, severity, macro, name. Success and warnings are no errors; some errors have no
        // name. A name that stands twice means the first code.
        if let [code, "E", _, name] = words[..]
            && conditions.iter().all(|(_, known)| *known != name)
            && !DROPPED.contains(&name)
        {
            conditions.push((code, name));
        }
    }
    let mut text = String::from(
        "//! Codes and their names, written by `examples/write_codes.rs`.\n\n\
         use crate::SqlState;\n\n\
         codes! {\n",
    );
    for (code, name) in conditions {
        let _ = writeln!(text, "    {} = {code:?},", name.to_uppercase());
    }
    text.push_str("}\n");
    fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/codes.rs"), text)
}
