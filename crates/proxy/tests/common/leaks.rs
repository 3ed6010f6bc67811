//! Where a plaintext is that must not be: on the wire to the server, in its files, in its views.

use std::path::Path;

use server_testkit::{Postgres, contains};

use super::tap::Tap;

/// Every value of a protected column in these tests holds this: what is looked for in the end.
pub const CANARY: &str = "CANARY";

/// Places where one of the texts is; each is named once for each text.
///
/// # Panics
/// When the server does not run.
pub fn find(server: &Postgres, tap: &Tap, canaries: &[&str]) -> Vec<String> {
    let needles: Vec<Needle> = canaries.iter().map(|canary| Needle::new(canary)).collect();
    let mut places = Vec::new();
    look(&tap.sent(), "the wire to the server", &needles, &mut places);
    if Postgres::has_library("pg_stat_statements") {
        let mut client = server.connect();
        let rows = client.query("SELECT query FROM pg_stat_statements", &[]);
        for row in rows.expect("the view was made with the server") {
            let query: &str = row.get(0);
            look(
                query.as_bytes(),
                "pg_stat_statements",
                &needles,
                &mut places,
            );
        }
    }
    places.extend(find_in_files(server, canaries));
    places
}

/// The same in the server's files alone: those of its data, and its log.
///
/// # Panics
/// When the server does not run.
pub fn find_in_files(server: &Postgres, canaries: &[&str]) -> Vec<String> {
    let written = server.connect().batch_execute("CHECKPOINT");
    written.expect("the server writes its pages");
    let needles: Vec<Needle> = canaries.iter().map(|canary| Needle::new(canary)).collect();
    let mut places = Vec::new();
    look_into(server.folder(), &needles, &mut places);
    places
}

/// A text, and how else it may be written.
struct Needle {
    text: String,
    forms: Vec<Vec<u8>>,
}

impl Needle {
    fn new(text: &str) -> Self {
        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        let wide = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let forms = vec![
            text.as_bytes().to_vec(),
            hex.to_uppercase().into_bytes(),
            hex.into_bytes(),
            wide,
        ];
        Self {
            text: text.to_owned(),
            forms,
        }
    }
}

fn look(bytes: &[u8], place: &str, needles: &[Needle], places: &mut Vec<String>) {
    for needle in needles {
        if needle.forms.iter().any(|form| contains(bytes, form)) {
            places.push(format!("{} is in {place}", needle.text));
        }
    }
}

fn look_into(folder: &Path, needles: &[Needle], places: &mut Vec<String>) {
    // The server may remove a folder or a file meanwhile.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            look_into(&path, needles, places);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        look(&bytes, &path.display().to_string(), needles, places);
    }
}
